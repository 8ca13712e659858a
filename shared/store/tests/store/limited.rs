//! A session that is limited to some topics learns nothing of other topics.

use lately_keys::{Cursor, EventId, Fingerprint, Order, Position};
use lately_model::{EventQuery, FeedQuery, ListQuery, PageSize, SourceQuery};

use crate::listed::{Listed, id, put, source, told, user};
use crate::support::{change, pages, query, start, topic};

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
        let items = one.iter().flat_map(|one| [one.in_feed(&bob), one.at_source(&source("actor:ada"))]);
        put(&engine.client(), items).await;
    }
    let posts = [topic("posts")];
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let print = |what, name| {
            (0..4).fold(Fingerprint::of(what).text(name), |print, _| print.option(None)).finish()
        };
        for feed in [false, true] {
            let print = if feed { print("feed", "bob") } else { print("source events", "actor:ada") };
            let found = pages(async |cursor| {
                let page = EventQuery { order: Some(order), cursor, ..query(1) };
                let op = store.op().limited_to(Some(&posts));
                let page = if feed {
                    op.feed(&bob).page(&FeedQuery { page, wait_for: None }).await.unwrap().page
                } else {
                    let query = SourceQuery { page, ..SourceQuery::default() };
                    op.timeline(&source("actor:ada")).page(&query).await.unwrap()
                };
                assert!(op.cost().items <= 1, "{}", op.cost().of_read());
                for cursor in [&page.next, &page.newer].into_iter().flatten() {
                    let place = place(cursor, print);
                    let hidden =
                        listed.iter().find(|one| Some(one.id()) == place && !shown.contains(&one.id()));
                    assert!(hidden.is_none(), "{hidden:?} is in a cursor");
                }
                assert!(page.has_more || !page.events.is_empty(), "the last page is empty");
                (told(&page), page.next.filter(|_| page.has_more))
            });
            let mut found = found.await;
            if order == Order::OldestFirst {
                found.reverse();
            }
            assert_eq!(found, shown);
        }
    }
    let op = store.op().limited_to(Some(&posts));
    let unread = op.feed(&bob).unread().await.unwrap();
    assert_eq!((unread.unread, op.cost().items), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_limited_session_lists_only_its_own_topics() {
    let (_, _, store) = start(1);
    for name in ["a", "b", "c", "d", "e"] {
        store.op().topic(&topic(name)).put(&change("{}")).await.unwrap();
    }
    let own = ["e", "unknown", "b", "d", "b"].map(topic);
    let found = pages(async |cursor| {
        let op = store.op().limited_to(Some(&own));
        let query = ListQuery { limit: PageSize::new(1).unwrap(), cursor };
        let list = op.topics().list(&query).await.unwrap();
        let cost = op.cost();
        assert!(cost.items <= 3 && cost.calls == 1, "{}", cost.of_read());
        (list.topics, list.next)
    });
    let found: Vec<_> = found.await.into_iter().map(|topic| topic.topic.to_string()).collect();
    assert_eq!(found, ["b", "d", "e"]);
    let nothing = store.op().limited_to(Some(&[])).topics().list(&ListQuery::default()).await.unwrap();
    assert_eq!(nothing.topics.len(), 0);
}
