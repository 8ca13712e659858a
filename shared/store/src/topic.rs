//! Topics: created once, changed under a revision, cached for seconds.

use std::collections::BTreeSet;
use std::sync::Arc;

use lately_items::{DirectoryEntry, EventKey, StoredTopic, TimelineEntry, TopicKey, TopicListKey};
use lately_keys::{Fingerprint, Key, Order, Place, Position, TableKey, Topic};
use lately_model::{
    BucketView, ListQuery, PageSize, TopicChange, TopicFault, TopicList, TopicSummary, TopicView,
};
use lately_table::{Guarded, Item, Query, Rounds, TableError, put_revised};

use crate::directory::range::DirectoryRange;
use crate::error::{TopicError, TopicNotFound};
use crate::handle::{TopicHandle, TopicsHandle};
use crate::limits::TOPIC_AGE;
use crate::list::{ListError, Pager};
use crate::moments::{Aged, Sent};

/// Why a topic could not be created or changed.
#[derive(Debug, thiserror::Error)]
pub enum PutTopicError {
    /// The settings contradict each other, or the stored topic.
    #[error(transparent)]
    Refused(#[from] TopicFault),
    /// The topic is being deleted.
    #[error("the topic {0} is being deleted")]
    BeingDeleted(Topic),
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl TopicHandle<'_> {
    /// Creates the topic, or changes it. The `bool` says whether it was created.
    pub async fn put(self, change: &TopicChange) -> Result<(TopicView, bool), PutTopicError> {
        let (stored, created) = self.ensure(change).await?;
        Ok((self.view_of(stored).await?, created))
    }

    /// Applies a change to the topic, or creates the topic with the change.
    pub(crate) async fn ensure(self, change: &TopicChange) -> Result<(StoredTopic, bool), PutTopicError> {
        let mut rounds = Rounds::of(&self.op.table, "the topic");
        let (stored, created) = loop {
            let found = self.find().await?;
            if found.is_some_and(|found| found.is_being_deleted(self.op.now())) {
                return Err(PutTopicError::BeingDeleted(self.topic.clone()));
            }
            let known = found.filter(|found| found.deleting.is_none());
            let wanted = match known {
                None => {
                    self.op.ending(self.topic).forget_deletion().await?;
                    let settings = change.create().map_err(TopicFault::from)?;
                    StoredTopic {
                        settings,
                        lists_by_actor: settings.views.actor,
                        created_at: self.op.now(),
                        revision: self.op.first_revision(),
                        deleting: None,
                        expires_at: None,
                        changing: None,
                    }
                }
                Some(known) => {
                    let settings = change.apply_to(&known.settings)?;
                    let changed = settings != known.settings;
                    let revision = if changed { known.revision.next() } else { known.revision };
                    let lists_by_actor = known.lists_by_actor && settings.views.actor;
                    StoredTopic { settings, revision, lists_by_actor, ..known }
                }
            };
            if known == Some(wanted) {
                break (wanted, false);
            }
            // A change names the settings that the topic is to have, so it may be applied twice. After a write that
            // failed or may have failed, the next round reads the topic again.
            let written = match known {
                Some(known) if known.settings.retention_days != wanted.settings.retention_days => {
                    self.op.ending(self.topic).change_retention(known, wanted).await?
                }
                _ => {
                    let (item, revision) = (wanted.encode(self.topic), found.map(|found| found.revision));
                    let written = put_revised(&self.op.table, &item, revision).await?;
                    (written == Guarded::Written).then_some(wanted)
                }
            };
            if let Some(written) = written {
                break (written, known.is_none());
            }
            rounds.lose_and_pause().await?;
        };
        self.remember(stored, Sent::now(self.op.ambient()));
        Ok((stored, created))
    }

    /// The topic with its newest buckets, and with the change of its retention that goes on.
    pub async fn view(self) -> Result<TopicView, TopicError> {
        let stored = self.read().await?;
        let retention_change = match stored.changing {
            Some(changing) => self.op.ending(self.topic).retention_change(changing.begun).await?,
            None => None,
        };
        Ok(TopicView { retention_change, ..self.view_of(stored).await? })
    }

    /// The topic, which may be some seconds old.
    pub(crate) async fn stored(self) -> Result<StoredTopic, TopicError> {
        let known = self.op.memory().topics.get(self.topic);
        if let Some(known) = known.filter(|known| known.sent.is_within(TOPIC_AGE, self.op.ambient())) {
            return Ok(known.value);
        }
        let sent = Sent::now(self.op.ambient());
        let stored = self.read().await?;
        self.remember(stored, sent);
        Ok(stored)
    }

    /// The topic, which may be some seconds old; `None` if it does not exist.
    pub(crate) async fn stored_if_any(self) -> Result<Option<StoredTopic>, TableError> {
        match self.stored().await {
            Ok(stored) => Ok(Some(stored)),
            Err(TopicError::NotFound(_)) => Ok(None),
            Err(TopicError::Table(error)) => Err(error),
        }
    }

    fn remember(self, value: StoredTopic, sent: Sent) {
        let known = self.op.memory().topics.get(self.topic);
        if !known.is_some_and(|known| value.continues(&known.value)) {
            self.op.memory().forget_directory(self.topic);
        }
        self.op.memory().topics.insert(self.topic.clone(), Arc::new(Aged { value, sent }));
    }

    async fn read(self) -> Result<StoredTopic, TopicError> {
        let found = self.find().await?;
        found.filter(|found| found.deleting.is_none()).ok_or_else(|| {
            let is_being_deleted = found.is_some_and(|found| found.is_being_deleted(self.op.now()));
            TopicError::NotFound(TopicNotFound { topic: self.topic.clone(), is_being_deleted })
        })
    }

    /// The topic as it is stored, also while it is being deleted, and for some time after.
    pub(crate) async fn find(self) -> Result<Option<StoredTopic>, TableError> {
        self.op.table.find(StoredTopic::key(self.topic)).await
    }

    async fn view_of(self, stored: StoredTopic) -> Result<TopicView, TableError> {
        let range = DirectoryRange::newest(self.topic.clone(), stored.settings.bucket);
        let page = self.op.directory(&range.topic).read(&range, true).await?;
        let view =
            |entry: &DirectoryEntry| BucketView { label: entry.bucket, shards: entry.coverage.most_shards() };
        Ok(TopicView {
            topic: self.topic.clone(),
            settings: stored.settings,
            created_at: stored.created_at,
            retention_change: None,
            buckets: page.value.entries.iter().map(view).collect(),
        })
    }

    /// The key of an entry's event in this topic; `None` if the topic no longer exists.
    pub(crate) async fn event_key(self, entry: &TimelineEntry) -> Result<Option<Key>, TableError> {
        if let Some(key) = entry.pointer() {
            return Ok(Some(key.encode()));
        }
        let Some(stored) = self.stored_if_any().await? else { return Ok(None) };
        Ok(Some(EventKey::new(self.topic.clone(), stored.settings.bucket, entry.id).encode()))
    }
}

impl TopicsHandle<'_> {
    /// A page of the topics that the caller may see, by name. If the caller may not see all topics, only the caller's
    /// own topics are read. So nothing in the response depends on other topics.
    pub async fn list(self, query: &ListQuery) -> Result<TopicList, ListError> {
        let pager = Pager { list: Fingerprint::of("topics").finish(), order: Order::OldestFirst };
        let after = pager.after(query.cursor.as_deref())?;
        let (topics, more) = match self.op.topics.as_deref() {
            None => self.all(after, query.limit).await?,
            Some(own) => self.own(own, after, query.limit).await?,
        };
        let last = topics.last().filter(|_| more);
        let next = last.map(|last| pager.cursor(Position::Topic(last.topic.clone())));
        Ok(TopicList { topics, next })
    }

    /// The first topics after `after`, and whether there may be more.
    pub(crate) async fn all(
        self,
        after: Option<Topic>,
        limit: PageSize,
    ) -> Result<(Vec<TopicSummary>, bool), TableError> {
        let start =
            after.map(|topic| Item::at(&TopicKey { topic: topic.clone() }).also_at(&TopicListKey { topic }));
        let topics = Query::of(Place::Gsi1, TopicListKey::partition()).start(start).limit(limit.get());
        let page = self.op.table.query_items(&topics).await?;
        self.op.table.meter().round();
        let topics = page.items.iter().map(StoredTopic::summary).collect::<Result<_, _>>()?;
        Ok((topics, page.next.is_some()))
    }

    /// The caller's own topics after `after`, as many as fit, and whether there are more.
    async fn own(
        self,
        own: &[Topic],
        after: Option<Topic>,
        limit: PageSize,
    ) -> Result<(Vec<TopicSummary>, bool), TableError> {
        let wanted: BTreeSet<_> = own.iter().filter(|topic| after.as_ref() < Some(*topic)).collect();
        let keys: Vec<_> = wanted.into_iter().map(StoredTopic::key).collect();
        let items = self.op.table.get_many(&keys, false).await?;
        self.op.table.meter().round();
        let listed = items.iter().filter(|item| !item.has(StoredTopic::DELETING));
        let mut topics = listed.map(StoredTopic::summary).collect::<Result<Vec<_>, _>>()?;
        topics.sort_unstable_by(|one, other| one.topic.cmp(&other.topic));
        let more = topics.len() > usize::from(limit.get());
        topics.truncate(limit.get().into());
        Ok((topics, more))
    }
}
