//! Events in requests and responses.

use lately_keys::{Actor, EventId, EventType, Subject, Topic, UnixMillis};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::data::Data;
use crate::fault::{FaultList, Pointer};
use crate::fields;
use crate::times::AcceptedTimes;

/// An event that a client sends: `{"type","actor","subject"?,"data"?,"at"?}`.
///
/// Optional members may be omitted. `null` does not omit one: it is only valid as `data`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct NewEvent {
    /// The kind of event.
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// The actor who did it.
    pub actor: Actor,
    /// The subject that it was done to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// Any JSON, nested at most 60 levels deep. Responses return it as it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Data>,
    /// The time of the event; the default is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<UnixMillis>,
}

impl NewEvent {
    /// Parses one event, and adds its faults to `found`.
    pub(crate) fn read(
        json: &RawValue,
        pointer: &Pointer,
        times: AcceptedTimes,
        found: &mut FaultList,
    ) -> Option<Self> {
        let names = ["type", "actor", "subject", "data", "at"];
        let [event_type, actor, subject, data, at] = fields::of_object(json, pointer, names, found)?;
        let event_type = event_type.required(found).text(found);
        let actor = actor.required(found).text(found);
        let subject = subject.text(found);
        let data = data
            .value
            .and_then(|json| Data::from_body(json).map_err(|refused| data.fault(found, refused)).ok());
        let time = at.text(found);
        if let Some(Err(refused)) = time.map(|time| times.check(time)) {
            at.fault(found, refused);
        }
        // A time slightly in the future comes from a clock that runs ahead. The event then gets the time of its
        // writing.
        let at = time.filter(|time| *time <= times.now());
        Some(Self { event_type: event_type?, actor: actor?, subject, data, at })
    }
}

/// An event as the table holds it. Its JSON is `{"id","at","type","actor","subject"?,"data"?}`.
///
/// ```
/// use lately_model::Event;
///
/// let event = Event {
///     id: "0190868b-57e7-7000-80c0-0dd011ec70b5".parse()?,
///     event_type: "post.created".parse()?,
///     actor: "ada".parse()?,
///     subject: None,
///     data: Some(r#"{"words": 1.10}"#.parse()?),
/// };
/// let json = concat!(
///     r#"{"id":"0190868b-57e7-7000-80c0-0dd011ec70b5","at":"2024-07-06T05:36:37.351Z","#,
///     r#""type":"post.created","actor":"ada","data":{"words": 1.10}}"#,
/// );
/// assert_eq!(serde_json::to_string(&event)?, json);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The id: its name, its position and its time.
    pub id: EventId,
    /// The kind of event.
    pub event_type: EventType,
    /// The actor who did it.
    pub actor: Actor,
    /// The subject that it was done to.
    pub subject: Option<Subject>,
    /// Any further data.
    pub data: Option<Data>,
}

impl Event {
    /// An event as it was sent, with the id that it was given.
    pub fn of(new: NewEvent, id: EventId) -> Self {
        let NewEvent { event_type, actor, subject, data, at: _ } = new;
        Self { id, event_type, actor, subject, data }
    }

    /// When it happened.
    pub fn at(&self) -> UnixMillis {
        self.id.at()
    }

    /// The event's JSON. It includes the topic in a timeline that holds several topics' events.
    pub(crate) fn serialize_of<S: Serializer>(
        &self,
        topic: Option<&Topic>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let optional = [topic.is_some(), self.subject.is_some(), self.data.is_some()];
        let optional = optional.into_iter().filter(|given| *given).count();
        let mut event = serializer.serialize_struct("Event", 4 + optional)?;
        event.serialize_field("id", &self.id)?;
        event.serialize_field("at", &self.at())?;
        if let Some(topic) = topic {
            event.serialize_field("topic", topic)?;
        }
        event.serialize_field("type", &self.event_type)?;
        event.serialize_field("actor", &self.actor)?;
        if let Some(subject) = &self.subject {
            event.serialize_field("subject", subject)?;
        }
        if let Some(data) = &self.data {
            event.serialize_field("data", data)?;
        }
        event.end()
    }

    /// An event of JSON, and its topic if the JSON has one. The time is in the id.
    pub(crate) fn deserialize_of<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<(Option<Topic>, Self), D::Error> {
        #[derive(Deserialize)]
        struct EventFields {
            id: EventId,
            topic: Option<Topic>,
            #[serde(rename = "type")]
            event_type: EventType,
            actor: Actor,
            subject: Option<Subject>,
            #[serde(default, deserialize_with = "present")]
            data: Option<Data>,
        }
        let EventFields { id, topic, event_type, actor, subject, data } =
            EventFields::deserialize(deserializer)?;
        Ok((topic, Self { id, event_type, actor, subject, data }))
    }
}

/// The data of an event that has data: `null` is data too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Data>, D::Error> {
    Data::deserialize(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize_of(deserializer).map(|(_, event)| event)
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize_of(None, serializer)
    }
}
