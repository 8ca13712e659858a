//! Follows: edges, followers and counts agree, whatever goes wrong; a busy source spreads its followers over shards.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use lately_engine::fault::{Fault, Faults, Moment, Target, Throttle, When};
use lately_engine::{Engine, Operation};
use lately_items::{AnyKey, SourceItemKey};
use lately_keys::{Source, User};
use lately_model::{Backfill, ListQuery, PageSize};
use lately_store::limits::CROWDED_SHARD;
use lately_store::{FollowError, Store};

use crate::listed::{pull, put, source, source_item, user};
use crate::scene::key;
use crate::support::{Item, items, pages, pass, seeds, start, store};

/// The follows as the edges and the followers say, and the counts of each source's shards.
#[derive(Debug, Default)]
struct Follows {
    edges: BTreeSet<(User, Source, u8)>,
    followers: BTreeSet<(User, Source, u8)>,
    counts: BTreeMap<(Source, u8), (i64, i64)>,
}

impl Follows {
    async fn read(engine: &Engine) -> Self {
        let mut follows = Self::default();
        for item in items(engine).await {
            let number =
                |name: &str| item.get(name).map_or(0, |number| number.as_n().unwrap().parse().unwrap());
            match key(&item) {
                AnyKey::Follow(key) => {
                    follows.edges.insert((key.user, key.source, u8::try_from(number("n")).unwrap()));
                }
                AnyKey::Follower(key) => {
                    follows.followers.insert((key.user, key.source, key.shard.get()));
                }
                AnyKey::FollowerCount(key) => {
                    let counts = (number("here"), number("left"));
                    follows.counts.insert((key.source, key.shard.get()), counts);
                }
                _ => {}
            }
        }
        follows
    }

    /// Asserts that edges, followers and counts agree. Returns the number of follows.
    fn agree(&self) -> usize {
        assert_eq!(self.edges, self.followers);
        let mut here: BTreeMap<(Source, u8), i64> = BTreeMap::new();
        for (_, source, shard) in &self.followers {
            *here.entry((source.clone(), *shard)).or_default() += 1;
        }
        let counted = self.counts.iter().filter(|(_, (here, _))| *here != 0);
        assert_eq!(
            counted.map(|(shard, (here, _))| (shard.clone(), *here)).collect::<BTreeMap<_, _>>(),
            here
        );
        self.edges.len()
    }
}

/// The number of follower shards, as the source's item says.
fn shards_of(items: &[Item], source: &Source) -> u16 {
    let wanted = AnyKey::from(SourceItemKey { source: source.clone() });
    let item = items.iter().find(|item| key(item) == wanted);
    item.and_then(|item| item.get("shards")).map_or(1, |shards| shards.as_n().unwrap().parse().unwrap())
}

fn page(limit: u16, cursor: Option<String>) -> ListQuery {
    ListQuery { limit: PageSize::new(limit).unwrap(), cursor }
}

async fn follow(store: &Store, who: &str, what: &str) -> Result<lately_store::Followed, FollowError> {
    store.op().user(&user(who)).follow(&source(what), Backfill::default()).await
}

#[tokio::test(start_paused = true)]
async fn a_follow_costs_two_reads_and_a_transaction() {
    let (_, _, store) = start(1);
    let (user, source) = (user("bob"), source("actor:ada"));
    let op = store.op();
    op.user(&user).follow(&source, Backfill::default()).await.unwrap();
    assert_eq!(op.cost().of_write(), "write_units=6.0, calls=3");
    let op = store.op();
    op.user(&user).follow(&source, Backfill::default()).await.unwrap();
    assert_eq!(op.cost().of_write(), "write_units=0.0, calls=1");
    let op = store.op();
    op.user(&user).unfollow(&source).await.unwrap();
    assert_eq!(op.cost().of_write(), "write_units=6.0, calls=2");
}

#[tokio::test(start_paused = true)]
async fn lists_give_each_follow_once_at_every_page_size() {
    let (world, engine, _) = start(1);
    // Some attempts are refused, so that the followers are spread.
    let busy = Target::operation(Operation::TransactWriteItems).partition("FOLLOWERS#");
    let faults = Faults::seeded(1).sometimes(0.1, busy, Fault::Throttle(Throttle::TableKeyRange));
    let store = store(engine.client_with(faults).client(), &world);
    let names: BTreeSet<String> = (0..30).map(|n| format!("u{n}")).collect();
    for name in &names {
        follow(&store, name, "actor:ada").await.unwrap();
        follow(&store, "bob", &format!("subject:{name}")).await.unwrap();
    }
    assert!(shards_of(&items(&engine).await, &source("actor:ada")) > 1);
    for limit in [1, 2, 7, 29, 30, 31, 200] {
        let size = usize::from(limit);
        let followers = pages(async |cursor| {
            let list = store.op().source(&source("actor:ada")).followers(&page(limit, cursor)).await.unwrap();
            let found = list.followers.len();
            assert!(found == size || found < size && list.next.is_none(), "a page is full, or the last one");
            (list.followers, list.next)
        });
        let followers: Vec<_> = followers.await.iter().map(|follower| follower.user.to_string()).collect();
        assert_eq!(followers.len(), names.len());
        assert_eq!(followers.into_iter().collect::<BTreeSet<_>>(), names);

        let following = pages(async |cursor| {
            let list = store.op().user(&user("bob")).following(&page(limit, cursor)).await.unwrap();
            (list.following, list.next)
        });
        let following: Vec<_> = following.await.iter().map(|follow| follow.source.to_string()).collect();
        assert_eq!(following, names.iter().map(|name| format!("subject:{name}")).collect::<Vec<_>>());
    }

    // All followers of the shard at which a page ended unfollow before the next page.
    let ada = source("actor:ada");
    let follows = Follows::read(&engine).await.followers;
    let first = follows.iter().filter(|(_, of, shard)| (of, *shard) == (&ada, 0)).map(|(user, ..)| user);
    let first: Vec<_> = first.collect();
    let others = names.len() - first.len();
    let limit = u16::try_from(first.len()).unwrap();
    let list = store.op().source(&ada).followers(&page(limit, None)).await.unwrap();
    for user in first {
        store.op().user(user).unfollow(&ada).await.unwrap();
    }
    let rest = store.op().source(&ada).followers(&page(200, list.next)).await.unwrap();
    assert_eq!((rest.followers.len(), rest.next), (others, None));
}

/// Follows a source that has `followers` followers; the first three attempts fail. Returns the source's shards.
async fn shards_after(fault: Fault, at: &str, followers: u64) -> u16 {
    let (world, engine, plain) = start(1);
    for n in 0..followers {
        follow(&plain, &format!("u{n}"), "actor:ada").await.unwrap();
    }
    let busy = Target::operation(Operation::TransactWriteItems).partition(at);
    let faults = Faults::default().rule(busy, When::First(3), fault);
    follow(&store(engine.client_with(faults).client(), &world), "bob", "actor:ada").await.unwrap();
    assert_eq!(Follows::read(&engine).await.agree(), usize::try_from(followers).unwrap() + 1);
    shards_of(&items(&engine).await, &source("actor:ada"))
}

#[tokio::test(start_paused = true)]
async fn only_busy_counts_of_many_followers_spread_them() {
    let (throttled, conflict) = (Fault::Throttle(Throttle::TableKeyRange), Fault::TransactionConflict);
    for (fault, at, followers, is_spread) in [
        (throttled, "FOLLOWERS#", 0, true),
        (conflict.clone(), "FOLLOWERS#", CROWDED_SHARD, true),
        (conflict.clone(), "FOLLOWERS#", 3, false),
        // The user's own edge is busy.
        (conflict, "USER#", 0, false),
    ] {
        let shards = shards_after(fault.clone(), at, followers).await;
        let expected = if is_spread { 2..=8 } else { 1..=1 };
        assert!(expected.contains(&shards), "{fault:?} at {at}: {shards} shards");
    }
}

#[tokio::test(start_paused = true)]
async fn follow_loops_of_few_users_do_not_spread_the_followers() {
    let (world, engine, _) = start(1);
    let busy = Target::operation(Operation::TransactWriteItems).partition("FOLLOWERS#");
    let faults = Faults::seeded(1).sometimes(0.5, busy, Fault::TransactionConflict);
    let store = store(engine.client_with(faults).client(), &world);
    let users = (0..30).map(async |n| {
        for _ in 0..5 {
            follow(&store, &format!("u{n}"), "actor:ada").await.unwrap();
            store.op().user(&user(&format!("u{n}"))).unfollow(&source("actor:ada")).await.unwrap();
        }
    });
    futures_util::future::join_all(users.collect::<Vec<_>>()).await;
    assert_eq!(shards_of(&items(&engine).await, &source("actor:ada")), 1);
}

#[tokio::test(start_paused = true)]
async fn through_any_fault_a_follower_is_counted_once() {
    for seed in seeds(20) {
        let (world, engine, _) = start(seed.0);
        let any = Target::any;
        let faults = Faults::seeded(seed.0)
            .sometimes(0.15, any(), Fault::Timeout(Moment::After))
            .sometimes(0.1, any(), Fault::Timeout(Moment::Before))
            .sometimes(0.1, any(), Fault::TransactionConflict)
            .sometimes(0.1, any(), Fault::TransactionInProgress)
            .interleaved(3);
        let store = store(engine.client_with(faults).client(), &world);
        let names = ["a", "b", "c", "d"];
        let what = source("actor:ada");
        let followed = join_all(names.iter().flat_map(|name| {
            let store = &store;
            // Each user follows twice at the same time.
            (0..2).map(async move |n| {
                pass(Duration::from_millis(n)).await;
                follow(store, name, "actor:ada").await
            })
        }));
        let followed: Vec<_> = followed.await.into_iter().map(Result::unwrap).collect();
        let created = followed.iter().filter(|followed| followed.created).count();
        assert!(created >= names.len(), "of each user's two follows, at least one reports that it is new");
        assert_eq!(Follows::read(&engine).await.agree(), names.len());
        let left =
            join_all(names.iter().map(async |name| store.op().user(&user(name)).unfollow(&what).await));
        assert!(left.await.iter().all(Result::is_ok));
        let follows = Follows::read(&engine).await;
        assert_eq!(follows.agree(), 0);
        assert_eq!(follows.counts.values().map(|(_, left)| left).sum::<i64>(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_feed_pulls_at_most_a_hundred_sources() {
    let (world, engine, store) = start(1);
    let id = lately_keys::EventId::first_of(world.now());
    put(&engine.client(), [source_item(&source("actor:ada"), id)]).await;
    let marker = |n: usize| pull(&user("bob"), &source(&format!("subject:s{n}")), id);
    put(&engine.client(), (0..99).map(marker)).await;
    follow(&store, "bob", "actor:ada").await.unwrap();
    store.op().user(&user("bob")).unfollow(&source("actor:ada")).await.unwrap();
    put(&engine.client(), [marker(99)]).await;
    assert!(matches!(follow(&store, "bob", "actor:ada").await, Err(FollowError::TooManyPullSources { .. })));
    follow(&store, "bob", "actor:cy").await.unwrap();
    follow(&store, "cy", "actor:ada").await.unwrap();
}
