//! A reader who counts the unread entries of a feed eight times a second. The feed pulls the busy source, so each count
//! reads the source's timeline, in the partition that fan-out reads for each event of the source.

use std::time::Duration;

use lately_items::{PullMarker, PushMode, SourceEntryKey, SourceItemKey, StoredSource};
use lately_keys::{Source, User};
use lately_store::Store;
use lately_table::Item;
use tokio::task::JoinSet;

use crate::overload::neighbour::Neighbourhood;
use crate::overload::writers::BUSY;

const ENTRIES: u32 = 9_000;
const COUNTS_A_SECOND: u32 = 8;

/// The source was promoted this long ago.
const PROMOTED_MILLIS: u64 = 3_600_000;

fn user() -> User {
    "vic".parse().expect("a user")
}

pub(super) async fn prepare(place: &Neighbourhood) {
    let source: Source = format!("actor:{BUSY}").parse().expect("a source");
    let promotion = place.id_before(PROMOTED_MILLIS);
    let from = place.id_before(PROMOTED_MILLIS - 1_000);
    let stored = Item::at(&SourceItemKey { source: source.clone() })
        .with(StoredSource::MODE, PushMode::PULL)
        .with(StoredSource::PROMOTION, &promotion)
        .with(StoredSource::PULL_FROM, &from);
    let marker = PullMarker { source: source.clone(), since: promotion };
    let mut items = vec![stored, marker.encode(&user())];
    for number in 0..place.items(ENTRIES) {
        let id = place.id_before(1_000 + u64::from(number));
        let key = SourceEntryKey { source: source.clone(), shard: 0.into(), id };
        items.push(place.entry(Item::at(&key)));
    }
    place.put_all(items).await;
}

pub(super) async fn run(place: &Neighbourhood) {
    let store = place.process(0);
    let mut acts = JoinSet::new();
    for _ in 0..COUNTS_A_SECOND * place.seconds {
        acts.spawn(count(store.clone()));
        tokio::time::sleep(Duration::from_secs(1) / COUNTS_A_SECOND).await;
    }
    acts.join_all().await;
}

/// Counts the unread entries. The count may be refused.
async fn count(store: Store) {
    drop(store.op().feed(&user()).unread().await);
}
