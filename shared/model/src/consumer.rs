//! Consumers: the bodies that clients send, and the views that they get.

use std::fmt;
use std::str::FromStr;

use lately_keys::{EventId, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::body::{self, BodyError};
use crate::bounded::bounded;
use crate::event::Event;
use crate::limits::{POLL_EVENTS, POLL_EVENTS_DEFAULT, SETTLE_SECONDS, SETTLE_SECONDS_DEFAULT};
use crate::revision::Revision;

/// The position at which a new consumer begins to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// At the oldest event.
    Earliest,
    /// At the events that are written from now on.
    #[default]
    Latest,
    /// At the first event at this time or after it.
    Time(UnixMillis),
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Earliest => f.write_str("earliest"),
            Self::Latest => f.write_str("latest"),
            Self::Time(at) => at.fmt(f),
        }
    }
}

/// The text is no start of a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be earliest, latest, or a time in RFC 3339")]
pub struct StartError;

impl FromStr for Start {
    type Err = StartError;

    fn from_str(text: &str) -> Result<Self, StartError> {
        match text {
            "earliest" => Ok(Self::Earliest),
            "latest" => Ok(Self::Latest),
            time => UnixMillis::parse_bound(time).map(Self::Time).map_err(|_| StartError),
        }
    }
}

bounded! {
    /// The number of seconds that a consumer stays behind the present, so that writes under way can arrive: 0 to 3,600,
    /// default 10.
    SettleSeconds(u16): 0..=SETTLE_SECONDS, default SETTLE_SECONDS_DEFAULT;
    /// The number of seconds is too high.
    SettleSecondsError = "must be a whole number from {} to {}";
}

impl SettleSeconds {
    /// The same time in milliseconds.
    pub fn millis(self) -> u64 {
        u64::from(self.0) * 1000
    }
}

/// The body of `PUT /topics/{topic}/consumers/{name}`: `{"start"?,"settle_seconds"?}`.
///
/// ```
/// use lately_model::{NewConsumer, Start};
///
/// let consumer = NewConsumer::parse(br#"{"start": "earliest"}"#)?;
/// assert_eq!((consumer.start, consumer.settle_seconds), (Start::Earliest, None));
/// assert_eq!(NewConsumer::parse(b"")?, NewConsumer::default());
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct NewConsumer {
    /// The position at which a new consumer begins: the oldest event, now, or a time.
    pub start: Start,
    /// The seconds that the consumer stays behind now, so that writes under way can arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle_seconds: Option<SettleSeconds>,
}

impl NewConsumer {
    /// Reads a body. An empty body means the same as `{}`.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::object_or_empty(body, ["start", "settle_seconds"], |[start, settle], found| {
            let start = start.text(found).unwrap_or_default();
            Some(Self { start, settle_seconds: settle.json(SettleSecondsError, found) })
        })
    }
}

bounded! {
    /// The most events that a poll may return, late ones included: 1 to 1,000, default 100.
    PollLimit(u16): 1..=POLL_EVENTS, default POLL_EVENTS_DEFAULT;
    /// The number of events is too low or too high.
    PollLimitError = "must be a whole number from {} to {}";
}

/// The body of a poll: `{"limit"?}`.
///
/// ```
/// use lately_model::PollRequest;
///
/// assert_eq!(PollRequest::parse(br#"{"limit": 10}"#)?.limit.get(), 10);
/// assert_eq!(PollRequest::parse(b"")?.limit.get(), 100);
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = Poll))]
pub struct PollRequest {
    /// The most events of the batch, late events included.
    pub limit: PollLimit,
}

impl PollRequest {
    /// Reads a body. An empty body means the same as `{}`.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::object_or_empty(body, ["limit"], |[limit], found| {
            Some(Self { limit: limit.json(PollLimitError, found).unwrap_or_default() })
        })
    }
}

/// The name of a batch: the consumer's incarnation and its revision. A consumer that is deleted and created again under
/// its old name gets another incarnation.
///
/// ```
/// use lately_model::BatchToken;
///
/// let batch: BatchToken = "6608a9d1c4000-6608a9d1c4007".parse()?;
/// assert_eq!(batch.to_string(), "6608a9d1c4000-6608a9d1c4007");
/// assert!("6608A9D1C4000-7".parse::<BatchToken>().is_err());
/// # Ok::<(), lately_model::BatchTokenError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchToken {
    incarnation: Revision,
    revision: Revision,
}

/// The text names no batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a batch name as a poll returned it")]
pub struct BatchTokenError;

impl BatchToken {
    /// The batch that a poll returned with this revision of the consumer.
    pub const fn new(incarnation: Revision, revision: Revision) -> Self {
        Self { incarnation, revision }
    }
}

impl fmt::Display for BatchToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x}", self.incarnation.get(), self.revision.get())
    }
}

impl FromStr for BatchToken {
    type Err = BatchTokenError;

    fn from_str(text: &str) -> Result<Self, BatchTokenError> {
        let (incarnation, revision) = text.split_once('-').ok_or(BatchTokenError)?;
        let number = |hex| u64::from_str_radix(hex, 16).map(Revision::new).map_err(|_| BatchTokenError);
        let batch = Self::new(number(incarnation)?, number(revision)?);
        // Each batch has only one valid text.
        if batch.to_string() == text { Ok(batch) } else { Err(BatchTokenError) }
    }
}

lately_keys::serde_as_text!(Start, BatchToken, SeekTo);
lately_keys::schema!(Start, inline, {
    let word = words(["earliest", "latest"]);
    utoipa::openapi::schema::AnyOfBuilder::new().item(word).item(reference::<UnixMillis>())
});
lately_keys::schema!(SeekTo, inline, {
    let word = words(["earliest", "latest"]);
    utoipa::openapi::schema::AnyOfBuilder::new()
        .item(word)
        .item(reference::<UnixMillis>())
        .item(reference::<EventId>())
});
lately_keys::schema!(BatchToken, "BatchToken", {
    let number = "(0|[1-9a-f][0-9a-f]{0,15})";
    text(format!("^{number}-{number}$")).description(Some("The name of a batch. Its content is opaque."))
});

/// The body of a commit: `{"batch"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Commit {
    /// The batch that the client has processed.
    pub batch: BatchToken,
}

impl Commit {
    /// Reads a body.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::object(body, ["batch"], |[batch], found| {
            Some(Self { batch: batch.required(found).text(found)? })
        })
    }
}

/// The position to which a client moves a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekTo {
    /// A position at which a new consumer could begin.
    Start(Start),
    /// After this event.
    Event(EventId),
}

impl fmt::Display for SeekTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(start) => start.fmt(f),
            Self::Event(id) => id.fmt(f),
        }
    }
}

/// The text names no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be earliest, latest, a time in RFC 3339, or the id of an event")]
pub struct SeekToError;

impl FromStr for SeekTo {
    type Err = SeekToError;

    fn from_str(text: &str) -> Result<Self, SeekToError> {
        let id = text.parse().map(Self::Event);
        id.or_else(|_| text.parse().map(Self::Start)).map_err(|_| SeekToError)
    }
}

/// The body of a seek: `{"to"}`.
///
/// ```
/// use lately_model::{Seek, SeekTo, Start};
///
/// assert_eq!(Seek::parse(br#"{"to": "latest"}"#)?.to, SeekTo::Start(Start::Latest));
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Seek {
    /// The position to continue from.
    pub to: SeekTo,
}

impl Seek {
    /// Reads a body.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::object(body, ["to"], |[to], found| Some(Self { to: to.required(found).text(found)? }))
    }
}

/// A consumer: `{"position","outstanding","lag_seconds","late","late_more"?,"settle_seconds"}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = Consumer))]
pub struct ConsumerView {
    /// All events at or before this position are committed.
    #[cfg_attr(feature = "document", schema(required))]
    pub position: Option<EventId>,
    /// The batch that was returned and is not committed.
    #[cfg_attr(feature = "document", schema(required))]
    pub outstanding: Option<BatchToken>,
    /// The age of the oldest event that is not committed.
    pub lag_seconds: u64,
    /// The number of events that arrived behind the position and are not committed.
    pub late: u64,
    /// True if one request could not count all late events; absent otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::True>))]
    pub late_more: bool,
    /// The time that it stays behind the present.
    pub settle_seconds: SettleSeconds,
}

/// The response to a poll: `{"batch","events","late","caught_up"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Polled {
    /// The batch to commit; null if there are no events.
    #[cfg_attr(feature = "document", schema(required))]
    pub batch: Option<BatchToken>,
    /// The next events, oldest first.
    pub events: Vec<Event>,
    /// The events that arrived behind the position, oldest first. The list may repeat an event.
    pub late: Vec<Event>,
    /// True if there are no more events up to `settle_seconds` ago. False for a batch that is returned again.
    pub caught_up: bool,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "0190868b-57e7-7000-80c0-0dd011ec70b5";

    fn faults<T: fmt::Debug>(parsed: Result<T, BodyError>) -> String {
        match parsed {
            Err(BodyError::Invalid(faults)) => faults.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_consumer_starts_with_new_events_by_default() {
        for body in ["", " ", "{}", r#"{"start":"latest"}"#] {
            assert_eq!(NewConsumer::parse(body.as_bytes()).unwrap(), NewConsumer::default(), "{body}");
        }
        let body = br#"{"start":"2026-11-21T03:15:00.0001Z","settle_seconds":3600}"#;
        let at = "2026-11-21T03:15:00.001Z".parse().unwrap();
        let settle_seconds = Some(SettleSeconds::new(3_600).unwrap());
        assert_eq!(NewConsumer::parse(body).unwrap(), NewConsumer { start: Start::Time(at), settle_seconds });
        assert_eq!(
            faults(NewConsumer::parse(br#"{"start":"now","settle_seconds":3601,"x":1}"#)),
            "/x: is not a known field; /start: must be earliest, latest, or a time in RFC 3339; \
             /settle_seconds: must be a whole number from 0 to 3600"
        );
        for wrong in ["-1", "1.5", "\"10\"", "null", "65536"] {
            let body = format!(r#"{{"settle_seconds":{wrong}}}"#);
            assert!(faults(NewConsumer::parse(body.as_bytes())).starts_with("/settle_seconds:"), "{wrong}");
        }
    }

    #[test]
    fn a_poll_returns_1_to_1000_events_default_100() {
        for (body, limit) in [("", 100), ("{}", 100), (r#"{"limit":1}"#, 1), (r#"{"limit":1000}"#, 1_000)] {
            assert_eq!(PollRequest::parse(body.as_bytes()).unwrap().limit.get(), limit, "{body}");
        }
        for wrong in ["0", "1001", "\"5\"", "null"] {
            let body = format!(r#"{{"limit":{wrong}}}"#);
            let refused = faults(PollRequest::parse(body.as_bytes()));
            assert_eq!(refused, "/limit: must be a whole number from 1 to 1000", "{wrong}");
        }
        assert!(matches!(PollRequest::parse(b"{"), Err(BodyError::Malformed(_))));
    }

    #[test]
    fn a_commit_names_its_batch() {
        let batch = BatchToken::new(Revision::new(16), Revision::new(255));
        assert_eq!(Commit::parse(br#"{"batch":"10-ff"}"#).unwrap().batch, batch);
        assert_eq!(faults(Commit::parse(b"{}")), "/batch: must be given");
        for wrong in
            ["", "-", "10", "10-", "-ff", "10-FF", "+10-ff", "010-ff", "10-ff-1", "10000000000000000-1"]
        {
            let body = format!(r#"{{"batch":"{wrong}"}}"#);
            let refused = faults(Commit::parse(body.as_bytes()));
            assert_eq!(refused, "/batch: must be a batch name as a poll returned it", "{wrong}");
        }
    }

    #[test]
    fn a_seek_moves_to_an_end_a_time_or_an_event() {
        let to = |text: &str| Seek::parse(format!(r#"{{"to":"{text}"}}"#).as_bytes()).map(|seek| seek.to);
        assert_eq!(to("earliest").unwrap(), SeekTo::Start(Start::Earliest));
        assert_eq!(to("latest").unwrap(), SeekTo::Start(Start::Latest));
        assert_eq!(to("1970-01-01T00:00:00Z").unwrap(), SeekTo::Start(Start::Time(UnixMillis::MIN)));
        assert_eq!(to(ID).unwrap(), SeekTo::Event(ID.parse().unwrap()));
        let refused = "/to: must be earliest, latest, a time in RFC 3339, or the id of an event";
        assert_eq!(faults(to("yesterday")), refused);
        assert_eq!(faults(Seek::parse(b"{}")), "/to: must be given");
    }

    #[test]
    fn views_are_written_as_the_contract_says() {
        let batch = Some(BatchToken::new(Revision::new(10), Revision::new(11)));
        let view = ConsumerView {
            position: Some(ID.parse().unwrap()),
            outstanding: batch,
            lag_seconds: 7,
            late: 2,
            late_more: false,
            settle_seconds: SettleSeconds::default(),
        };
        let json = format!(
            r#"{{"position":"{ID}","outstanding":"a-b","lag_seconds":7,"late":2,"settle_seconds":10}}"#
        );
        assert_eq!(serde_json::to_string(&view).unwrap(), json);
        let more = serde_json::to_string(&ConsumerView { late_more: true, ..view }).unwrap();
        assert_eq!(more, json.replace(r#""late":2"#, r#""late":2,"late_more":true"#));
        let nothing = Polled { batch: None, events: vec![], late: vec![], caught_up: true };
        let json = r#"{"batch":null,"events":[],"late":[],"caught_up":true}"#;
        assert_eq!(serde_json::to_string(&nothing).unwrap(), json);
    }

    proptest! {
        #[test]
        fn every_batch_parses_from_its_text(incarnation: u64, revision: u64) {
            let batch = BatchToken::new(Revision::new(incarnation), Revision::new(revision));
            prop_assert_eq!(batch.to_string().parse(), Ok(batch));
        }

        #[test]
        fn any_text_is_a_batch_or_an_error(text in "[0-9a-fA-F+-]{0,40}") {
            if let Ok(batch) = text.parse::<BatchToken>() {
                prop_assert_eq!(batch.to_string(), text);
            }
        }
    }
}
