//! Topics: created once, changed under a revision, remembered for seconds.
//!
//! ```text
//! TOPIC#{topic} / CONFIG
//!   bucket S, retention_days N?, min_shards N, max_shards N, fan_out BOOL, views S ("actor subject type"),
//!   created_at N (milliseconds), revision N, gsi1pk, gsi1sk
//! ```

use std::sync::Arc;

use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use lately_keys::table::{TopicKey, TopicListKey};
use lately_keys::{
    Cursor, CursorError, Fingerprint, Order, Place, Position, ShardCount, TableKey, Topic, UnixMillis,
};
use lately_model::{
    BucketView, ListQuery, RetentionDays, TopicChange, TopicFault, TopicList, TopicSettings, TopicSummary,
    TopicView, View, Views,
};

use crate::call::{Failed, Operation, TableError, Unavailable};
use crate::cost::Cost;
use crate::directory::DirectoryRange;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::limits::CONFLICTS;
use crate::store::{Aged, Sent, Store};

/// A topic as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredTopic {
    pub(crate) settings: TopicSettings,
    created_at: UnixMillis,
    revision: u64,
}

/// Why a topic could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TopicError {
    /// There is no such topic.
    #[error("no such topic")]
    NotFound,
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

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

/// Why topics could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListTopicsError {
    /// The cursor is not one of this list.
    #[error(transparent)]
    Cursor(#[from] CursorError),
    /// The table could not be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl Store {
    /// Creates a topic, or changes it. The `bool` says whether it was created.
    ///
    /// # Errors
    /// See [`PutTopicError`].
    pub async fn put_topic(
        &self,
        topic: &Topic,
        change: &TopicChange,
    ) -> Result<(TopicView, bool, Cost), PutTopicError> {
        let operation = self.operation();
        let mut conflicts = 0;
        let (stored, created) = loop {
            let known = self.find_topic(topic, &operation).await?;
            let wanted = match known {
                None => self.new_topic(change.create().map_err(TopicFault::from)?),
                Some(known) => {
                    let settings = change.apply_to(&known.settings)?;
                    let revision = known.revision + u64::from(settings != known.settings);
                    StoredTopic { settings, revision, ..known }
                }
            };
            if known == Some(wanted) {
                break (wanted, false);
            }
            if self.write_topic(topic, wanted, known, &operation).await? {
                break (wanted, known.is_none());
            }
            conflicts += 1;
            if conflicts == CONFLICTS {
                return Err(
                    TableError::from(Unavailable::new("other writers keep changing the topic")).into()
                );
            }
        };
        self.remember_topic(topic, stored, Sent::now(self.ambient()));
        let view = self.topic_view(topic, stored, &operation).await?;
        Ok((view, created, operation.meter.total()))
    }

    /// A topic with its newest buckets.
    ///
    /// # Errors
    /// See [`TopicError`].
    pub async fn topic(&self, topic: &Topic) -> Result<(TopicView, Cost), TopicError> {
        let operation = self.operation();
        let stored = self.read_topic(topic, &operation).await?;
        let view = self.topic_view(topic, stored, &operation).await?;
        Ok((view, operation.meter.total()))
    }

    /// A page of all topics, by name.
    ///
    /// # Errors
    /// See [`ListTopicsError`].
    pub async fn topics(&self, query: &ListQuery) -> Result<(TopicList, Cost), ListTopicsError> {
        let fingerprint = Fingerprint::of("topics").finish();
        let after = match query.cursor.as_deref().map(|text| Cursor::decode(text, fingerprint)).transpose()? {
            None => None,
            Some(Cursor { order: Order::OldestFirst, position: Position::Topic(topic), .. }) => Some(topic),
            Some(_) => return Err(CursorError::Foreign.into()),
        };
        let operation = self.operation();
        let start = after.map(|topic| {
            let mut start = keyed(Place::Table, TopicKey { topic: topic.clone() }.encode());
            start.extend(keyed(Place::Gsi1, TopicListKey { topic }.encode()));
            start
        });
        let answer = operation
            .call(|| {
                self.client()
                    .query()
                    .table_name(self.table())
                    .set_index_name(Place::Gsi1.index().map(str::to_owned))
                    .key_condition_expression("gsi1pk = :pk")
                    .expression_attribute_values(":pk", text(TopicListKey::PARTITION))
                    .set_exclusive_start_key(start.clone())
                    .limit(query.limit.get().into())
                    .return_consumed_capacity(ReturnConsumedCapacity::Total)
                    .send()
            })
            .await
            .map_err(|failed| TableError::from(failed.unconditional()))?;
        operation.meter.read(answer.consumed_capacity());
        operation.meter.items(answer.items().len());
        operation.meter.round();
        let topics: Result<Vec<_>, _> = answer.items().iter().map(summary).collect();
        let topics = topics.map_err(TableError::from)?;
        let next = topics.last().filter(|_| answer.last_evaluated_key().is_some()).map(|last| {
            let position = Position::Topic(last.topic.clone());
            Cursor { query: fingerprint, order: Order::OldestFirst, position }.to_string()
        });
        Ok((TopicList { topics, next }, operation.meter.total()))
    }

    /// A topic's settings, which may be some seconds old.
    pub(crate) async fn settings(
        &self,
        topic: &Topic,
        operation: &Operation<'_>,
    ) -> Result<TopicSettings, TopicError> {
        if let Some(known) = self.cached_topic(topic) {
            return Ok(known.value.settings);
        }
        let sent = Sent::now(self.ambient());
        let stored = self.read_topic(topic, operation).await?;
        self.remember_topic(topic, stored, sent);
        Ok(stored.settings)
    }

    fn remember_topic(&self, topic: &Topic, value: StoredTopic, sent: Sent) {
        self.cache_topic(topic.clone(), Arc::new(Aged { value, sent }));
    }

    async fn read_topic(&self, topic: &Topic, operation: &Operation<'_>) -> Result<StoredTopic, TopicError> {
        self.find_topic(topic, operation).await?.ok_or(TopicError::NotFound)
    }

    async fn find_topic(
        &self,
        topic: &Topic,
        operation: &Operation<'_>,
    ) -> Result<Option<StoredTopic>, TableError> {
        let key = keyed(Place::Table, TopicKey { topic: topic.clone() }.encode());
        let item = self.get_item(key, operation).await?;
        Ok(item.as_ref().map(decode).transpose()?)
    }

    /// A topic that is being created. Its first revision is the time in microseconds: it tells our own write
    /// from another's when an attempt was ambiguous.
    fn new_topic(&self, settings: TopicSettings) -> StoredTopic {
        let micros = u64::try_from(self.ambient().since_epoch().as_micros()).unwrap_or(u64::MAX >> 1);
        StoredTopic { settings, created_at: self.now(), revision: micros }
    }

    /// Writes a topic if it still is what was read. `false` if it is not.
    async fn write_topic(
        &self,
        topic: &Topic,
        wanted: StoredTopic,
        known: Option<StoredTopic>,
        operation: &Operation<'_>,
    ) -> Result<bool, TableError> {
        let item = encode(topic, wanted);
        let written = operation
            .call(|| {
                let put = self
                    .client()
                    .put_item()
                    .table_name(self.table())
                    .set_item(Some(item.clone()))
                    .return_consumed_capacity(ReturnConsumedCapacity::Total);
                match known {
                    None => put.condition_expression("attribute_not_exists(pk)"),
                    Some(known) => put
                        .condition_expression("revision = :known")
                        .expression_attribute_values(":known", number(known.revision)),
                }
                .send()
            })
            .await;
        match written {
            Ok(answer) => {
                operation.meter.write(answer.consumed_capacity());
                Ok(true)
            }
            // Perhaps it is our own earlier attempt that is there now.
            Err(Failed::Condition { maybe_applied: true, .. }) => {
                Ok(self.find_topic(topic, operation).await? == Some(wanted))
            }
            Err(Failed::Condition { .. }) => Ok(false),
            Err(Failed::Unavailable(unavailable)) => Err(unavailable.into()),
        }
    }

    async fn topic_view(
        &self,
        topic: &Topic,
        stored: StoredTopic,
        operation: &Operation<'_>,
    ) -> Result<TopicView, TableError> {
        let range = DirectoryRange::all(topic.clone(), stored.settings.bucket, Order::NewestFirst);
        let page = self.read_directory(&range, operation).await?;
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
    let StoredTopic { settings, created_at, revision } = stored;
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
            ("revision", number(revision)),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    if let Some(days) = settings.retention_days {
        item.insert("retention_days".to_owned(), number(days.get()));
    }
    item
}

fn decode(item: &Item) -> Result<StoredTopic, Corrupt> {
    let fields = Fields(item);
    let views = fields.text("views")?.split_ascii_whitespace().map(str::parse::<View>);
    let settings = TopicSettings {
        bucket: fields.parsed("bucket")?,
        retention_days: retention_days(fields)?,
        min_shards: shard_count(fields, "min_shards")?,
        max_shards: shard_count(fields, "max_shards")?,
        fan_out: fields.flag("fan_out"),
        views: views.collect::<Result<Views, _>>().map_err(|_| fields.corrupt("views"))?,
    };
    let created_at =
        UnixMillis::new(fields.number("created_at")?).map_err(|_| fields.corrupt("created_at"))?;
    Ok(StoredTopic { settings, created_at, revision: fields.number("revision")? })
}

fn summary(item: &Item) -> Result<TopicSummary, Corrupt> {
    let StoredTopic { settings, created_at, .. } = decode(item)?;
    Ok(TopicSummary { topic: Fields(item).parsed("gsi1sk")?, settings, created_at })
}

pub(crate) fn shard_count(fields: Fields<'_>, name: &'static str) -> Result<ShardCount, Corrupt> {
    ShardCount::new(fields.number(name)?).map_err(|_| fields.corrupt(name))
}

pub(crate) fn retention_days(fields: Fields<'_>) -> Result<Option<RetentionDays>, Corrupt> {
    let days = fields.optional_number("retention_days")?;
    days.map(RetentionDays::new).transpose().map_err(|_| fields.corrupt("retention_days"))
}
