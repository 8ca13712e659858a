//! What is taken out of a feed when its user no longer follows a source.
//!
//! First it is written down that the user left. Who has read the followers before, and writes an entry after this has
//! looked, finds that; so does who does it again in its place, if it dies.
//!
//! The user may follow again at any moment, and that follow's backfill runs beside this. So after something was
//! taken out, the edges are read once more, and what they again allow is put back.

use lately_keys::table::{FeedEntryKey, FollowerKey, LeaverKey, PullMarkerKey};
use lately_keys::{Source, TableKey, UnixMillis, User};

use crate::call::{TableError, Unavailable};
use crate::entry::{TimelineEntry, own_feed, place_in_feed};
use crate::fan_out::FanOut;
use crate::follow::leaver;
use crate::item::{Item, text};
use crate::limits::{CONFLICTS, ENTRIES_PER_QUERY};

/// What sorts before every entry of a feed, and behind its marks.
const BEFORE_ENTRIES: &str = "$";

impl FanOut<'_> {
    /// Takes out of a feed what only a source brought there that is no longer followed, since a time that the stream tells.
    pub(super) async fn cleanup(&self, key: &FollowerKey, at: UnixMillis) -> Result<(), TableError> {
        let FollowerKey { source, shard, user } = key;
        let left = LeaverKey { source: source.clone(), shard: *shard, at, user: user.clone() };
        self.store.put_item(&leaver(&left), self.operation).await?;
        self.settle_marker(user, source).await?;
        if self.store.edge(user, source, self.operation).await?.is_some() {
            return Ok(());
        }
        let mut start = None;
        loop {
            let (entries, next) = self.read_feed(user, source, start).await?;
            self.withdraw(user, entries).await?;
            start = next;
            if start.is_none() {
                return Ok(());
            }
            // Each page is bounded, their number by the time there is: what is left, the next delivery finds.
            if self.operation.time_left().is_zero() {
                return Err(Unavailable::new("a feed is too long to be cleaned up in time").into());
            }
        }
    }

    /// Makes a source's marker in a feed what it must be now: there if the source is followed and not pushed.
    pub(super) async fn settle_marker(&self, user: &User, source: &Source) -> Result<(), TableError> {
        let mut edge = self.store.edge(user, source, self.operation).await?;
        for _ in 0..CONFLICTS {
            let marker = match &edge {
                None => None,
                Some(edge) => {
                    self.store.stored_source(source, self.operation).await?.marker(source, edge.since)
                }
            };
            match marker {
                Some(marker) => self.put(vec![marker.encode(user)]).await?,
                None if edge.is_some() => {}
                None => {
                    let key = PullMarkerKey { user: user.clone(), source: source.clone() };
                    self.delete(vec![key.encode()]).await?;
                }
            }
            let now = self.store.edge(user, source, self.operation).await?;
            if now == edge {
                return Ok(());
            }
            edge = now;
        }
        Err(keeps_changing())
    }

    /// Takes entries out of a feed none of whose sources its user follows.
    pub(super) async fn withdraw(&self, user: &User, entries: Vec<TimelineEntry>) -> Result<(), TableError> {
        let is_own = |entry: &TimelineEntry| own_feed(&entry.actor).as_ref() == Some(user);
        let mut entries: Vec<_> = entries.into_iter().filter(|entry| !is_own(entry)).collect();
        for _ in 0..CONFLICTS {
            let (followed, unfollowed) = self.by_follow(user, entries).await?;
            // Who removed the event may have come between the end of one follow and the beginning of another.
            self.take_back_deleted(user, followed).await?;
            if unfollowed.is_empty() {
                return Ok(());
            }
            self.delete(unfollowed.iter().map(|entry| place_in_feed(entry.id, user)).collect()).await?;
            let followed = self.by_follow(user, unfollowed).await?.0;
            if followed.is_empty() {
                return Ok(());
            }
            // Followed again meanwhile: the backfill may have been here before.
            let retention = self.store.feeds().retention;
            self.put(followed.iter().map(|entry| entry.in_feed(user, retention)).collect()).await?;
            entries = self.take_back_deleted(user, followed).await?;
        }
        Err(keeps_changing())
    }

    /// Sorts entries into those of whose sources a user follows one, and the others.
    async fn by_follow(
        &self,
        user: &User,
        entries: Vec<TimelineEntry>,
    ) -> Result<(Vec<TimelineEntry>, Vec<TimelineEntry>), TableError> {
        let edges = self.store.edges(user, &entries, self.operation).await?;
        Ok(entries.into_iter().partition(|entry| entry.sources().any(|source| edges.contains_key(&source))))
    }

    /// A page of a feed's entries that a source lists, read consistently, and where it goes on.
    async fn read_feed(
        &self,
        user: &User,
        source: &Source,
        start: Option<Item>,
    ) -> Result<(Vec<TimelineEntry>, Option<Item>), TableError> {
        let (filter, name) = match source {
            Source::Actor(name) => ("a = :name", name.as_str()),
            Source::Subject(name) => ("s = :name", name.as_str()),
        };
        let answer = self
            .store
            .query(self.operation, |query| {
                query
                    .key_condition_expression("pk = :pk AND sk > :marks")
                    .filter_expression(filter)
                    .expression_attribute_values(":pk", text(FeedEntryKey::partition(user)))
                    .expression_attribute_values(":marks", text(BEFORE_ENTRIES))
                    .expression_attribute_values(":name", text(name))
                    .set_exclusive_start_key(start.clone())
                    .limit(i32::try_from(ENTRIES_PER_QUERY).unwrap_or(i32::MAX))
                    .consistent_read(true)
            })
            .await?;
        self.operation.meter.items(usize::try_from(answer.scanned_count()).unwrap_or(0));
        let entries = answer.items().iter().map(TimelineEntry::decode).collect::<Result<_, _>>()?;
        Ok((entries, answer.last_evaluated_key))
    }
}

fn keeps_changing() -> TableError {
    Unavailable::new("the follow keeps changing").into()
}
