//! Turns an item of the imported table into an event. Pure.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_designs::{self as designs, Design, PublishedError, WriteKey};
use lately_keys::{Actor, EventType, ShardCount, Subject};
use lately_model::limits::EVENT_BYTES;
use lately_model::{Data, DataError, Event};

use crate::json::{Json, object};

/// The attributes of an item that become the fields of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) event_type: ValueSource<EventType>,
    pub(crate) actor: ValueSource<Actor>,
    pub(crate) subject_from: Option<String>,
    /// If `None`, the data is an object of all attributes that become no other field.
    pub(crate) data_from: Option<String>,
}

/// A value for all events, or the name of the attribute that holds each event's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueSource<T> {
    Always(T),
    Attribute(String),
}

/// An item that cannot become an event of Lately.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {why}", key = KeyText(key))]
pub struct Invalid {
    key: WriteKey,
    why: Why,
}

/// Why an item cannot become an event of Lately.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Why {
    #[error("the item has no {0}")]
    Missing(String),
    #[error("the item's {0} is neither a string nor a number")]
    NoText(String),
    #[error("the item's {attribute}: {fault}")]
    Name { attribute: String, fault: String },
    #[error("the item's data: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the item's data {0}")]
    Data(#[from] DataError),
    #[error("the item's data is larger than {} KiB", EVENT_BYTES >> 10)]
    TooLarge,
    #[error("the item's key: {0}")]
    Key(#[from] PublishedError),
    #[error("the item is older than the topic's retention")]
    TooOld,
}

/// A key as text: the partition key and the sort key.
struct KeyText<'a>(&'a WriteKey);

impl fmt::Display for KeyText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {}", self.0.pk, self.0.sk)
    }
}

impl Invalid {
    pub(crate) fn new(key: &WriteKey, why: Why) -> Self {
        Self { key: key.clone(), why }
    }
}

impl Mapping {
    /// The event that an item of a design becomes. The number of shards determines the event's id.
    pub(crate) fn event(
        &self,
        item: &designs::Event,
        design: &Design,
        shards: ShardCount,
    ) -> Result<Event, Invalid> {
        self.read(item, design, shards).map_err(|why| Invalid::new(&item.key, why))
    }

    fn read(&self, item: &designs::Event, design: &Design, shards: ShardCount) -> Result<Event, Why> {
        let attributes = item.attributes.attributes();
        Ok(Event {
            id: design.event_id(&item.key, shards)?,
            event_type: self.event_type.read(attributes)?,
            actor: self.actor.read(attributes)?,
            subject: match &self.subject_from {
                None => None,
                Some(name) => parsed::<Subject>(attributes, name)?,
            },
            data: self.data(attributes)?,
        })
    }

    fn data(&self, attributes: &HashMap<String, AttributeValue>) -> Result<Option<Data>, Why> {
        let json = match &self.data_from {
            Some(name) => {
                let Some(value) = attributes.get(name) else { return Ok(None) };
                serde_json::to_string(&Json(value))?
            }
            None => {
                let mut rest = object(attributes);
                let used =
                    [self.event_type.attribute(), self.actor.attribute(), self.subject_from.as_deref()];
                for name in used.into_iter().flatten() {
                    rest.remove(name);
                }
                if rest.is_empty() {
                    return Ok(None);
                }
                serde_json::to_string(&rest)?
            }
        };
        if json.len() > EVENT_BYTES { Err(Why::TooLarge) } else { Ok(Some(json.parse()?)) }
    }
}

impl<T> ValueSource<T> {
    fn attribute(&self) -> Option<&str> {
        match self {
            Self::Always(_) => None,
            Self::Attribute(name) => Some(name),
        }
    }
}

impl<T: Clone + FromStr<Err: fmt::Display>> ValueSource<T> {
    fn read(&self, attributes: &HashMap<String, AttributeValue>) -> Result<T, Why> {
        match self {
            Self::Always(value) => Ok(value.clone()),
            Self::Attribute(name) => parsed(attributes, name)?.ok_or_else(|| Why::Missing(name.clone())),
        }
    }
}

/// Parses the text of an attribute, if the item has the attribute.
fn parsed<T: FromStr<Err: fmt::Display>>(
    attributes: &HashMap<String, AttributeValue>,
    name: &str,
) -> Result<Option<T>, Why> {
    let text = match attributes.get(name) {
        None => return Ok(None),
        Some(AttributeValue::S(text) | AttributeValue::N(text)) => text,
        Some(_) => return Err(Why::NoText(name.to_owned())),
    };
    let value = text
        .parse()
        .map_err(|fault: T::Err| Why::Name { attribute: name.to_owned(), fault: fault.to_string() });
    value.map(Some)
}
