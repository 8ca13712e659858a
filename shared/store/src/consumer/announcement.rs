//! The announcements of a topic's consumers, and the marks beside them.
//!
//! A consumer's announcement says from which event on the consumer reads, and how long it waits before it passes an event
//! (`late_log/readers.rs`). It follows from the consumer's checkpoint, and every change of it is one transaction with the
//! checkpoint (`status.rs`). So the announcements list all consumers that there are, and fan-out never reads one that is
//! out of date.

use lately_items::{Announcement, AnnouncementKey, AnyKey, ConsumerKey, EndingMark, LateLogEnd, WatchKey};
use lately_keys::{Consumer, UnixMillis};
use lately_table::{Query, TableError};

use crate::handle::ConsumersHandle;
use crate::late_log::readers::Readers;

impl ConsumersHandle<'_> {
    /// A topic's consumers, by name, and whether each has begun to report. The read is consistent.
    pub async fn list(self) -> Result<Vec<(Consumer, bool)>, TableError> {
        let announcements = self.announcements().await?.into_iter();
        Ok(announcements.map(|it| (it.key.name, it.has_runs)).collect())
    }

    /// All announcements of a topic's consumers. The read is consistent.
    pub(crate) async fn announcements(self) -> Result<Vec<Announcement>, TableError> {
        Ok(self.announced().await?.readers.consumers)
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
                Some(AnyKey::Watch(_)) => announced.readers.is_watched = WatchKey::is_watched(item, now)?,
                Some(AnyKey::LateLog(_)) => announced.has_log = true,
                Some(AnyKey::EndingMark(key)) => announced.marks.push(EndingMark::decode(key.ending, item)?),
                _ => {
                    let announcement = Announcement::decode(item)?;
                    if announcement.is_ended {
                        announced.ended.push(announcement.consumer());
                    } else {
                        announced.readers.consumers.push(announcement);
                    }
                }
            }
        }
        Ok(announced)
    }

    /// The marks of a topic, for those who follow it live. The read is not consistent.
    pub(crate) async fn marks(self) -> Result<TopicMarks, TableError> {
        let query = Query::partition(AnnouncementKey::partition(self.topic)).begins_with(MARKS);
        let mut marks = TopicMarks::default();
        for item in &self.op.table.query_all(query).await? {
            let key = item.key()?;
            match AnyKey::decode(&key.pk, &key.sk) {
                Some(AnyKey::LateLog(_)) => marks.log_end = Some(LateLogEnd::decode(item)?),
                Some(AnyKey::EndingMark(key)) => {
                    if let EndingMark::Deletion { begun, .. } = EndingMark::decode(key.ending, item)? {
                        marks.deletion = Some(begun);
                    }
                }
                _ => {}
            }
        }
        Ok(marks)
    }
}

/// The beginning of the sort keys of marks: no consumer has such a name.
const MARKS: &str = "#";

/// The marks of a topic that its live followers need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TopicMarks {
    /// The end of the topic's late log.
    pub(crate) log_end: Option<LateLogEnd>,
    /// When the topic's deletion began.
    pub(crate) deletion: Option<UnixMillis>,
}

/// All that is announced about a topic to those who see its events land.
#[derive(Clone, Debug, Default)]
pub(crate) struct Announced {
    /// The topic's readers.
    pub(crate) readers: Readers,
    /// Consumers whose deletion has begun.
    pub(crate) ended: Vec<ConsumerKey>,
    /// True if the topic has a late log.
    pub(crate) has_log: bool,
    /// The topic's deletion or its new retention, for those who see its events land.
    pub(crate) marks: Vec<EndingMark>,
}
