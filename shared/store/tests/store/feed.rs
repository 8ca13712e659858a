//! Feeds against a model: pushed and pulled events, once each, in order, at a counted price.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_engine::fault::{Fault, Faults, Target};
use lately_engine::{Engine, Lag, Operation, Options};
use lately_keys::{EventId, Order, Source, Topic, UnixMillis, User};
use lately_model::{EventQuery, FeedPage, FeedQuery, Page, PageSize, SourceQuery, TimeRange, TimelineEvent};
use lately_store::{Cost, Store};

use crate::listed::{Listed, bytes, delete, id, pull, put, source, told, user};
use crate::support::{pages, pass, query, seeds, start, start_with, store, topic};

pub(crate) fn feed_query(limit: u16) -> FeedQuery {
    FeedQuery { page: query(limit), wait_for: None }
}

async fn page(store: &Store, query: &FeedQuery) -> (FeedPage, Cost) {
    let op = store.op();
    let page = op.feed(&user("bob")).page(query).await.unwrap();
    (page, op.cost())
}

/// Options by which every read that may be stale is stale.
pub(crate) fn behind(seed: u64) -> Options {
    let lag = Lag { seed, table: Duration::from_secs(2), index: Duration::ZERO, behind: 1.0 };
    Options { lag: Some(lag), ..Options::default() }
}

/// A feed, and the sources that it may pull.
struct Feed {
    listed: Vec<Listed>,
    pushed: BTreeSet<EventId>,
    /// Events that no longer exist, although entries point to them.
    gone: BTreeSet<EventId>,
    pulls: Vec<(Source, EventId)>,
    seen: Option<EventId>,
}

impl Feed {
    fn some(rng: &mut fastrand::Rng, now: UnixMillis) -> Self {
        let span = [1, 50, 100_000][rng.usize(..3)];
        let count = rng.u64(..120);
        let many_points = rng.bool();
        let mut listed: Vec<_> = (0..count)
            .map(|number| {
                let at = now.saturating_sub(3_000 + rng.u64(..span));
                let actor = ["ada", "ada", "cyd", "bob"][rng.usize(..4)];
                let subject = [None, Some("s:1"), Some("s:2")][rng.usize(..3)];
                let mut listed = Listed::new(id(at, number), actor, subject);
                listed.told.event.event_type = ["note", "like"][rng.usize(..2)].parse().unwrap();
                listed.told.topic = ["posts", "likes"][rng.usize(..2)].parse().unwrap();
                listed.fans_out = rng.u8(..5) > 0;
                let second = now.get() / 1000;
                listed.expires_at = [None, Some(second), Some(second + 60)][rng.usize(..3)];
                listed.points = rng.u8(..8) == 0 || (many_points && rng.bool());
                if listed.points { listed.of_bytes(2_000) } else { listed }
            })
            .collect();
        listed.sort_by_key(Listed::id);
        let share = rng.u8(..4);
        let pushed = listed.iter().filter(|one| one.fans_out && rng.u8(..4) <= share);
        let pushed = pushed.map(Listed::id).collect();
        let gone = listed.iter().filter(|one| one.points && rng.u8(..3) == 0).map(Listed::id).collect();
        let some_id = |rng: &mut fastrand::Rng| match listed.len() {
            0 => EventId::first_of(now),
            len => listed[rng.usize(..len)].id(),
        };
        let pulls = ["actor:ada", "actor:cyd", "actor:bob", "subject:s:1", "subject:s:2"];
        let pulls = pulls.into_iter().filter(|_| rng.bool()).map(source).collect::<Vec<_>>();
        let pulls = pulls.into_iter().map(|source| (source, some_id(rng))).collect();
        let seen = rng.bool().then(|| some_id(rng));
        Self { listed, pushed, gone, pulls, seen }
    }

    async fn write(&self, engine: &Engine, store: &Store) {
        let (client, bob) = (engine.client(), user("bob"));
        for one in &self.listed {
            put(&client, one.at_sources()).await;
            if self.pushed.contains(&one.id()) {
                put(&client, [one.in_feed(&bob)]).await;
            }
            if one.points && !self.gone.contains(&one.id()) {
                put(&client, [one.event()]).await;
            }
        }
        put(&client, self.pulls.iter().map(|(source, since)| pull(&bob, source, *since))).await;
        if let Some(seen) = self.seen {
            store.op().feed(&bob).see(seen).await.unwrap();
        }
    }

    /// The entries that the feed shows, oldest first.
    fn entries(&self, now: UnixMillis) -> impl Iterator<Item = &Listed> {
        self.listed.iter().filter(move |one| {
            let pulls =
                |(source, since): &(Source, EventId)| *since <= one.id() && one.sources().contains(source);
            let listed = self.pushed.contains(&one.id()) || (one.fans_out && self.pulls.iter().any(pulls));
            listed && one.is_there(now)
        })
    }

    /// The events of some entries that a query shows.
    fn shown<'a>(
        &'a self,
        entries: impl Iterator<Item = &'a Listed>,
        query: &EventQuery,
        topics: Option<&[Topic]>,
    ) -> Vec<TimelineEvent> {
        let TimeRange { from, to } = query.range;
        let entries = entries.filter(|one| {
            let TimelineEvent { topic, event } = &one.told;
            !self.gone.contains(&event.id)
                && from.is_none_or(|from| event.at() >= from)
                && to.is_none_or(|to| event.at() < to)
                && query.event_type.as_ref().is_none_or(|wanted| *wanted == event.event_type)
                && topics.is_none_or(|topics| topics.contains(topic))
        });
        let mut shown: Vec<_> = entries.map(|one| one.told.clone()).collect();
        if query.order != Some(Order::OldestFirst) {
            shown.reverse();
        }
        shown
    }

    /// The entries of a source's timeline, oldest first.
    fn listed_at(&self, source: &Source, now: UnixMillis) -> impl Iterator<Item = &Listed> {
        self.listed.iter().filter(move |one| one.sources().contains(source) && one.is_there(now))
    }

    fn is_unread(&self, event: &TimelineEvent) -> bool {
        self.seen.is_none_or(|seen| event.event.id > seen) && event.event.actor.as_str() != "bob"
    }
}

fn some_query(rng: &mut fastrand::Rng, now: UnixMillis) -> EventQuery {
    let mut time = || (rng.u8(..4) == 0).then(|| now.saturating_sub(3_000 + rng.u64(..60)));
    let (one, other) = (time(), time());
    let range = TimeRange::new(one, other).or_else(|_| TimeRange::new(other, one)).unwrap();
    EventQuery {
        limit: PageSize::new([1, 2, 3, 7, 50, 200][rng.usize(..6)]).unwrap(),
        order: [None, Some(Order::NewestFirst), Some(Order::OldestFirst)][rng.usize(..3)],
        cursor: None,
        range,
        event_type: (rng.u8(..3) == 0).then(|| "like".parse().unwrap()),
        consistent: rng.bool(),
        ..EventQuery::default()
    }
}

/// Reads all pages of a query.
async fn walk(
    query: &EventQuery,
    read: impl AsyncFn(EventQuery) -> Page<TimelineEvent>,
) -> Vec<TimelineEvent> {
    let limit = usize::from(query.limit.get());
    let shown = pages(async |cursor| {
        let page = read(EventQuery { cursor, ..query.clone() }).await;
        let found = page.events.len();
        assert!(found == limit || found < limit && !page.has_more);
        (page.events, page.next.filter(|_| page.has_more))
    });
    shown.await
}

#[tokio::test(start_paused = true)]
async fn pages_of_every_size_in_both_orders_show_everything_once() {
    for seed in seeds(8) {
        let mut rng = fastrand::Rng::with_seed(seed.0);
        let (world, engine, store) = start(seed.0);
        let feed = Feed::some(&mut rng, world.now());
        feed.write(&engine, &store).await;
        let (only, ada) = ([topic("likes")], source("actor:ada"));
        for _ in 0..6 {
            let query = some_query(&mut rng, world.now());
            let topics = (rng.u8(..4) == 0).then_some(&only[..]);
            let shown = walk(&query, async |page| {
                let EventQuery { order, limit, consistent, .. } = page;
                let is_first = page == EventQuery { order, limit, consistent, ..EventQuery::default() };
                let query = FeedQuery { page, wait_for: None };
                let FeedPage { page, unread } =
                    store.op().limited_to(topics).feed(&user("bob")).page(&query).await.unwrap();
                assert_eq!(unread.is_some(), is_first && query.page.order != Some(Order::OldestFirst));
                if let Some(unread) = unread {
                    let new = page.events.iter().filter(|event| feed.is_unread(event)).count();
                    assert_eq!(unread.unread, new);
                    let last = page.events.last().map(|last| last.event.id);
                    let all = last.is_none_or(|last| feed.seen.is_none_or(|seen| last > seen));
                    assert_eq!(unread.unread_more, page.has_more && all);
                }
                page
            });
            let expected = feed.shown(feed.entries(world.now()), &query, topics);
            assert_eq!(shown.await, expected, "{query:?} {topics:?}");

            let wanted = (rng.u8(..3) == 0).then(|| topic("likes"));
            let shown = walk(&query, async |page| {
                let query = SourceQuery { page, topic: wanted.clone(), wait_for: None };
                store.op().limited_to(topics).timeline(&ada).page(&query).await.unwrap()
            });
            let wanted = if wanted.is_some() { Some(&only[..]) } else { topics };
            let expected = feed.shown(feed.listed_at(&ada, world.now()), &query, wanted);
            assert_eq!(shown.await, expected, "{query:?} {wanted:?}");
        }

        for topics in [None, Some(&only[..])] {
            let entries = feed.entries(world.now()).filter(|one| {
                feed.is_unread(&one.told) && topics.is_none_or(|topics| topics.contains(&one.told.topic))
            });
            let unread = store.op().limited_to(topics).feed(&user("bob")).unread().await.unwrap();
            assert_eq!(unread.unread, entries.count() as u64, "{topics:?}");
        }
    }
}

/// Puts entries of 512 bytes into the feed, one a second. Returns them, newest first.
async fn of_512_bytes(engine: &Engine, now: UnixMillis, events: u64, actor: &str) -> Vec<Listed> {
    let bob = user("bob");
    let listed = |number| {
        let listed = Listed::new(id(now.saturating_sub(10_000 + 1_000 * number), 0), actor, None);
        let bare = bytes(&listed.in_feed(&bob));
        listed.of_bytes(512 - bare + 1)
    };
    let listed: Vec<_> = (0..events).map(listed).collect();
    put(&engine.client(), listed.iter().map(|one| one.in_feed(&bob))).await;
    listed
}

#[tokio::test(start_paused = true)]
async fn without_pulled_sources_the_first_page_costs_one_query() {
    let (world, engine, store) = start(1);
    let listed = of_512_bytes(&engine, world.now(), 120, "ada").await;
    for seen in [None, Some(listed[30].id())] {
        if let Some(seen) = seen {
            store.op().feed(&user("bob")).see(seen).await.unwrap();
        }
        for (limit, units) in [(10, "1.0"), (50, "3.5"), (100, "6.5")] {
            let (page, cost) = page(&store, &feed_query(limit)).await;
            assert_eq!((told(&page.page).len(), page.page.has_more), (usize::from(limit), true));
            // The seen mark too, or one entry more if there is no mark.
            let items = limit + 1;
            let expected = format!("read_units={units}, calls=1, items={items}, rounds=1");
            assert_eq!(cost.of_read(), expected, "{seen:?}");
        }
    }
    // A later page reads the marks with a query of their own.
    let mut next = feed_query(50);
    next.page.cursor = page(&store, &next).await.0.page.next;
    let (page, cost) = page(&store, &next).await;
    assert_eq!((told(&page.page)[0], told(&page.page).len()), (listed[50].id(), 50));
    assert_eq!(cost.of_read(), "read_units=4.0, calls=2, items=51, rounds=1");
}

#[tokio::test(start_paused = true)]
async fn each_pulled_source_costs_one_more_query() {
    let (world, engine, store) = start(1);
    of_512_bytes(&engine, world.now(), 100, "ada").await;
    let stars: Vec<_> = (0..3).map(|star| format!("star{star}")).collect();
    for star in &stars {
        let listed = Listed::new(id(world.now().saturating_sub(20_500), 0), star, None);
        put(&engine.client(), listed.at_sources()).await;
        put(&engine.client(), [pull(&user("bob"), &listed.sources()[0], EventId::MIN)]).await;
    }
    // At first, the store does not know how many marks stand before the entries.
    assert_eq!(page(&store, &feed_query(50)).await.1.calls, 2 + 3);
    let (first, cost) = page(&store, &feed_query(50)).await;
    assert_eq!((cost.calls, cost.rounds, told(&first.page).len()), (1 + 3, 2, 50));
    let mut next = feed_query(50);
    next.page.cursor = first.page.next;
    let (_, cost) = page(&store, &next).await;
    assert_eq!((cost.calls, cost.rounds), (2 + 3, 2));
}

#[tokio::test(start_paused = true)]
async fn pulled_sources_are_read_only_as_far_as_the_page() {
    let (world, engine, store) = start(1);
    of_512_bytes(&engine, world.now(), 60, "ada").await;
    let old = |number: u64| Listed::new(id(world.now().saturating_sub(900_000 + number), 0), "star", None);
    let old: Vec<_> = (0..50).map(|number| old(number).of_bytes(600)).collect();
    put(&engine.client(), old.iter().flat_map(Listed::at_sources)).await;
    put(&engine.client(), [pull(&user("bob"), &source("actor:star"), EventId::MIN)]).await;
    page(&store, &feed_query(50)).await;
    let (_, cost) = page(&store, &feed_query(50)).await;
    assert_eq!(cost.of_read(), "read_units=4.0, calls=2, items=52, rounds=2");
}

#[tokio::test(start_paused = true)]
async fn pull_markers_above_the_limit_are_all_read() {
    let (world, engine, store) = start(1);
    let mut expected = Vec::new();
    for star in 0..150 {
        let at = world.now().saturating_sub(10_000 + star);
        let listed = Listed::new(id(at, star), &format!("star{star}"), None);
        put(&engine.client(), listed.at_sources()).await;
        put(&engine.client(), [pull(&user("bob"), &listed.sources()[0], EventId::MIN)]).await;
        expected.push(listed.id());
    }
    store.op().feed(&user("bob")).see(expected[99]).await.unwrap();
    for order in [Order::NewestFirst, Order::OldestFirst] {
        let shown = pages(async |cursor| {
            let query = EventQuery { order: Some(order), cursor, ..query(70) };
            let (page, cost) = page(&store, &FeedQuery { page: query, wait_for: None }).await;
            assert!(cost.calls <= 160 && page.unread.is_none_or(|unread| unread.unread == 70));
            (told(&page.page), page.page.next.filter(|_| page.page.has_more))
        });
        assert_eq!(shown.await, expected, "{order:?}");
        expected.reverse();
    }
    // A count reads as many of the lists as its units pay for.
    let op = store.op();
    let unread = op.feed(&user("bob")).unread().await.unwrap();
    assert!(unread.more && (1..=99).contains(&unread.unread), "{unread:?}");
    assert!(op.cost().read_units.halves <= 128, "{}", op.cost().of_read());
}

#[tokio::test(start_paused = true)]
async fn large_events_fill_a_page_with_few_wasted_reads() {
    let (world, engine, store) = start(1);
    let mut expected = Vec::new();
    for number in 0..40 {
        let at = world.now().saturating_sub(10_000 + number);
        let mut listed = Listed::new(id(at, number), "ada", None).of_bytes(200_000);
        listed.points = true;
        put(&engine.client(), [listed.event(), listed.in_feed(&user("bob"))]).await;
        expected.push(listed.id());
    }
    let shown = pages(async |cursor| {
        let (page, cost) =
            page(&store, &FeedQuery { page: EventQuery { cursor, ..query(200) }, wait_for: None }).await;
        // At most one event more than fits, at 24.5 units each, and a query or two.
        assert!(cost.read_units.halves <= 14 * 49 + 10, "{cost:?}");
        assert!(serde_json::to_vec(&page).unwrap().len() <= 2_500_512);
        let found = told(&page.page);
        assert!(found.len() == 12 || !page.page.has_more, "as many events as fit");
        (found, page.page.next)
    });
    assert_eq!(shown.await, expected);
}

#[tokio::test(start_paused = true)]
async fn pointers_are_followed_despite_unprocessed_or_stale_reads() {
    for seed in seeds(6) {
        let lag = Lag { seed: seed.0, table: Duration::from_secs(2), index: Duration::ZERO, behind: 0.7 };
        let (world, engine, _) = start_with(seed.0, Options { lag: Some(lag), ..Options::default() });
        let faults = Faults::seeded(seed.0)
            .sometimes(0.5, Target::operation(Operation::BatchGetItem), Fault::Unprocessed(0.6))
            .sometimes(0.1, Target::reads(), Fault::InternalServerError);
        let client = engine.client_with(faults);
        let store = store(client.client(), &world);
        let listed = |number| {
            let at = world.now().saturating_sub(number);
            let mut listed = Listed::new(id(at, number), "ada", None).of_bytes(3_000);
            listed.points = true;
            listed
        };
        let listed: Vec<_> = (0..60).map(listed).collect();
        put(&engine.client(), listed.iter().map(|one| one.in_feed(&user("bob")))).await;
        pass(Duration::from_secs(2)).await;
        // The entries are visible in all replicas, the events are not.
        put(&engine.client(), listed.iter().map(Listed::event)).await;
        let (page, _) = page(&store, &feed_query(60)).await;
        assert_eq!(told(&page.page), listed.iter().map(Listed::id).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn unread_costs_only_the_unread_entries() {
    let (world, engine, store) = start(1);
    let listed = of_512_bytes(&engine, world.now(), 100, "ada").await;
    of_512_bytes(&engine, world.now().saturating_add(1_000), 1, "bob").await;
    let op = store.op();
    op.feed(&user("bob")).see(listed[79].id()).await.unwrap();
    assert_eq!(op.cost().of_write(), "write_units=1.0, calls=1");
    // 79 entries of ada and one of bob: 40 KB and 512 bytes, and the mark.
    let op = store.op();
    assert_eq!(op.feed(&user("bob")).unread().await.unwrap().unread, 79);
    assert_eq!(op.cost().of_read(), "read_units=6.0, calls=2, items=81, rounds=0");
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_pushed_and_pulled_counts_once() {
    let (world, engine, store) = start(1);
    let listed = of_512_bytes(&engine, world.now(), 220, "ada").await;
    let unread = async || {
        let op = store.op();
        (op.feed(&user("bob")).unread().await.unwrap(), op.cost())
    };
    let (pushed, cost) = unread().await;
    assert_eq!((pushed.unread, cost.calls), (220, 2));
    // The events are pulled too. Each is counted once, and none is lost between the pages of the two lists.
    put(&engine.client(), listed.iter().flat_map(Listed::at_sources)).await;
    put(&engine.client(), [pull(&user("bob"), &source("actor:ada"), EventId::MIN)]).await;
    assert_eq!(unread().await.0.unread, 220);
}

#[tokio::test(start_paused = true)]
async fn a_consistent_page_shows_pushed_and_pulled_events_at_once() {
    let (world, engine, store) = start_with(1, behind(1));
    let pushed = Listed::new(id(world.now(), 1), "ada", None);
    let mut pulled = Listed::new(id(world.now(), 2), "star", None).of_bytes(2_000);
    pulled.points = true;
    let mark = pull(&user("bob"), &source("actor:star"), EventId::MIN);
    put(&engine.client(), [pushed.in_feed(&user("bob")), mark, pulled.event()]).await;
    put(&engine.client(), pulled.at_sources()).await;
    let mut query = feed_query(10);
    assert_eq!(told(&page(&store, &query).await.0.page), []);
    query.page.consistent = true;
    assert_eq!(told(&page(&store, &query).await.0.page), [pulled.id(), pushed.id()]);
    query.page.range.to = Some(world.now().saturating_add(1));
    assert_eq!(told(&page(&store, &query).await.0.page), [pulled.id(), pushed.id()]);
}

#[tokio::test(start_paused = true)]
async fn newer_continues_with_events_that_were_pushed_since() {
    let (world, engine, store) = start(1);
    let listed = of_512_bytes(&engine, world.now(), 5, "ada").await;
    let (first, _) = page(&store, &feed_query(2)).await;
    let mut query = feed_query(2);
    query.page.cursor = first.page.newer;
    let (caught_up, _) = page(&store, &query).await;
    assert_eq!((told(&caught_up.page), caught_up.page.has_more, caught_up.unread), (vec![], false, None));

    let news = Listed::new(id(world.now(), 0), "ada", None);
    put(&engine.client(), [news.in_feed(&user("bob"))]).await;
    query.page.cursor = caught_up.page.next;
    assert_eq!(told(&page(&store, &query).await.0.page), [], "not before the event has settled");
    pass(Duration::from_millis(2_001)).await;
    assert_eq!(told(&page(&store, &query).await.0.page), [news.id()]);
    delete(&engine.client(), [news.in_feed(&user("bob")), listed[0].in_feed(&user("bob"))]).await;
    assert_eq!(told(&page(&store, &feed_query(1)).await.0.page), [listed[1].id()]);
}

#[tokio::test(start_paused = true)]
async fn a_search_for_a_rare_type_continues_after_its_budget() {
    let (world, engine, store) = start(1);
    let bob: User = user("bob");
    let listed = |number: u64| {
        let mut listed = Listed::new(id(world.now().saturating_sub(10_000 + number), number), "ada", None);
        if number == 8_099 {
            listed.told.event.event_type = "rare".parse().unwrap();
        }
        listed
    };
    let listed: Vec<_> = (0..8_100).map(listed).collect();
    put(&engine.client(), listed.iter().map(|one| one.in_feed(&bob))).await;
    let mut query = feed_query(10);
    query.page.event_type = Some("rare".parse().unwrap());
    let (first, cost) = page(&store, &query).await;
    assert!(first.page.has_more && told(&first.page).is_empty() && cost.items >= 4_096, "{cost:?}");
    query.page.cursor = first.page.next;
    let (second, _) = page(&store, &query).await;
    assert_eq!((told(&second.page), second.page.has_more), (vec![listed[8_099].id()], false));
}
