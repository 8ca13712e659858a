//! Topics: created once, changed under a revision, remembered for seconds.
//!
//! ```text
//! TOPIC#{topic} / CONFIG
//!   bucket S, retention_days N?, min_shards N, max_shards N, fan_out BOOL, views S ("actor subject type"),
//!   created_at N (milliseconds), revision N, gsi1pk, gsi1sk
//!   kept_days N? (the longest retention there ever was; none if events were once kept for ever, or if it is not known)
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::table::{TopicKey, TopicListKey};
use lately_keys::{
    Cursor, CursorError, Fingerprint, Order, Place, Position, ShardCount, TableKey, Topic, UnixMillis,
};
use lately_model::{
    BucketView, ListQuery, PageSize, RetentionDays, Revision, TopicChange, TopicFault, TopicList,
    TopicSettings, TopicSummary, TopicView, View, Views,
};

use crate::directory::Directory;
use crate::directory::DirectoryRange;
use crate::error::{FindError, TableError};
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::list::ListError;
use crate::op::Op;
use crate::revision::{Guarded, REVISION, Rounds, revision_of};
use crate::store::{Aged, Sent};

/// A topic as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredTopic {
    pub(crate) settings: TopicSettings,
    /// The longest retention there ever was; none if there was none once, or if that is not known.
    kept: Option<RetentionDays>,
    created_at: UnixMillis,
    revision: Revision,
}

impl StoredTopic {
    /// The first millisecond of which any event may still be kept, however the retention was changed.
    pub(crate) fn oldest_kept(&self, now: UnixMillis) -> UnixMillis {
        self.kept.map_or(UnixMillis::MIN, |kept| kept.oldest(now))
    }
}

/// The topic does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no topic {topic}")]
pub struct TopicNotFound {
    /// The topic that was asked for.
    pub topic: Topic,
}

/// Why a topic could not be read.
pub type TopicError = FindError<TopicNotFound>;

/// Why a topic could not be created or changed.
#[derive(Debug, thiserror::Error)]
pub enum PutTopicError {
    /// Its settings do not fit each other, or what is stored.
    #[error(transparent)]
    Refused(#[from] TopicFault),
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// One topic, in one request.
#[derive(Clone, Copy, Debug)]
pub struct TopicHandle<'a> {
    pub(crate) op: &'a Op,
    pub(crate) topic: &'a Topic,
}

/// All topics, in one request.
#[derive(Clone, Copy, Debug)]
pub struct TopicsHandle<'a> {
    pub(crate) op: &'a Op,
}

impl TopicHandle<'_> {
    /// Creates a topic, or changes it. The `bool` says whether it was created.
    ///
    /// # Errors
    /// See [`PutTopicError`].
    pub async fn put(self, change: &TopicChange) -> Result<(TopicView, bool), PutTopicError> {
        let (stored, created) = self.ensure(change).await?;
        let view = self.view_of(stored).await?;
        Ok((view, created))
    }

    /// Makes a topic what a change says, or creates it so.
    async fn ensure(self, change: &TopicChange) -> Result<(StoredTopic, bool), PutTopicError> {
        let topic = self.topic;
        let mut rounds = Rounds::new(&self.op.table);
        let (stored, created) = loop {
            let known = self.find().await?;
            let wanted = match known {
                None => {
                    let settings = change.create().map_err(TopicFault::from)?;
                    let kept = settings.retention_days;
                    StoredTopic {
                        settings,
                        kept,
                        created_at: self.op.now(),
                        revision: self.op.first_revision(),
                    }
                }
                Some(known) => {
                    let settings = change.apply_to(&known.settings)?;
                    let changed = settings != known.settings;
                    let revision = if changed { known.revision.next() } else { known.revision };
                    let kept = known.kept.zip(settings.retention_days).map(|(one, other)| one.max(other));
                    StoredTopic { settings, kept, revision, ..known }
                }
            };
            if known == Some(wanted) {
                break (wanted, false);
            }
            let replaced = known.map(|known| known.revision);
            // A change is what is to be so, and may be made twice: what is not known to be written is looked at again.
            if self.op.table.put_revised(&encode(topic, wanted), replaced).await? == Guarded::Written {
                break (wanted, known.is_none());
            }
            rounds.lose().await?;
        };
        self.remember(stored, Sent::now(self.op.ambient()));
        Ok((stored, created))
    }

    /// A topic with its newest buckets.
    ///
    /// # Errors
    /// See [`TopicError`].
    pub async fn view(self) -> Result<TopicView, TopicError> {
        let stored = self.read().await?;
        let view = self.view_of(stored).await?;
        Ok(view)
    }
}

impl TopicsHandle<'_> {
    /// A page of all topics, by name. With `own`, only of these, which are read by themselves: nothing that a caller gets
    /// depends on topics that it may not see.
    ///
    /// # Errors
    /// See [`ListError`].
    pub async fn list(self, query: &ListQuery) -> Result<TopicList, ListError> {
        let own = self.op.allowed_topics();
        let fingerprint = Fingerprint::of("topics").finish();
        let after = match query.cursor.as_deref().map(|text| Cursor::decode(text, fingerprint)).transpose()? {
            None => None,
            Some(Cursor { order: Order::OldestFirst, position: Position::Topic(topic), .. }) => Some(topic),
            Some(_) => return Err(CursorError::Foreign.into()),
        };
        let (topics, more) = match own {
            None => self.all(after, query.limit).await?,
            Some(own) => self.own(own, after, query.limit).await?,
        };
        let next = topics.last().filter(|_| more).map(|last| {
            let position = Position::Topic(last.topic.clone());
            Cursor { query: fingerprint, order: Order::OldestFirst, position }.to_string()
        });
        Ok(TopicList { topics, next })
    }

    /// The first topics behind one, and whether there may be more.
    async fn all(
        self,
        after: Option<Topic>,
        limit: PageSize,
    ) -> Result<(Vec<TopicSummary>, bool), TableError> {
        let start = after.map(|topic| {
            let mut start = keyed(Place::Table, TopicKey { topic: topic.clone() }.encode());
            start.extend(keyed(Place::Gsi1, TopicListKey { topic }.encode()));
            start
        });
        let answer = self
            .op
            .table
            .query(|ask| {
                ask.set_index_name(Place::Gsi1.index().map(str::to_owned))
                    .key_condition_expression("gsi1pk = :pk")
                    .expression_attribute_values(":pk", text(TopicListKey::PARTITION))
                    .set_exclusive_start_key(start.clone())
                    .limit(limit.get().into())
            })
            .await?;
        self.op.table.meter.items(answer.items().len());
        self.op.table.meter.round();
        let topics = answer.items().iter().map(summary).collect::<Result<_, _>>()?;
        Ok((topics, answer.last_evaluated_key().is_some()))
    }

    /// Of some topics, the first behind one, and whether there are more.
    async fn own(
        self,
        own: &[Topic],
        after: Option<Topic>,
        limit: PageSize,
    ) -> Result<(Vec<TopicSummary>, bool), TableError> {
        let behind: BTreeSet<_> = own.iter().filter(|topic| after.as_ref() < Some(*topic)).collect();
        let key = |topic: &Topic| keyed(Place::Table, TopicKey { topic: topic.clone() }.encode());
        let keys: Vec<_> = behind.into_iter().map(key).collect();
        let items = self.op.table.get_items(&keys, false).await?;
        self.op.table.meter.round();
        let mut topics = items.iter().map(summary).collect::<Result<Vec<_>, _>>()?;
        topics.sort_by(|one, other| one.topic.cmp(&other.topic));
        let more = topics.len() > usize::from(limit.get());
        topics.truncate(limit.get().into());
        Ok((topics, more))
    }
}

impl TopicHandle<'_> {
    /// A topic's settings, which may be some seconds old.
    pub(crate) async fn settings(self) -> Result<TopicSettings, TopicError> {
        Ok(self.stored().await?.settings)
    }

    /// A topic, which may be some seconds old.
    pub(crate) async fn stored(self) -> Result<StoredTopic, TopicError> {
        let topic = self.topic;
        if let Some(known) = self.op.store.cached_topic(topic) {
            return Ok(known.value);
        }
        let sent = Sent::now(self.op.ambient());
        let stored = self.read().await?;
        self.remember(stored, sent);
        Ok(stored)
    }

    /// As [`TopicHandle::settings`]. A topic that does not exist is created with the default settings.
    pub(crate) async fn settings_or_create(self) -> Result<TopicSettings, TableError> {
        match self.settings().await {
            Ok(settings) => return Ok(settings),
            Err(TopicError::NotFound(_)) => {}
            Err(TopicError::Table(error)) => return Err(error),
        }
        match self.ensure(&TopicChange::default()).await {
            Ok((stored, _)) => Ok(stored.settings),
            Err(PutTopicError::Table(error)) => Err(error),
            Err(PutTopicError::Refused(fault)) => {
                Err(TableError::unavailable(format!("the default settings were refused: {fault}")))
            }
        }
    }

    fn remember(self, value: StoredTopic, sent: Sent) {
        let topic = self.topic;
        self.op.store.cache_topic(topic.clone(), Arc::new(Aged { value, sent }));
    }

    async fn read(self) -> Result<StoredTopic, TopicError> {
        let topic = self.topic;
        self.find().await?.ok_or_else(|| TopicError::NotFound(TopicNotFound { topic: topic.clone() }))
    }

    async fn find(self) -> Result<Option<StoredTopic>, TableError> {
        let topic = self.topic;
        let key = keyed(Place::Table, TopicKey { topic: topic.clone() }.encode());
        let item = self.op.table.get_item(key).await?;
        Ok(item.as_ref().map(decode).transpose()?)
    }

    async fn view_of(self, stored: StoredTopic) -> Result<TopicView, TableError> {
        let topic = self.topic;
        let range = DirectoryRange::all(topic.clone(), stored.settings.bucket, Order::NewestFirst);
        let page = Directory::of(self.op, range.topic()).read(&range).await?;
        let buckets =
            page.value.entries.iter().map(|entry| BucketView { label: entry.bucket, shards: entry.shards });
        Ok(TopicView {
            topic: topic.clone(),
            settings: stored.settings,
            created_at: stored.created_at,
            buckets: buckets.collect(),
        })
    }
}

fn encode(topic: &Topic, stored: StoredTopic) -> Item {
    let StoredTopic { settings, kept, created_at, revision } = stored;
    let mut item = keyed(Place::Table, TopicKey { topic: topic.clone() }.encode());
    item.extend(keyed(Place::Gsi1, TopicListKey { topic: topic.clone() }.encode()));
    let views: Vec<_> = settings.views.iter().map(View::as_str).collect();
    item.extend(
        [
            ("bucket", text(settings.bucket.as_str())),
            ("min_shards", number(settings.min_shards.get())),
            ("max_shards", number(settings.max_shards.get())),
            ("fan_out", AttributeValue::Bool(settings.fan_out)),
            ("views", text(views.join(" "))),
            ("created_at", number(created_at.get())),
            (REVISION, number(revision.get())),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    for (name, days) in [("retention_days", settings.retention_days), ("kept_days", kept)] {
        item.extend(days.map(|days| (name.to_owned(), number(days.get()))));
    }
    item
}

fn decode(item: &Item) -> Result<StoredTopic, Corrupt> {
    let fields = Fields(item);
    let views = fields.text("views")?.split_ascii_whitespace().map(str::parse::<View>);
    let settings = TopicSettings {
        bucket: fields.parsed("bucket")?,
        retention_days: retention_days(fields, "retention_days")?,
        min_shards: shard_count(fields, "min_shards")?,
        max_shards: shard_count(fields, "max_shards")?,
        fan_out: fields.flag("fan_out"),
        views: views.collect::<Result<Views, _>>().map_err(|_| fields.corrupt("views"))?,
    };
    let created_at =
        UnixMillis::new(fields.number("created_at")?).map_err(|_| fields.corrupt("created_at"))?;
    let kept = retention_days(fields, "kept_days")?;
    Ok(StoredTopic { settings, kept, created_at, revision: revision_of(item)? })
}

fn summary(item: &Item) -> Result<TopicSummary, Corrupt> {
    let StoredTopic { settings, created_at, .. } = decode(item)?;
    Ok(TopicSummary { topic: Fields(item).parsed("gsi1sk")?, settings, created_at })
}

pub(crate) fn shard_count(fields: Fields<'_>, name: &'static str) -> Result<ShardCount, Corrupt> {
    ShardCount::new(fields.number(name)?).map_err(|_| fields.corrupt(name))
}

pub(crate) fn retention_days(
    fields: Fields<'_>,
    name: &'static str,
) -> Result<Option<RetentionDays>, Corrupt> {
    let days = fields.optional_number(name)?;
    days.map(RetentionDays::new).transpose().map_err(|_| fields.corrupt(name))
}
