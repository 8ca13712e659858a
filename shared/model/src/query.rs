//! Query strings.
//!
//! The parameters are parsed from the percent-encoded query. A `+` is a plus, as in URIs, and not a space as in HTML
//! forms: no parameter contains a space, and a time with an offset contains a plus that clients seldom escape. Each
//! parameter may be sent once. Faults name the parameter: `/limit`.

use lately_keys::{Bucket, BucketWidth, EventId, EventType, Order, TimeError, Topic, UnixMillis, User};
use percent_encoding::percent_decode_str;

use crate::fault::{FaultList, Faults, Pointer};
use crate::fields::{Field, Fields};
use crate::page::{PageSize, WaitSeconds};

/// A type that is parsed from a query string.
pub trait QueryString: Sized {
    /// Reads a query string, without its `?`.
    ///
    /// # Errors
    /// With all faults: unknown, repeated, ill-formed, missing and contradictory parameters.
    fn parse(query: &str) -> Result<Self, Faults>;
}

/// The time range of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = flat::TimeRange))]
pub struct TimeRange {
    /// Events of this time and later; not after `to`.
    pub from: Option<UnixMillis>,
    /// Events before this time.
    pub to: Option<UnixMillis>,
}

/// The range ends before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must not be after `to`")]
pub struct TimeRangeError;

impl TimeRange {
    /// The range from `from` (included) to `to` (excluded).
    ///
    /// # Errors
    /// If `from` is after `to`. They may be equal: then the range is empty.
    pub fn new(from: Option<UnixMillis>, to: Option<UnixMillis>) -> Result<Self, TimeRangeError> {
        match (from, to) {
            (Some(from), Some(to)) if from > to => Err(TimeRangeError),
            _ => Ok(Self { from, to }),
        }
    }
}

/// The names of a page's parameters, and further names.
macro_rules! page_names {
    ($($more:literal),*) => {
        ["limit", "order", "cursor", "from", "to", "type", "consistent", "wait" $(, $more)*]
    };
}

/// The page query of a topic's events.
///
/// ```
/// use lately_keys::Order;
/// use lately_model::{EventQuery, QueryString};
///
/// let query = EventQuery::parse("limit=20&order=asc&from=2026-11-20T09:30:00%2B01:00")?;
/// assert_eq!((query.limit.get(), query.order), (20, Some(Order::OldestFirst)));
///
/// let faults = EventQuery::parse("limit=many&page=2").unwrap_err();
/// assert_eq!(faults.to_string(), "/page: is not a known field; /limit: must be a whole number from 1 to 200");
/// # Ok::<(), lately_model::Faults>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = flat::EventQuery))]
pub struct EventQuery {
    /// The most entries of a page.
    pub limit: PageSize,
    /// `desc` (the default) is newest first. Optional with a cursor.
    pub order: Option<Order>,
    /// The `next` or `newer` of a page. Repeat the filters of that page's query; `limit` and `consistent` may change.
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::Cursor>))]
    pub cursor: Option<String>,
    /// The time range to read.
    pub range: TimeRange,
    /// Events of this type.
    #[cfg_attr(feature = "document", schema(rename = "type"))]
    pub event_type: Option<EventType>,
    /// If true, the read shows every acknowledged write, at twice the price.
    #[cfg_attr(feature = "document", schema(default = false))]
    pub consistent: bool,
    /// The response to an empty page is delayed until an event arrives, for at most this many seconds. Only with the
    /// cursor of an oldest-first page.
    pub wait: WaitSeconds,
}

impl QueryString for EventQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        parse(query, page_names![], |page, found| Some(Self::read(page, found)))
    }
}

impl EventQuery {
    fn read(fields: [Field<String>; 8], found: &mut FaultList) -> Self {
        let [limit, order, cursor, from, to, event_type, consistent, wait] = fields;
        let limit = limit.text(found).unwrap_or_default();
        let order = order.text(found);
        let range = parse_range(&from, &to, found);
        let event_type = event_type.text(found);
        let consistent = consistent.parsed(found, parse_bool).unwrap_or_default();
        if wait.value.is_some() && (cursor.value.is_none() || order == Some(Order::NewestFirst)) {
            wait.fault(found, "needs the cursor of an oldest-first page");
        }
        let wait = wait.text(found).unwrap_or_default();
        Self { limit, order, cursor: cursor.value, range, event_type, consistent, wait }
    }
}

/// The page query of a source's timeline.
///
/// ```
/// use lately_model::{SourceQuery, QueryString};
///
/// let query = SourceQuery::parse("topic=posts&month=2026-11")?;
/// assert_eq!(query.topic, Some("posts".parse()?));
/// assert_eq!(query.page.range.from, Some("2026-11-01T00:00:00Z".parse()?));
/// assert_eq!(query.page.range.to, Some("2026-12-01T00:00:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct SourceQuery {
    /// The parameters of every page query. A requested month becomes the page's range.
    pub page: EventQuery,
    /// The topic to read.
    #[cfg_attr(feature = "document", schema(value_type = crate::schemas::TopicAndMonth))]
    pub topic: Option<Topic>,
    /// Waits at most 5 s until this event shows. For an event older than two minutes the server looks only once; an id
    /// in the future is refused. Not with `cursor`.
    pub wait_for: Option<EventId>,
}

impl QueryString for SourceQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        parse(query, page_names!["wait_for", "topic", "month"], |fields, found| {
            let [page @ .., wait_for, topic, month] = fields;
            let [.., from, to, _, _, _] = &page;
            let has_range = from.value.is_some() || to.value.is_some();
            let mut page = EventQuery::read(page, found);
            let wait_for = parse_wait_for(&wait_for, page.cursor.is_some(), found);
            let topic = topic.text(found);
            if let Some(bucket) = month.parsed(found, parse_month) {
                page.range = TimeRange { from: Some(bucket.first()), to: bucket.next().map(Bucket::first) };
            }
            if month.value.is_some() && has_range {
                month.fault(found, "must not be given with `from` or `to`");
            }
            Some(Self { page, topic, wait_for })
        })
    }
}

/// The page query of a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct FeedQuery {
    /// The parameters of every page query.
    pub page: EventQuery,
    /// Waits at most 5 s until this event shows. For an event older than two minutes the server looks only once; an id
    /// in the future is refused. Not with `cursor`.
    pub wait_for: Option<EventId>,
}

impl QueryString for FeedQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        parse(query, page_names!["wait_for"], |[page @ .., wait_for], found| {
            let page = EventQuery::read(page, found);
            let wait_for = parse_wait_for(&wait_for, page.cursor.is_some(), found);
            Some(Self { page, wait_for })
        })
    }
}

/// The query of a live stream of a topic or a feed.
///
/// ```
/// use lately_model::{LiveQuery, QueryString};
///
/// assert_eq!(LiveQuery::parse("type=note")?.event_type, Some("note".parse()?));
/// assert_eq!(LiveQuery::parse("token=x").unwrap_err().to_string(), "/token: is not a known field");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = flat::LiveQuery))]
pub struct LiveQuery {
    /// The cursor of an oldest-first page, or the id of a live message. Without it, the stream starts now.
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::Cursor>))]
    pub cursor: Option<String>,
    /// Events of this type.
    #[cfg_attr(feature = "document", schema(rename = "type"))]
    pub event_type: Option<EventType>,
}

impl QueryString for LiveQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        parse(query, ["cursor", "type"], |[cursor, event_type], found| {
            Some(Self { cursor: cursor.value, event_type: event_type.text(found) })
        })
    }
}

/// The query of a live stream of a source's timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct SourceLiveQuery {
    /// The parameters of every live stream.
    pub live: LiveQuery,
    /// Only events of this topic.
    pub topic: Option<Topic>,
}

impl QueryString for SourceLiveQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        parse(query, ["cursor", "type", "topic"], |[cursor, event_type, topic], found| {
            let live = LiveQuery { cursor: cursor.value, event_type: event_type.text(found) };
            Some(Self { live, topic: topic.text(found) })
        })
    }
}

/// The query of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct ListQuery {
    /// The most entries of a page.
    pub limit: PageSize,
    /// The `next` of a page.
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::Cursor>))]
    pub cursor: Option<String>,
}

impl QueryString for ListQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        parse(query, ["limit", "cursor"], |[limit, cursor], found| {
            Some(Self { limit: limit.text(found).unwrap_or_default(), cursor: cursor.value })
        })
    }
}

/// The query of the list of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct SessionQuery {
    /// Only sessions of this user.
    pub user: Option<User>,
    /// The most entries of a page.
    pub limit: PageSize,
    /// The `next` of a page.
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::Cursor>))]
    pub cursor: Option<String>,
}

impl QueryString for SessionQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        parse(query, ["user", "limit", "cursor"], |[user, limit, cursor], found| {
            let user = user.text(found);
            Some(Self { user, limit: limit.text(found).unwrap_or_default(), cursor: cursor.value })
        })
    }
}

/// The query that names the sessions to revoke. It must name a user, so that nobody revokes all sessions by mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct RevocationQuery {
    /// The user whose sessions are revoked.
    pub user: User,
}

impl QueryString for RevocationQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        parse(query, ["user"], |[user], found| Some(Self { user: user.required(found).text(found)? }))
    }
}

/// The query of a request without parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoQuery;

impl QueryString for NoQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        parse(query, [], |[], _| Some(Self))
    }
}

/// The query of one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct RecordQuery {
    /// If true, the read shows every acknowledged write, at twice the price.
    #[cfg_attr(feature = "document", schema(default = false))]
    pub consistent: bool,
}

impl QueryString for RecordQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        parse(query, ["consistent"], |[consistent], found| {
            Some(Self { consistent: consistent.parsed(found, parse_bool).unwrap_or_default() })
        })
    }
}

/// Parses a query string with these parameters. Bytes that are not UTF-8 become U+FFFD, which no parameter may contain.
pub(crate) fn parse<T, const N: usize>(
    query: &str,
    names: [&'static str; N],
    read: impl FnOnce([Field<String>; N], &mut FaultList) -> Option<T>,
) -> Result<T, Faults> {
    let (root, mut found) = (Pointer::root(), FaultList::default());
    let mut fields = Fields::new(&root, names);
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let decode = |text| percent_decode_str(text).decode_utf8_lossy();
        fields.offer(&decode(name), decode(value).into_owned());
    }
    let value = read(fields.finish(&mut found), &mut found);
    found.or(value)
}

pub(crate) fn parse_bool(text: &str) -> Result<bool, &'static str> {
    text.parse().map_err(|_| "must be true or false")
}

/// Parses `wait_for`. A page that continues from a cursor cannot wait for an event.
fn parse_wait_for(wait_for: &Field<String>, has_cursor: bool, found: &mut FaultList) -> Option<EventId> {
    if wait_for.value.is_some() && has_cursor {
        wait_for.fault(found, "must not be given with `cursor`");
    }
    wait_for.text(found)
}

fn parse_month(text: &str) -> Result<Bucket, &'static str> {
    let month = text.parse().ok().filter(|bucket: &Bucket| bucket.width() == BucketWidth::Month);
    month.ok_or("must be a month, such as 2026-11")
}

fn parse_range(from: &Field<String>, to: &Field<String>, found: &mut FaultList) -> TimeRange {
    let bound = |field: &Field<String>, found: &mut FaultList| -> Option<UnixMillis> {
        field.parsed::<_, TimeError>(found, UnixMillis::parse_bound)
    };
    let ends = (bound(from, found), bound(to, found));
    TimeRange::new(ends.0, ends.1).unwrap_or_else(|refused| {
        from.fault(found, refused);
        TimeRange::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn faults(query: &str) -> Vec<String> {
        let faults = EventQuery::parse(query).unwrap_err();
        faults.iter().map(|fault| format!("{}: {}", fault.path, fault.message)).collect()
    }

    #[test]
    fn an_empty_query_has_the_defaults() {
        for query in ["", "&", "&&"] {
            assert_eq!(EventQuery::parse(query), Ok(EventQuery::default()));
            assert_eq!(ListQuery::parse(query), Ok(ListQuery::default()));
            assert_eq!(RecordQuery::parse(query), Ok(RecordQuery { consistent: false }));
        }
    }

    #[test]
    fn every_parameter_is_read() {
        let query = "limit=7&order=desc&cursor=AQ%3D&from=2026-11-20T10:00:00%2B01:00\
            &to=2026-11-20T10:00:00.0001Z&%74ype=post.created&consistent=true";
        let query = EventQuery::parse(query).unwrap();
        assert_eq!((query.limit.get(), query.order), (7, Some(Order::NewestFirst)));
        assert_eq!(query.cursor.as_deref(), Some("AQ="));
        assert_eq!(query.range.from.unwrap().to_string(), "2026-11-20T09:00:00.000Z");
        assert_eq!(query.range.to.unwrap().to_string(), "2026-11-20T10:00:00.001Z", "bounds are rounded up");
        assert_eq!(query.event_type.unwrap().as_str(), "post.created");
        assert!(query.consistent);
        assert!(!EventQuery::parse("consistent=false").unwrap().consistent);
    }

    #[test]
    fn a_plus_is_not_a_space() {
        let [plain, escaped] = ["+", "%2B"].map(|plus| format!("from=2026-11-20T10:00:00{plus}01:00"));
        assert_eq!(EventQuery::parse(&plain), EventQuery::parse(&escaped));
        assert!(EventQuery::parse("limit=+5").is_err() && EventQuery::parse("limit=05").is_err());
    }

    #[test]
    fn only_a_page_that_continues_from_a_cursor_waits() {
        let wait = |query: &str| EventQuery::parse(query).map(|query| query.wait.get());
        assert_eq!((wait(""), wait("cursor=AQ&wait=25")), (Ok(0), Ok(25)));
        assert_eq!(FeedQuery::parse("cursor=AQ&wait=7&order=asc").unwrap().page.wait.get(), 7);
        for query in ["wait=5", "wait=5&order=asc", "wait=5&cursor=AQ&order=desc"] {
            assert_eq!(faults(query), ["/wait: needs the cursor of an oldest-first page"], "{query}");
        }
        for value in ["26", "-1", "", "1.5", "+1"] {
            let query = format!("cursor=AQ&wait={value}");
            assert_eq!(faults(&query), ["/wait: must be a whole number from 0 to 25"], "{query}");
        }
    }

    #[test]
    fn a_month_becomes_a_range_and_excludes_from_and_to() {
        let range = |query: &str| SourceQuery::parse(query).map(|query| query.page.range);
        let month = range("month=2026-12").unwrap();
        assert_eq!(month, range("from=2026-12-01T00:00:00Z&to=2027-01-01T00:00:00Z").unwrap());
        let last = range("month=9999-12").unwrap();
        assert_eq!((last.from.unwrap().to_string(), last.to), ("9999-12-01T00:00:00.000Z".to_owned(), None));
        for other in ["2026", "2026-13", "2026-11-01", "2026-11-01T10", "", "x"] {
            let refused = range(&format!("month={other}")).unwrap_err().to_string();
            assert_eq!(refused, "/month: must be a month, such as 2026-11");
        }
        for bound in ["from", "to"] {
            let refused = range(&format!("month=2026-11&{bound}=2026-11-20T00:00:00Z")).unwrap_err();
            assert_eq!(refused.to_string(), "/month: must not be given with `from` or `to`");
        }
    }

    #[test]
    fn a_query_of_unknown_parameters_gets_a_short_response() {
        let query: String = (0..10_000).map(|n| format!("p{n}=&")).collect();
        assert_eq!(faults(&query).len(), crate::limits::NAMED_FIELDS + 1);
    }

    proptest! {
        #[test]
        fn any_text_is_a_query_or_an_error(text: String, near in "(limit|order|cursor|from|to|type|x)?[=&%0-9a-f]{0,20}") {
            for text in [text, near] {
                let list = ListQuery::parse(&text);
                if let Ok(list) = list {
                    let events = EventQuery::parse(&text).unwrap();
                    prop_assert_eq!((events.limit, events.cursor), (list.limit, list.cursor));
                }
            }
        }
    }
}
