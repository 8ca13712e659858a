//! A user with a large feed who follows and unfollows ten times a second. Each unfollow makes fan-out look through the feed.

use std::time::Duration;

use lately_items::FeedEntryKey;
use lately_keys::{Source, User};
use lately_model::Backfill;
use lately_store::Store;
use lately_table::Item;
use tokio::task::JoinSet;

use crate::overload::neighbour::Neighbourhood;

const ENTRIES: u32 = 10_000;
const UNFOLLOWS_A_SECOND: u32 = 10;

/// The number of sources, which take turns.
const SOURCES: u32 = 64;

fn user() -> User {
    "vic".parse().expect("a user")
}

pub(super) async fn prepare(place: &Neighbourhood) {
    let mut entries = Vec::new();
    for number in 0..place.items(ENTRIES) {
        let key = FeedEntryKey { user: user(), id: place.id_before(1_000 + u64::from(number)) };
        entries.push(place.entry(Item::at(&key)));
    }
    place.put_all(entries).await;
}

pub(super) async fn run(place: &Neighbourhood) {
    let store = place.process(0);
    let mut acts = JoinSet::new();
    for number in 0..UNFOLLOWS_A_SECOND * place.seconds {
        let source = format!("actor:nobody-{}", number % SOURCES);
        acts.spawn(unfollow(store.clone(), source.parse().expect("a source")));
        tokio::time::sleep(Duration::from_secs(1) / UNFOLLOWS_A_SECOND).await;
    }
    acts.join_all().await;
}

/// Follows a source and unfollows it. Either may be refused.
async fn unfollow(store: Store, source: Source) {
    drop(store.op().user(&user()).follow(&source, Backfill::default()).await);
    drop(store.op().user(&user()).unfollow(&source).await);
}
