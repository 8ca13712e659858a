//! The estimate of an erasure: what the actor's and the user's own partitions hold, without reading on for ever.

use lately_keys::table::{FeedEntryKey, FollowKey, ProfileKey, SourcePartition, UserSessionKey};
use lately_keys::{Actor, Source, TableKey, UnixMillis, User};
use lately_model::{ErasureCounts, ErasureEstimate, NewErasure};
use lately_table::{Query, TableError};

use crate::entry::BEFORE_ENTRIES;
use crate::erasure::ErasuresHandle;

impl ErasuresHandle<'_> {
    /// Estimates the items that an erasure would erase, and its price. The actor's events are counted by the actor's
    /// timeline, so events of topics without the view `actor` are missing. The copies are those of followers who have
    /// all of these events. Counts end where one request must end: then there is more.
    pub async fn estimate(self, new: &NewErasure) -> Result<ErasureEstimate, TableError> {
        let mut counts = ErasureCounts::default();
        if let Some(actor) = &new.actor {
            self.estimate_actor(actor, &mut counts).await?;
        }
        if let Some(user) = &new.user {
            self.estimate_user(user, &mut counts).await?;
        }
        let ErasureCounts { events, entries, copies, follows, followers, profile, sessions, feed, .. } =
            counts;
        Ok(ErasureEstimate {
            counts,
            // Each event, and the places of its entries and copies, are looked at. A walk through a follower's feed is
            // not in the price.
            read_units: 2 * events + entries + copies + feed / 16 + 8 * (follows + followers),
            // An unfollow is a transaction of three writes, a note and a pull marker.
            write_units: events
                + entries
                + copies
                + feed
                + 8 * (follows + followers)
                + profile
                + 3 * sessions,
        })
    }

    async fn estimate_actor(self, actor: &Actor, counts: &mut ErasureCounts) -> Result<(), TableError> {
        let source = Source::Actor(actor.clone());
        let stored = self.op.source(&source).stored().await?;
        for shard in stored.coverage.shards_within(UnixMillis::MIN, UnixMillis::MAX) {
            let partition = SourcePartition { source: source.clone(), shard }.to_string();
            counts.events += self.count(Query::partition(partition).after(BEFORE_ENTRIES)).await?;
        }
        let audience = self.op.source(&source).counts(stored.shards).await?;
        counts.followers = audience.values().map(|counts| counts.here).sum();
        counts.entries = counts.events;
        counts.copies = counts.events * counts.followers;
        Ok(())
    }

    async fn estimate_user(self, user: &User, counts: &mut ErasureCounts) -> Result<(), TableError> {
        let profile = ProfileKey { user: user.clone() }.encode();
        counts.profile = self.op.table.existing(&[profile]).await?.len() as u64;
        let follows = Query::partition(ProfileKey::partition(user)).begins_with(FollowKey::PREFIX);
        counts.follows = self.count(follows).await?;
        counts.sessions = self.count(Query::partition(UserSessionKey::partition(user))).await?;
        counts.feed = self.count(Query::partition(FeedEntryKey::partition(user))).await?;
        Ok(())
    }

    /// The number of items that a query finds, as far as one request may read.
    async fn count(self, query: Query) -> Result<u64, TableError> {
        let (mut found, mut query) = (0, query.count());
        loop {
            let page = self.op.table.query(&query).await?;
            found += page.count as u64;
            if page.next.is_none() || self.op.table.is_spent() {
                return Ok(found);
            }
            query = query.start(page.next);
        }
    }
}
