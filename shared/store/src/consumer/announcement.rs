//! A consumer's announcement: the id up to which the consumer reads, stored before it reads.
//!
//! An announcement exists as long as its consumer does, so the announcements list a topic's consumers. One transaction
//! creates both, and every later write requires the announcement of the same incarnation. So a process that wakes after
//! its consumer was deleted brings nothing back.

use lately_items::{
    Announcement, AnnouncementKey, AnyKey, ConsumerKey, ConsumerMode, EndingMark, INCARNATION,
    LedgerCounters, WatchKey,
};
use lately_keys::{Consumer, EventId, TableKey, UnixMillis};
use lately_table::{Condition, Query, TableError, Update};

use crate::consumer::is_of;
use crate::handle::{ConsumersHandle, Incarnation};

impl ConsumersHandle<'_> {
    /// A topic's consumers, by name, and whether each has begun to report. The read is consistent.
    pub async fn list(self) -> Result<Vec<(Consumer, bool)>, TableError> {
        let announcements = self.announcements().await?.into_iter();
        Ok(announcements.map(|it| (it.consumer.name, it.run.is_some())).collect())
    }

    /// All announcements of a topic's consumers. The read is consistent.
    pub(crate) async fn announcements(self) -> Result<Vec<Announcement>, TableError> {
        Ok(self.announced().await?.consumers)
    }

    /// All that is announced about a topic. The read is consistent.
    pub(crate) async fn announced(self) -> Result<Announced, TableError> {
        let query = Query::partition(AnnouncementKey::partition(self.topic)).consistent(true);
        // One announcement has a few hundred bytes, and the number of a topic's consumers has a cap: this is one query,
        // unless many consumers were created before there was a cap.
        let items = self.op.table.query_all(query).await?;
        let now = self.op.now();
        let mut announced = Announced::default();
        for item in &items {
            let key = item.key()?;
            match AnyKey::decode(&key.pk, &key.sk) {
                Some(AnyKey::Watch(_)) => announced.is_watched = WatchKey::is_watched(item, now)?,
                Some(AnyKey::EndingMark(key)) => announced.marks.push(EndingMark::decode(key.ending, item)?),
                _ if item.flag(Announcement::ENDED) => {
                    announced.ended.push(Announcement::decode(item)?.consumer)
                }
                _ => announced.consumers.push(Announcement::decode(item)?),
            }
        }
        Ok(announced)
    }
}

/// All that is announced about a topic to those who see its events land.
#[derive(Clone, Debug, Default)]
pub(crate) struct Announced {
    /// The announcements of the topic's consumers.
    pub(crate) consumers: Vec<Announcement>,
    /// Consumers whose deletion has begun.
    pub(crate) ended: Vec<ConsumerKey>,
    /// True if the topic is followed live.
    pub(crate) is_watched: bool,
    /// The topic's deletion or its new retention, for those who see its events land.
    pub(crate) marks: Vec<EndingMark>,
}

impl Incarnation<'_> {
    /// The condition that an announcement is the one of this incarnation, and that its consumer is not being deleted.
    fn goes_on(self) -> Condition {
        is_of(self.incarnation).and(Condition::absent(Announcement::ENDED))
    }

    /// The announcement, unless the consumer has been deleted. The read is consistent.
    pub(crate) async fn announcement(self) -> Result<Option<Announcement>, TableError> {
        let item = self.op.table.get(Announcement::key(self.consumer).encode()).await?;
        let item = item.filter(|item| !item.flag(Announcement::ENDED));
        let found = item.as_ref().map(Announcement::decode).transpose()?;
        Ok(found.filter(|found| found.incarnation == self.incarnation))
    }

    /// The part of a run's transaction that announces the run.
    pub(crate) fn announcing_run(self, from: EventId, to: EventId, at: UnixMillis) -> Update {
        Update::of(&Announcement::key(self.consumer))
            .set(Announcement::FROM, &from)
            .set(Announcement::TO, &to)
            .set(Announcement::AT, &at)
            .set(Announcement::MODE, &ConsumerMode::Runs)
            .only_if(self.goes_on())
    }

    /// Announces that a poll reads up to an id, and reads the counters. `None` if the consumer has been deleted.
    pub(crate) async fn announce_poll(self, to: EventId) -> Result<Option<LedgerCounters>, TableError> {
        let update = Update::of(&Announcement::key(self.consumer))
            .set(Announcement::TO, &to)
            .set(Announcement::MODE, &ConsumerMode::Polls)
            .only_if(self.goes_on().and(Condition::below(Announcement::TO, &to)));
        match self.op.table.update_and_get(&update).await? {
            Some(item) => Ok(Some(LedgerCounters::of_attributes(&item)?)),
            // The id was announced already, or there is no announcement of this incarnation.
            None => Ok(self.announcement().await?.map(|found| found.counters)),
        }
    }

    /// Announces that the consumer's start moves down to an id.
    pub(crate) async fn lower_start(self, start: EventId) -> Result<(), TableError> {
        let update = Update::of(&Announcement::key(self.consumer))
            .set(Announcement::START, &start)
            .only_if(self.goes_on().and(Condition::above(Announcement::START, &start)));
        self.op.table.update(&update).await.map(drop)
    }

    /// Ends the announcement, unless it belongs to a later incarnation. From then on, it counts as absent.
    pub(crate) async fn end_announcement(self) -> Result<(), TableError> {
        let is_ours = Condition::at_most(INCARNATION, self.incarnation.get());
        let end =
            Update::of(&Announcement::key(self.consumer)).set(Announcement::ENDED, true).only_if(is_ours);
        self.op.table.update(&end).await.map(drop)
    }

    /// Counts some partitions of the ledger, after entries were put into them. False if this incarnation of
    /// the consumer has been deleted: then nobody reads the entries.
    pub(crate) async fn count(self, shards: &[u8]) -> Result<bool, TableError> {
        let update = Update::of(&Announcement::key(self.consumer)).only_if(self.goes_on());
        let attributes = shards.iter().map(|shard| LedgerCounters::attribute(*shard));
        let update = attributes.fold(update, |update, attribute| update.add(attribute, 1_u64));
        self.op.table.update(&update).await
    }
}
