//! Topics: their settings, changes of the settings, and the views of a topic.

use lately_keys::{Bucket, BucketWidth, ShardCount, Topic, UnixMillis};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::body::{self, BodyError};
use crate::fault::{FaultList, Faults, Pointer};
use crate::fields::Field;
use crate::limits::MAX_SHARDS_DEFAULT;
use crate::retention::{RetentionDays, RetentionDaysError};
use crate::views::{View, Views};

/// The settings of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = flat::TopicSettings))]
pub struct TopicSettings {
    /// The width of a bucket; fixed at creation.
    pub bucket: BucketWidth,
    /// The days after which events expire; with null they never expire.
    #[cfg_attr(feature = "document", schema(required))]
    pub retention_days: Option<RetentionDays>,
    /// The smallest number of shards of a new bucket; at most max_shards.
    pub min_shards: ShardCount,
    /// The most shards of a bucket.
    pub max_shards: ShardCount,
    /// If true, events are pushed to feeds; needs the views actor and subject.
    pub fan_out: bool,
    /// The views that list later events.
    #[cfg_attr(feature = "document", schema(value_type = Vec<crate::views::View>))]
    pub views: Views,
}

impl Default for TopicSettings {
    /// The settings of a topic whose creator sets nothing.
    fn default() -> Self {
        Self {
            bucket: BucketWidth::default(),
            retention_days: None,
            min_shards: ShardCount::ONE,
            max_shards: ShardCount::new(MAX_SHARDS_DEFAULT).expect("the default is a power of two"),
            fan_out: true,
            views: Views::default(),
        }
    }
}

impl TopicSettings {
    /// These settings, if they are consistent.
    fn checked(self) -> Result<Self, Faults> {
        let (mut found, root) = (FaultList::default(), Pointer::root());
        if self.min_shards > self.max_shards {
            found.add(&root.child("min_shards"), "must not be more than max_shards");
        }
        if self.fan_out && !(self.views.actor && self.views.subject) {
            found.add(&root.child("views"), "must include actor and subject unless fan_out is false");
        }
        found.or(Some(self))
    }
}

/// The body of `PUT /topics/{topic}`: the settings to set. Absent settings stay as they are; a new topic gets their
/// defaults.
///
/// ```
/// use lately_model::TopicChange;
///
/// let settings = TopicChange::parse(br#"{"retention_days": 30}"#)?.create()?;
/// let forever = TopicChange::parse(br#"{"retention_days": null}"#)?.apply_to(&settings)?;
/// assert_eq!(settings.retention_days.unwrap().get(), 30);
/// assert_eq!(forever.retention_days, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct TopicChange {
    /// The width of a bucket; fixed at creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<BucketWidth>,
    /// The days after which events expire; with null they never expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_days: Option<Option<RetentionDays>>,
    /// The smallest number of shards of a new bucket; at most max_shards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_shards: Option<ShardCount>,
    /// The most shards of a bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_shards: Option<ShardCount>,
    /// If true, events are pushed to feeds; needs the views actor and subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<bool>,
    /// The views that list later events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "document", schema(value_type = Option<Vec<crate::views::View>>))]
    pub views: Option<Views>,
}

/// The reason why a change was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicFault {
    /// The change would alter the bucket width, which is part of every key of the topic's events.
    #[error("bucket: is {0} since the topic was created and cannot change")]
    BucketIsFixed(BucketWidth),
    /// The settings would be inconsistent.
    #[error(transparent)]
    Invalid(#[from] Faults),
}

impl TopicChange {
    /// Reads a body. An empty body means the same as `{}`.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        let names = ["bucket", "retention_days", "min_shards", "max_shards", "fan_out", "views"];
        body::object_or_empty(
            body,
            names,
            |[bucket, retention, min_shards, max_shards, fan_out, views], found| {
                Some(Self {
                    bucket: bucket.text(found),
                    retention_days: retention.json(RetentionDaysError, found),
                    min_shards: min_shards.json(SHARDS, found),
                    max_shards: max_shards.json(SHARDS, found),
                    fan_out: fan_out.json("must be true or false", found),
                    views: read_views(&views, found),
                })
            },
        )
    }

    /// The settings of a new topic.
    ///
    /// # Errors
    /// With all inconsistencies.
    pub fn create(&self) -> Result<TopicSettings, Faults> {
        self.over(&TopicSettings::default()).checked()
    }

    /// The settings of a topic after this change.
    ///
    /// # Errors
    /// If it would change the bucket width, or with all inconsistencies.
    pub fn apply_to(&self, settings: &TopicSettings) -> Result<TopicSettings, TopicFault> {
        let changed = self.over(settings);
        if changed.bucket != settings.bucket {
            return Err(TopicFault::BucketIsFixed(settings.bucket));
        }
        Ok(changed.checked()?)
    }

    fn over(&self, settings: &TopicSettings) -> TopicSettings {
        TopicSettings {
            bucket: self.bucket.unwrap_or(settings.bucket),
            retention_days: self.retention_days.unwrap_or(settings.retention_days),
            min_shards: self.min_shards.unwrap_or(settings.min_shards),
            max_shards: self.max_shards.unwrap_or(settings.max_shards),
            fan_out: self.fan_out.unwrap_or(settings.fan_out),
            views: self.views.unwrap_or(settings.views),
        }
    }
}

const SHARDS: &str = "must be 1, 2, 4, 8, 16, 32, 64, 128 or 256";

/// The views are a set, so a view may be named twice.
fn read_views(field: &Field<&RawValue>, found: &mut FaultList) -> Option<Views> {
    let names = field.elements(found)?;
    Some(names.iter().filter_map(|name| name.text::<View>(found)).collect())
}

/// A topic, with its newest buckets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = Topic))]
pub struct TopicView {
    /// Its name.
    pub topic: Topic,
    /// Its settings.
    #[serde(flatten)]
    pub settings: TopicSettings,
    /// When it was created.
    pub created_at: UnixMillis,
    /// The change of its retention that goes through its events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_change: Option<RetentionChange>,
    /// Its newest buckets that contain events, newest first.
    pub buckets: Vec<BucketView>,
}

/// The progress of a change of a topic's retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct RetentionChange {
    /// When it began.
    pub begun_at: UnixMillis,
    /// The events that it has handled.
    pub events: u64,
    /// The bucket that it has come to, from the newest to the oldest.
    #[cfg_attr(feature = "document", schema(required))]
    pub bucket: Option<Bucket>,
}

/// A bucket of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = Bucket))]
pub struct BucketView {
    /// The name of the bucket's window of time.
    pub label: Bucket,
    /// The number of its shards.
    pub shards: ShardCount,
}

/// A topic in a list. A list does not read the topics' buckets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct TopicSummary {
    /// Its name.
    pub topic: Topic,
    /// Its settings.
    #[serde(flatten)]
    pub settings: TopicSettings,
    /// When it was created.
    pub created_at: UnixMillis,
}

/// A page of the list of topics: `{"topics":[…],"next":"…"|null}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct TopicList {
    /// The topics, by name.
    pub topics: Vec<TopicSummary>,
    /// The cursor of the next page; null at the end.
    #[cfg_attr(feature = "document", schema(required, value_type = Option<crate::schemas::Cursor>))]
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change(body: &str) -> TopicChange {
        TopicChange::parse(body.as_bytes()).unwrap()
    }

    #[test]
    fn shown_settings_can_be_sent_back() {
        let body = r#"{"bucket":"hour","retention_days":7,"min_shards":2,"max_shards":256,"fan_out":false,"views":["type"]}"#;
        let settings = change(body).create().unwrap();
        assert_eq!(serde_json::to_string(&settings).unwrap(), body);
        assert_eq!(change(body).apply_to(&settings), Ok(settings));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_change_or_an_error(body: Vec<u8>, near in "[\\[\\]{}\":,a-z_0-9]{0,40}") {
            for body in [&body[..], near.as_bytes()] {
                if let Ok(Ok(settings)) = TopicChange::parse(body).map(|change| change.create()) {
                    prop_assert!(settings.min_shards <= settings.max_shards);
                }
            }
        }
    }
}
