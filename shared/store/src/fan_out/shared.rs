//! Reads that the records of a batch share.
//!
//! Each event of a source needs the source's item, its counts and its followers. A busy source has more events a second
//! than these partitions serve reads. So rails that need the same read at the same time share one.
//!
//! After its writes, each event's rail asks whether the event still exists. Rails that ask at the same time share a call.
//!
//! A read of a busy key range fails for all rails that wait for it. If each made its own attempts, one after another, the
//! batch would wait for all of them.
//!
//! One rule must hold: a read that a rail gets has begun after the rail asked for it, so after all of the rail's writes
//! were durable. A rail that asks while a read is under way waits for the next one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use lately_items::{EventKey, FollowerCounts, StoredSource};
use lately_keys::{Key, Shard, ShardCount, Source, TableKey, UnixMillis, User};
use lately_table::{FoundKeys, TableError};
use tokio::sync;

use crate::at_once::lock;
use crate::follow::FollowerPage;
use crate::op::Op;

/// The reads of a batch.
#[derive(Debug, Default)]
pub(super) struct SharedReads {
    pub(super) sources: Reads<Source, StoredSource>,
    pub(super) counts: Reads<(Source, ShardCount), BTreeMap<Shard, FollowerCounts>>,
    /// The first page of a shard of followers.
    pub(super) pages: Reads<(Source, Shard), FollowerPage>,
    /// The users in a shard who have unfollowed since a change, or may have.
    pub(super) leavers: Reads<(Source, Shard, UnixMillis), BTreeSet<User>>,
    /// Counts up when a rail asks whether an event exists, and when a look for events begins.
    moments: AtomicU64,
    /// Events about which rails have asked since the last look for events began.
    asked: Mutex<Vec<Key>>,
    /// For each event, the moment at which the last look for it began, and what it found. The lock is held while a look is
    /// under way.
    there: sync::Mutex<HashMap<Key, (u64, Look)>>,
}

/// The result of a look for an event.
#[derive(Clone, Copy, Debug)]
enum Look {
    Exists,
    IsGone,
    /// The event's key range is busy.
    IsRefused,
}

impl Look {
    fn of(found: &FoundKeys, key: &Key) -> Self {
        if found.busy.contains(key) {
            return Self::IsRefused;
        }
        if found.existing.contains(key) { Self::Exists } else { Self::IsGone }
    }

    fn is_gone(self) -> Result<bool, TableError> {
        match self {
            Self::Exists => Ok(false),
            Self::IsGone => Ok(true),
            Self::IsRefused => Err(TableError::Busy("an event was not found in time".to_owned())),
        }
    }
}

/// Reads of one kind, by what they read.
#[derive(Debug)]
pub(super) struct Reads<K, V> {
    /// Counts up when a rail asks, and when a read begins.
    moments: AtomicU64,
    /// The moment at which the last read began, and what it found. The lock is held while a read is under way.
    last: Mutex<HashMap<K, LastRead<V>>>,
}

type LastRead<V> = Arc<sync::Mutex<Option<(u64, Result<Arc<V>, TableError>)>>>;

impl<K, V> Default for Reads<K, V> {
    fn default() -> Self {
        Self { moments: AtomicU64::default(), last: Mutex::default() }
    }
}

impl<K: Eq + Hash, V> Reads<K, V> {
    /// Reads, or gets what another rail's read finds.
    pub(super) async fn share(
        &self,
        key: K,
        read: BoxFuture<'_, Result<V, TableError>>,
    ) -> Result<Arc<V>, TableError> {
        let asked = self.moments.fetch_add(1, Ordering::Relaxed);
        // The rails that continue at the same time as this one ask first.
        tokio::task::yield_now().await;
        let last = Arc::clone(lock(&self.last).entry(key).or_default());
        let mut last = last.lock().await;
        if let Some((_, found)) = last.as_ref().filter(|(began, _)| *began > asked) {
            return found.clone();
        }
        let began = self.moments.fetch_add(1, Ordering::Relaxed);
        let found = read.await.map(Arc::new);
        *last = Some((began, found.clone()));
        found
    }
}

impl SharedReads {
    /// The source, read consistently.
    pub(super) async fn stored(&self, op: &Op, source: &Source) -> Result<Arc<StoredSource>, TableError> {
        self.sources.share(source.clone(), Box::pin(op.source(source).stored())).await
    }

    /// True if an event no longer exists.
    pub(super) async fn is_deleted(&self, op: &Op, key: &EventKey) -> Result<bool, TableError> {
        let key = key.encode();
        let asked_at = self.moments.fetch_add(1, Ordering::Relaxed);
        self.ask(&key);
        // The rails that continue at the same time as this one ask first.
        tokio::task::yield_now().await;
        let mut there = self.there.lock().await;
        if let Some((_, look)) = there.get(&key).filter(|(began, _)| *began > asked_at) {
            return look.is_gone();
        }
        let began = self.moments.fetch_add(1, Ordering::Relaxed);
        // Another rail's look for this event may have failed.
        self.ask(&key);
        let asked = std::mem::take(&mut *lock(&self.asked));
        let found = op.table.look_for(&asked).await?;
        for asked in asked {
            let look = Look::of(&found, &asked);
            there.insert(asked, (began, look));
        }
        Look::of(&found, &key).is_gone()
    }

    fn ask(&self, key: &Key) {
        let mut asked = lock(&self.asked);
        if !asked.contains(key) {
            asked.push(key.clone());
        }
    }
}
