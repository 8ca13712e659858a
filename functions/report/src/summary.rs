//! The summary: how many events each group has, and what a field of their data adds up to.
//!
//! ```text
//! {"topic":…,"consumer":…,"from":…,"to":…,"events":…,"late":…,"group_by":…,"sum":…,"not_summed":…,"groups":[
//! {"key":"ada","count":3,"sum":"30.70","numbers":2},
//! …
//! ],"others":{"count":…,"sum":…,"numbers":…}}
//! ```
//!
//! Groups stand sorted by their key, one a line; first, with the key `null`, the events that have none. `sum`,
//! `numbers` (how many numbers it is made of) and `not_summed` (how many had too many digits) are there if a field is
//! summed; `others` if there are more groups than are counted one by one ([`GROUPS`]).
//!
//! A run that goes on in a further invocation takes its counts with it: the same lines, in the file of its progress.
//!
//! What must hold: the counts of all groups, and of the others, add up to the number of events.

use std::collections::BTreeMap;

use lately_keys::UnixMillis;
use lately_keys::{Consumer, Topic};
use lately_model::{Event, GroupBy, RunSpec, SumField};
use serde::de::{DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::decimal::{Decimal, TooLong};
use crate::limits::GROUPS;

/// A summary, whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// What it is of.
    #[serde(flatten)]
    pub head: SummaryHead,
    /// The groups, by their key.
    pub groups: Vec<Group>,
    /// All events of further groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Counted>,
}

/// What a summary is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryHead {
    /// The topic.
    pub topic: Topic,
    /// Whose report it is.
    pub consumer: Consumer,
    /// Events after this were new to it.
    pub from: UnixMillis,
    /// Events up to this were there to be reported.
    pub to: UnixMillis,
    /// How many events were reported.
    pub events: u64,
    /// How many of them are older than `from`: they landed late.
    pub late: u64,
    /// What groups them.
    pub group_by: GroupBy,
    /// The field of their data that is summed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<SumField>,
    /// How many of the field's numbers had too many digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_summed: Option<u64>,
}

/// The events of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// What they have in common; none if it is that they have no subject.
    pub key: Option<Box<str>>,
    /// What they add up to.
    #[serde(flatten)]
    pub counted: Counted,
}

/// What events add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// How many there are.
    pub count: u64,
    /// What the field adds up to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<Decimal>,
    /// How many of them had a number in the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<u64>,
}

impl Counted {
    fn add(&mut self, number: Option<&Decimal>) {
        self.count += 1;
        if let (Some(sum), Some(numbers), Some(number)) = (&mut self.sum, &mut self.numbers, number) {
            *sum += number;
            *numbers += 1;
        }
    }
}

/// The counts of a run while it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tally {
    spec: RunSpec,
    most_groups: usize,
    groups: BTreeMap<Box<str>, Counted>,
    rest: Rest,
}

/// What belongs to no group of its own: the second line of a run's progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Rest {
    without_key: Option<Counted>,
    others: Option<Counted>,
    not_summed: u64,
}

impl Tally {
    pub(crate) fn new(spec: RunSpec) -> Self {
        Self { spec, most_groups: GROUPS, groups: BTreeMap::new(), rest: Rest::default() }
    }

    /// Counts an event.
    pub(crate) fn add(&mut self, event: &Event) {
        let number = match self.number(event) {
            Some(Ok(number)) => Some(number),
            Some(Err(TooLong)) => {
                self.rest.not_summed += 1;
                None
            }
            None => None,
        };
        let key = match self.spec.group_by {
            GroupBy::Actor => Some(event.actor.as_str()),
            GroupBy::Subject => event.subject.as_ref().map(AsRef::as_ref),
            GroupBy::Type => Some(event.event_type.as_str()),
        };
        self.of_key(key).add(number.as_ref());
    }

    fn number(&self, event: &Event) -> Option<Result<Decimal, TooLong>> {
        let (name, data) = (self.spec.sum.as_ref()?, event.data.as_ref()?);
        Decimal::of_json(field(data.as_str(), name.as_str())?.get())
    }

    fn of_key(&mut self, key: Option<&str>) -> &mut Counted {
        let sums = self.spec.sum.is_some();
        let new = || Counted { count: 0, sum: sums.then(Decimal::default), numbers: sums.then_some(0) };
        let Some(key) = key else { return self.rest.without_key.get_or_insert_with(new) };
        if !self.groups.contains_key(key) {
            if self.groups.len() >= self.most_groups {
                return self.rest.others.get_or_insert_with(new);
            }
            self.groups.insert(key.into(), new());
        }
        self.groups.get_mut(key).expect("it was there, or was put there")
    }

    /// The tally as lines: of its progress.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Vec<u8>> {
        let groups = self.groups.iter().map(|(key, counted)| json(&GroupRef { key: Some(key), counted }));
        std::iter::once(json(&self.rest)).chain(groups).map(|line| [line, b"\n".to_vec()].concat())
    }

    /// Takes the first of its lines.
    pub(crate) fn read_rest(&mut self, line: &[u8]) -> serde_json::Result<()> {
        self.rest = serde_json::from_slice(line)?;
        Ok(())
    }

    /// Takes another of its lines.
    pub(crate) fn read_group(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let Group { key, counted } = serde_json::from_slice(line)?;
        let key = key.ok_or_else(|| serde::de::Error::missing_field("key"))?;
        self.groups.insert(key, counted);
        Ok(())
    }

    /// The summary's file, in pieces. `head` says what it is of; its spec and what was not summed are the tally's.
    pub(crate) fn file(&self, head: SummaryHead) -> impl Iterator<Item = Vec<u8>> {
        let RunSpec { group_by, sum } = self.spec.clone();
        let not_summed = sum.is_some().then_some(self.rest.not_summed);
        let mut opening = json(&SummaryHead { group_by, sum, not_summed, ..head });
        // The object goes on: its end is what `closing` ends with.
        opening.pop();
        opening.extend_from_slice(b",\"groups\":[");
        let others =
            self.rest.others.as_ref().map(|others| [b",\"others\":".to_vec(), json(others)].concat());
        let closing = [b"\n]".to_vec(), others.unwrap_or_default(), b"}\n".to_vec()].concat();
        let without_key = self.rest.without_key.iter().map(|counted| GroupRef { key: None, counted });
        let keyed = self.groups.iter().map(|(key, counted)| GroupRef { key: Some(key), counted });
        let groups = without_key.chain(keyed).enumerate().map(|(place, group)| {
            let separator: &[u8] = if place == 0 { b"\n" } else { b",\n" };
            [separator, &json(&group)].concat()
        });
        std::iter::once(opening).chain(groups).chain([closing])
    }
}

#[derive(Serialize)]
struct GroupRef<'a> {
    key: Option<&'a str>,
    #[serde(flatten)]
    counted: &'a Counted,
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("names and numbers are JSON")
}

/// A field of data, at its top level; the last one if there are several of that name.
fn field<'a>(data: &'a str, name: &str) -> Option<&'a RawValue> {
    let mut reader = serde_json::Deserializer::from_str(data);
    // Data that is no object has no fields.
    reader.deserialize_map(Field(name)).ok()?
}

/// Looks for a field of an object.
struct Field<'n>(&'n str);

impl<'de> Visitor<'de> for Field<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(named) = fields.next_key_seed(Named(self.0))? {
            if named {
                found = Some(fields.next_value()?);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether a field has a name, whatever escapes the name is written with.
struct Named<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Named<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests;
