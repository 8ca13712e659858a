//! Busy sources: their timelines get more shards, and every reader finds the entries in all of them.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_engine::{Options, PartitionLimits};
use lately_items::{AnyKey, SourceEntryKey, SourceItemKey};
use lately_keys::{EventId, Order, ShardCount, TableKey, UnixMillis};
use lately_model::{EventQuery, FeedQuery, NewEvent, SourceQuery};
use lately_store::{FeedSettings, Store};

use crate::feed::feed_query;
use crate::listed::{Listed, id, item, pull, put, source, source_item, text, told, user};
use crate::scene::{Scene, about, fan_out, key};
use crate::support::{Item, event, items, pages, pass, query, store};

/// The source's item, with one spread of four shards that holds an hour before and after a time.
fn spread_item(what: &str, now: UnixMillis) -> Item {
    let hour = 3_600_000;
    let spreads = format!("{}-{}:4", now.get() - hour, now.get() + hour);
    item(&SourceItemKey { source: source(what) }, [("spreads", text(spreads))])
}

/// The stored spreads of a source.
async fn spreads(scene: &Scene, what: &str) -> String {
    let item = AnyKey::from(SourceItemKey { source: source(what) });
    let stored = items(&scene.engine).await.into_iter().find(|found| key(found) == item).unwrap();
    stored["spreads"].as_s().unwrap().clone()
}

/// A scene in which ada's timeline has four shards.
async fn spread_scene() -> Scene {
    let mut scene = Scene::new(FeedSettings::default()).await;
    put(&scene.engine.client(), [spread_item("actor:ada", scene.world.now())]).await;
    scene.settle().await;
    scene
}

/// Posts events so that each shard gets some of them. Returns their ids, the oldest first.
async fn post_over_time(scene: &mut Scene, events: usize) -> Vec<EventId> {
    let mut posted = Vec::new();
    for _ in 0..events {
        posted.extend(scene.write(vec![about("s")]).await);
        scene.settle().await;
        pass(Duration::from_millis(70)).await;
    }
    posted
}

/// The numbers of the shards that hold entries of ada's timeline.
async fn shards(scene: &Scene) -> BTreeSet<u8> {
    let shard = |item: Item| match key(&item) {
        AnyKey::SourceEntry(key) if key.source == source("actor:ada") => Some(key.shard.get()),
        _ => None,
    };
    items(&scene.engine).await.into_iter().filter_map(shard).collect()
}

/// All events of ada's timeline, in pages.
async fn walk(store: &Store, order: Order, limit: u16, consistent: bool) -> Vec<EventId> {
    let found = pages(async |cursor| {
        let page = EventQuery { order: Some(order), cursor, consistent, ..query(limit) };
        let query = SourceQuery { page, ..SourceQuery::default() };
        let page = store.op().timeline(&source("actor:ada")).page(&query).await.unwrap();
        (told(&page), page.next.filter(|_| page.has_more))
    });
    found.await
}

#[tokio::test(start_paused = true)]
async fn a_busy_timeline_grows_until_it_takes_all_entries() {
    let partitions = Some(PartitionLimits { write_units: 50, ..PartitionLimits::default() });
    let mut scene =
        Scene::with(FeedSettings::default(), Options { partitions, shards: 1, ..Options::default() }).await;
    let mut posted = BTreeSet::new();
    let mut left = 0;
    // Fifteen events every tenth of a second: three times what one partition takes.
    for _ in 0..40 {
        // The author's own feed would be busy too, so each event has another author.
        let events = (0..15).map(|n| {
            let actor = format!("u{n}").parse().unwrap();
            NewEvent { actor, ..about("s") }
        });
        posted.extend(scene.write(events.collect()).await);
        left += scene.tell().await.deferred;
        pass(Duration::from_millis(100)).await;
    }
    let spreads = spreads(&scene, "subject:s").await;
    assert!(spreads.contains(":4"), "{spreads}");
    assert!(left < 150, "{left} of 600 were left to the backlog");
    scene.settle().await;
    let listed: BTreeSet<_> = scene.listed("subject:s").await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(listed, posted);
    let query = SourceQuery { page: query(200), ..SourceQuery::default() };
    let page = scene.store.op().timeline(&source("subject:s")).page(&query).await.unwrap();
    let newest: Vec<_> = posted.iter().rev().take(200).copied().collect();
    assert_eq!(told(&page), newest);
}

#[tokio::test(start_paused = true)]
async fn pages_show_the_entries_of_all_shards_in_order() {
    let mut scene = spread_scene().await;
    let posted = post_over_time(&mut scene, 40).await;
    assert_eq!(shards(&scene).await, BTreeSet::from([0, 1, 2, 3]));
    pass(Duration::from_secs(3)).await;
    let newest_first: Vec<_> = posted.iter().rev().copied().collect();
    for limit in [1, 7, 200] {
        for consistent in [false, true] {
            // A process that knows nothing, and one that has just read the timeline.
            for store in [store(scene.engine.client(), &scene.world), scene.store.clone()] {
                let found = walk(&store, Order::NewestFirst, limit, consistent).await;
                assert_eq!(found, newest_first, "{limit}");
                if limit > 1 {
                    let oldest_first = walk(&store, Order::OldestFirst, limit, consistent).await;
                    assert_eq!(oldest_first, posted, "{limit}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_knows_no_spread_writes_to_the_first_shard() {
    let mut scene = spread_scene().await;
    let posted = scene.write(vec![about("s")]).await;
    let news = scene.news();
    for _ in 0..2 {
        fan_out(&store(scene.engine.client(), &scene.world), &news).await;
    }
    assert_eq!(shards(&scene).await, BTreeSet::from([0]));
    assert_eq!(walk(&scene.store, Order::NewestFirst, 10, false).await, posted);
}

#[tokio::test(start_paused = true)]
async fn an_entry_in_two_shards_is_shown_once_and_deleted_from_both() {
    let mut scene = spread_scene().await;
    // The store learns the spread. It writes an event of a time that belongs to another shard than the first.
    scene.write(vec![about("s")]).await;
    scene.settle().await;
    while scene.world.now().get() / 128 % 4 == 0 {
        pass(Duration::from_millis(10)).await;
    }
    let posted = scene.write(vec![about("s")]).await;
    let news = scene.news();
    fan_out(&store(scene.engine.client(), &scene.world), &news).await;
    fan_out(&scene.store, &news).await;
    assert_eq!(scene.listed("actor:ada").await.iter().filter(|(id, _)| *id == posted[0]).count(), 2);
    assert_eq!(walk(&scene.store, Order::NewestFirst, 10, true).await.len(), 2);

    scene.store.op().event(&scene.posts, posted[0]).delete(None).await.unwrap();
    // The deletion is handled by a process that knows nothing of the source.
    scene.store = store(scene.engine.client(), &scene.world);
    scene.settle().await;
    assert!(scene.listed("actor:ada").await.iter().all(|(id, _)| *id != posted[0]));
    // The event's record comes again.
    fan_out(&scene.store, &news).await;
    assert!(scene.listed("actor:ada").await.iter().all(|(id, _)| *id != posted[0]));
}

#[tokio::test(start_paused = true)]
async fn feeds_that_pull_a_spread_source_show_count_and_await_its_entries() {
    let mut scene = spread_scene().await;
    let before = scene.world.now();
    let mut item = source_item(&source("actor:ada"), EventId::first_of(before));
    item.extend(spread_item("actor:ada", before));
    let marker = pull(&user("bob"), &source("actor:ada"), EventId::first_of(before));
    put(&scene.engine.client(), [item, marker]).await;
    let mut posted = post_over_time(&mut scene, 12).await;
    posted.reverse();
    for consistent in [false, true] {
        let page = EventQuery { consistent, ..query(200) };
        let reader = store(scene.engine.client(), &scene.world);
        let feed = reader.op().feed(&user("bob")).page(&FeedQuery { page, wait_for: None }).await.unwrap();
        assert_eq!(told(&feed.page), posted);
    }
    assert_eq!(scene.store.op().feed(&user("bob")).unread().await.unwrap().unread, 12);
    for wait_for in posted {
        let query = FeedQuery { wait_for: Some(wait_for), ..feed_query(10) };
        scene.store.op().feed(&user("bob")).page(&query).await.unwrap();
        let query = SourceQuery { wait_for: Some(wait_for), ..SourceQuery::default() };
        scene.store.op().timeline(&source("actor:ada")).page(&query).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_backfill_copies_the_newest_entries_of_all_shards() {
    for settings in [FeedSettings::default(), crate::scene::small_jobs()] {
        let mut scene = spread_scene().await;
        scene.settings = settings;
        scene.store = scene.store.clone().with_feeds(settings);
        let mut posted = post_over_time(&mut scene, 30).await;
        scene.follow("bob", "actor:ada", 20).await;
        scene.settle().await;
        posted.reverse();
        posted.truncate(20);
        assert_eq!(scene.shown("bob").await, posted);
        let mut findings = Vec::new();
        let op = scene.store.op();
        op.feed(&user("bob")).compare(false, |_, found| findings.extend_from_slice(found)).await.unwrap();
        assert!(findings.is_empty(), "{findings:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn reading_a_quiet_source_costs_what_one_partition_costs() {
    let mut scene = Scene::new(FeedSettings::default()).await;
    scene.write(vec![event("note", None); 30]).await;
    scene.settle().await;
    let costs = async |store: &Store, cursor: Option<String>| {
        let op = store.op();
        let page = EventQuery { cursor, ..query(10) };
        let query = SourceQuery { page, ..SourceQuery::default() };
        let page = op.timeline(&source("actor:ada")).page(&query).await.unwrap();
        ((op.cost().read_units.halves, op.cost().calls), page.next)
    };
    let with_item = source_item(&source("actor:ada"), EventId::first_of(scene.world.now()));
    for item in [None, Some(with_item)] {
        put(&scene.engine.client(), item).await;
        let reader = store(scene.engine.client(), &scene.world);
        let (cost, next) = costs(&reader, None).await;
        assert_eq!(cost, (1, 1));
        // The next page within a second costs the same. Later, it costs half a unit more, for the source's item.
        assert_eq!(costs(&reader, next.clone()).await.0, (1, 1));
        pass(Duration::from_secs(2)).await;
        assert_eq!(costs(&reader, next).await.0, (2, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_spread_is_renewed_while_its_source_is_busy() {
    for (per_second, is_renewed) in [(1_600, true), (300, false)] {
        let mut scene = Scene::new(FeedSettings::default()).await;
        let (now, four) = (scene.world.now(), ShardCount::new(4).unwrap());
        let until = now.get() + 4_000;
        let spread = text(format!("{}-{until}:4", now.get() - 56_000));
        let item = item(&SourceItemKey { source: source("actor:ada") }, [("spreads", spread)]);
        // The entries of the two seconds before the counted moment, which is ten seconds ago.
        let entries = (0..2 * per_second).map(|n| {
            let at = now.saturating_sub(12_000 - n * 1_000 / per_second);
            let listed = Listed::new(id(at, n), "ada", None);
            let mut entry = listed.at_source(&source("actor:ada"));
            let shard = four.shard_at(listed.id().tick());
            let key = SourceEntryKey { source: source("actor:ada"), shard, id: listed.id() };
            entry.insert("pk".to_owned(), text(key.encode().pk));
            entry
        });
        put(&scene.engine.client(), entries.chain([item])).await;
        scene.settle().await;
        // The first event teaches the process the spread, and the second one finds that it ends soon.
        for _ in 0..2 {
            scene.write(vec![event("note", None)]).await;
            scene.settle().await;
        }
        let last = |spread: &str| spread.split(['-', ':']).nth(1).unwrap().parse::<u64>().unwrap();
        let until_now = spreads(&scene, "actor:ada").await.split(',').map(last).max().unwrap();
        assert_eq!(until_now > until, is_renewed, "{per_second} a second");
    }
}
