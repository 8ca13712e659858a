//! A session that is limited to some topics learns nothing of other topics.

use lately_keys::{Cursor, EventId, Fingerprint, Order, Position};
use lately_model::{EventQuery, FeedQuery, ListQuery, PageSize, SourceQuery};

use crate::listed::{Listed, id, put, source, user};
use crate::support::{change, query, start, topic};

/// The event id at which a cursor continues, if the cursor names one.
fn place(cursor: &str, fingerprint: Fingerprint) -> Option<EventId> {
    match Cursor::decode(cursor, fingerprint).unwrap().position {
        Position::Event(id) => Some(id),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn cursors_and_counts_reveal_no_hidden_events() {
    let (world, engine, store) = start(1);
    let bob = user("bob");
    let listed = |number: u64| {
        let mut one =
            Listed::new(id(world.now().saturating_sub(10_000 + number / 3), number % 3), "ada", None);
        let shown = [1_000, 4_200, 4_299].contains(&number);
        one.told.topic = topic(if shown { "posts" } else { "hidden" });
        one
    };
    let listed: Vec<_> = (0..4_300).map(listed).collect();
    let shown: Vec<_> = [1_000, 4_200, 4_299].map(|number: usize| listed[number].id()).to_vec();
    for one in listed.chunks(1_000) {
        put(
            &engine.client(),
            one.iter().flat_map(|one| [one.in_feed(&bob), one.at_source(&source("actor:ada"))]),
        )
        .await;
    }
    let posts = [topic("posts")];
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let print = |what, name| {
            (0..4).fold(Fingerprint::of(what).text(name), |print, _| print.option(None)).finish()
        };
        for feed in [false, true] {
            let mut found = Vec::new();
            let mut page_query = EventQuery { order: Some(order), ..query(1) };
            loop {
                let op = store.op().limited_to(Some(&posts));
                let page = if feed {
                    let query = FeedQuery { page: page_query.clone(), wait_for: None };
                    op.feed(&bob).page(&query).await.unwrap().page
                } else {
                    let query = SourceQuery { page: page_query.clone(), ..SourceQuery::default() };
                    op.timeline(&source("actor:ada")).page(&query).await.unwrap()
                };
                let cost = op.cost();
                assert!(cost.items <= 1, "{}", cost.of_read());
                let print = if feed { print("feed", "bob") } else { print("source events", "actor:ada") };
                for cursor in [&page.next, &page.newer].into_iter().flatten() {
                    let place = place(cursor, print);
                    let hidden =
                        listed.iter().find(|one| Some(one.id()) == place && !shown.contains(&one.id()));
                    assert!(hidden.is_none(), "{hidden:?} is in a cursor");
                }
                found.extend(page.events.iter().map(|event| event.event.id));
                if !page.has_more {
                    assert!(!page.events.is_empty(), "the last page is empty");
                    break;
                }
                page_query.cursor = page.next;
            }
            if order == Order::OldestFirst {
                found.reverse();
            }
            let mut expected = shown.clone();
            expected.sort();
            expected.reverse();
            assert_eq!(found, expected);
        }
    }
    let op = store.op().limited_to(Some(&posts));
    let unread = op.feed(&bob).unread().await.unwrap();
    let cost = op.cost();
    assert_eq!((unread.unread, cost.items), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_limited_session_lists_only_its_own_topics() {
    let (_, _, store) = start(1);
    for name in ["a", "b", "c", "d", "e"] {
        store.op().topic(&topic(name)).put(&change("{}")).await.unwrap();
    }
    let own = ["e", "unknown", "b", "d", "b"].map(topic);
    let mut query = ListQuery { limit: PageSize::new(1).unwrap(), ..ListQuery::default() };
    let mut found = Vec::new();
    loop {
        let op = store.op().limited_to(Some(&own));
        let list = op.topics().list(&query).await.unwrap();
        let cost = op.cost();
        assert!(cost.items <= 3 && cost.calls == 1, "{}", cost.of_read());
        found.extend(list.topics.into_iter().map(|topic| topic.topic.to_string()));
        query.cursor = list.next;
        if query.cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, ["b", "d", "e"]);
    assert_eq!(
        store.op().limited_to(Some(&[])).topics().list(&ListQuery::default()).await.unwrap().topics.len(),
        0
    );
}
