//! Timelines of sources and feeds: events of several topics, each told with its topic.

use lately_keys::Topic;
use serde::{Serialize, Serializer};

use crate::event::Event;
use crate::page::Page;

/// An event of a timeline that several topics share: its JSON is the event's, and `topic`.
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
    /// Where it was written.
    pub topic: Topic,
    /// What was written.
    pub event: Event,
}

impl Serialize for TimelineEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.event.serialize_of(Some(&self.topic), serializer)
    }
}

/// A page of a feed: a page's JSON, and on the first page of all also `unread` and `unread_more`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeedPage {
    /// The page.
    #[serde(flatten)]
    pub page: Page<TimelineEvent>,
    /// How much of it the user has not seen; only where that is known for free.
    #[serde(flatten)]
    pub unread: Option<PageUnread>,
}

/// How much of a feed's first page its user has not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PageUnread {
    /// How many of the page's events are newer than the seen mark and not the user's own.
    pub unread: usize,
    /// Whether the page ends before the seen mark does: there may be more of them behind it.
    pub unread_more: bool,
}

/// How much of a feed its user has not seen: `{"unread":N,"more":false}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// How many entries are newer than the seen mark and not the user's own.
    pub unread: u64,
    /// Whether the count ended at the bound of one request: there are at least so many.
    pub more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feeds_first_page_says_how_much_of_it_is_unread_and_others_do_not() {
        let page = Page { events: vec![], next: None, newer: None, has_more: false };
        let first = PageUnread { unread: 3, unread_more: true };
        let json = |unread| serde_json::to_string(&FeedPage { page: page.clone(), unread }).unwrap();
        let plain = r#"{"events":[],"next":null,"newer":null,"has_more":false"#;
        assert_eq!(json(None), format!("{plain}}}"));
        assert_eq!(json(Some(first)), format!(r#"{plain},"unread":3,"unread_more":true}}"#));
    }
}
