//! Timelines of sources, and feeds: events of several topics, each shown with its topic.

use lately_keys::Topic;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::event::Event;
use crate::page::Page;

/// An event of a timeline with several topics. Its JSON is the event's, with `topic`.
///
/// ```
/// use lately_model::{Event, TimelineEvent};
///
/// let event = Event {
///     id: "0190868b-57e7-7000-80c0-0dd011ec70b5".parse()?,
///     event_type: "post.created".parse()?,
///     actor: "ada".parse()?,
///     subject: None,
///     data: None,
/// };
/// let json = concat!(
///     r#"{"id":"0190868b-57e7-7000-80c0-0dd011ec70b5","at":"2024-07-06T05:36:37.351Z","topic":"posts","#,
///     r#""type":"post.created","actor":"ada"}"#,
/// );
/// assert_eq!(serde_json::to_string(&TimelineEvent { topic: "posts".parse()?, event })?, json);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEvent {
    /// The topic that it was written to.
    pub topic: Topic,
    /// The event.
    pub event: Event,
}

impl Serialize for TimelineEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.event.serialize_of(Some(&self.topic), serializer)
    }
}

impl<'de> Deserialize<'de> for TimelineEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (topic, event) = Event::deserialize_of(deserializer)?;
        Ok(Self { topic: topic.ok_or_else(|| D::Error::missing_field("topic"))?, event })
    }
}

/// A page of a feed: a page's JSON. The feed's first page also has `unread` and `unread_more`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct FeedPage {
    /// The page.
    #[serde(flatten)]
    #[cfg_attr(feature = "document", schema(value_type = crate::schemas::TimelinePageJson))]
    pub page: Page<TimelineEvent>,
    /// The number of unread entries, where it is known for free.
    #[serde(flatten)]
    pub unread: Option<PageUnread>,
}

impl<'de> Deserialize<'de> for FeedPage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Raw JSON, as an event's data is, cannot be read through `flatten`.
        #[derive(Deserialize)]
        struct PageFields {
            events: Vec<TimelineEvent>,
            next: Option<String>,
            newer: Option<String>,
            has_more: bool,
            unread: Option<usize>,
            #[serde(default)]
            unread_more: bool,
        }
        let PageFields { events, next, newer, has_more, unread, unread_more } =
            PageFields::deserialize(deserializer)?;
        let unread = unread.map(|unread| PageUnread { unread, unread_more });
        Ok(Self { page: Page { events, next, newer, has_more }, unread })
    }
}

/// The unread entries of a feed's first page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = flat::PageUnread))]
pub struct PageUnread {
    /// The number of this page's entries that are newer than the seen mark and not the user's own. Only on newest-first
    /// pages without filter and cursor.
    pub unread: usize,
    /// True if the page ends before the seen mark, so that more unread entries may follow.
    pub unread_more: bool,
}

/// The unread entries of a feed: `{"unread":N,"more":false}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Unread {
    /// The number of entries that are newer than the seen mark and not the user's own.
    pub unread: u64,
    /// True if the count stopped at 64 read units, so that there may be more.
    pub more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_feeds_first_page_has_unread_counts() {
        let page = Page { events: vec![], next: None, newer: None, has_more: false };
        let first = PageUnread { unread: 3, unread_more: true };
        let json = |unread| serde_json::to_string(&FeedPage { page: page.clone(), unread }).unwrap();
        let plain = r#"{"events":[],"next":null,"newer":null,"has_more":false"#;
        assert_eq!(json(None), format!("{plain}}}"));
        assert_eq!(json(Some(first)), format!(r#"{plain},"unread":3,"unread_more":true}}"#));
    }
}
