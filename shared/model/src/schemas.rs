//! Schemas of the OpenAPI document for JSON that no type of this crate has as its fields.

use std::borrow::Cow;

use lately_keys::limits::CURSOR_TEXT_BYTES;
use lately_keys::{Actor, EventId, EventType, Subject, Topic, UnixMillis, schema};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::data::Data;
use crate::event::{Event, NewEvent};
use crate::issue::Issue;
use crate::limits::{BATCH_EVENTS, PAGE_SIZE, REQUESTS_PER_MINUTE, SESSION_TOPICS};
use crate::page::Page;
use crate::timeline::TimelineEvent;

/// A cursor's text, which only the reader of its list decodes.
pub(crate) struct Cursor;

schema!(Cursor, "Cursor", {
    let cursor = text(format!("^[A-Za-z0-9_-]{{1,{CURSOR_TEXT_BYTES}}}$"));
    cursor.description(Some("The position at which the next page continues. Its content is opaque."))
});

/// An event.
#[derive(ToSchema)]
#[schema(as = flat::EventJson)]
#[expect(dead_code, reason = "only its schema is used")]
struct EventJson {
    id: EventId,
    /// The time of the event, which the id contains.
    at: UnixMillis,
    #[schema(rename = "type")]
    event_type: EventType,
    actor: Actor,
    subject: Option<Subject>,
    data: Option<Data>,
}

/// An event with its topic.
#[derive(ToSchema)]
#[schema(as = flat::TimelineEventJson)]
#[expect(dead_code, reason = "only its schema is used")]
struct TimelineEventJson {
    id: EventId,
    /// The time of the event, which the id contains.
    at: UnixMillis,
    topic: Topic,
    #[schema(rename = "type")]
    event_type: EventType,
    actor: Actor,
    subject: Option<Subject>,
    data: Option<Data>,
}

/// The parameters of a source's timeline that a topic's timeline does not have.
#[derive(ToSchema)]
#[schema(as = flat::TopicAndMonth)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct TopicAndMonth {
    /// Only events of this topic.
    topic: Option<Topic>,
    /// Only events of this month. Not with `from` or `to`.
    #[schema(pattern = "^[0-9]{4}-(0[1-9]|1[0-2])$")]
    month: Option<String>,
}

/// The events of an accepted batch.
pub(crate) struct EventBatch;

schema!(EventBatch, inline, list::<Event>(1, BATCH_EVENTS));

/// A batch.
#[derive(Debug)]
pub struct NewEvents;

schema!(NewEvents, "NewEvents", list::<NewEvent>(1, BATCH_EVENTS).description(Some("A batch.")));

/// The OpenAPI document itself.
#[derive(Debug)]
pub struct OpenApiDocument;

schema!(
    OpenApiDocument,
    inline,
    ["openapi", "info", "paths"].into_iter().fold(ObjectBuilder::new(), ObjectBuilder::required)
);

/// The issues of a page.
pub(crate) struct IssuePage;

schema!(IssuePage, inline, list::<Issue>(0, PAGE_SIZE.into()));

/// The topics that a session is limited to.
pub(crate) struct SessionTopics;

schema!(SessionTopics, inline, list::<Topic>(1, SESSION_TOPICS));

/// The JSON of pages.
macro_rules! pages {
    ($($json:ident $list:ident = $item:ty;)*) => {$(
        struct $list;

        schema!($list, inline, list::<$item>(0, PAGE_SIZE.into()));

        #[derive(ToSchema)]
        #[schema(as = flat::$json)]
        #[expect(dead_code, reason = "only its schema is used")]
        pub(crate) struct $json {
            #[schema(value_type = $list)]
            events: Vec<$item>,
            /// The cursor that continues in the page's own order.
            #[schema(required)]
            next: Option<Cursor>,
            /// On newest-first pages: the cursor of later events, oldest first. Events of two seconds may come again.
            #[schema(required)]
            newer: Option<Cursor>,
            /// True if there are more entries now.
            has_more: bool,
        }
    )*};
}

pages! {
    PageJson EventList = Event;
    TimelinePageJson TimelineEventList = TimelineEvent;
}

/// True, in a field that is absent otherwise.
pub(crate) struct True;

schema!(True, inline, ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([true])));

/// The number of events of a batch.
pub(crate) struct BatchCount;

schema!(BatchCount, inline, number(1u16, u16::try_from(BATCH_EVENTS).expect("a batch is small")));

/// A problem's code.
pub(crate) struct Code;

schema!(Code, inline, utoipa::openapi::Ref::from_schema_name("Code"));

/// Gives a type the schema of another.
macro_rules! same_schema {
    ($($type:ty = $other:ty, $name:literal;)*) => {$(
        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                <$other as PartialSchema>::schema()
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                $name.into()
            }

            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                schemas.push((<$other>::name().into(), <$other>::schema()));
                <$other>::schemas(schemas);
            }
        }
    )*};
}

/// The writes that a caller may make.
pub(crate) struct WritesPerMinute;

schema!(WritesPerMinute, "WritesPerMinute", {
    let about = "The writes that the token may make in a minute; each event of a batch counts. Without limit if absent.";
    number(1u8, REQUESTS_PER_MINUTE).description(Some(about))
});

/// The reads that a caller may make.
pub(crate) struct ReadsPerMinute;

schema!(ReadsPerMinute, "ReadsPerMinute", {
    let about = "The reads that the token may make in a minute. Without limit if absent.";
    number(1u8, REQUESTS_PER_MINUTE).description(Some(about))
});

same_schema! {
    Event = EventJson, "Event";
    TimelineEvent = TimelineEventJson, "TimelineEvent";
    Page<Event> = PageJson, "Page";
    Page<TimelineEvent> = TimelinePageJson, "TimelinePage";
}
