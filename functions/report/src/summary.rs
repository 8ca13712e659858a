//! The summary: the number of events of each group, and the sum of a field of their data.
//!
//! ```text
//! {"topic":…,"consumer":…,"from":…,"to":…,"events":…,"late":…,"group_by":…,"sum":…,"not_summed":…,"groups":[
//! {"key":"ada","count":3,"sum":"30.70","numbers":2},
//! …
//! ],"others":{"count":…,"sum":…,"numbers":…}}
//! ```
//!
//! Groups are sorted by key, one per line. The group of events without a key comes first, with the key `null`. If a
//! field is summed, `sum`, `numbers` (the number of summed numbers) and `not_summed` (the number of numbers with too
//! many digits) are present. `others` is present if there are more groups than are counted individually ([`GROUPS`]).
//!
//! A run that continues in a later invocation continues its counts: its progress contains the same lines.
//!
//! Invariant: the counts of all groups, and of the others, add up to the number of events.

use std::collections::BTreeMap;

use lately_keys::UnixMillis;
use lately_keys::{Consumer, Topic};
use lately_model::{Event, GroupBy, RunSpec, SumField};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::decimal::{Decimal, TooLong};
use crate::limits::GROUPS;

/// A complete summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The report's topic, range and totals.
    #[serde(flatten)]
    pub head: SummaryHead,
    /// The groups, sorted by key.
    pub groups: Vec<Group>,
    /// The counts of all further groups' events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Counted>,
}

/// The report's topic, range and totals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryHead {
    /// The topic.
    pub topic: Topic,
    /// The consumer that reports.
    pub consumer: Consumer,
    /// The start of the run's range: events after this time are new.
    pub from: UnixMillis,
    /// The end of the run's range: events up to this time are included.
    pub to: UnixMillis,
    /// The number of reported events.
    pub events: u64,
    /// The number of events among them that are older than `from`, because they arrived late.
    pub late: u64,
    /// The field by which they are grouped.
    pub group_by: GroupBy,
    /// The field of their data that is summed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<SumField>,
    /// The number of the field's numbers that had too many digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_summed: Option<u64>,
}

/// The events of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The value that they share; none for events without a subject.
    pub key: Option<Box<str>>,
    /// Their counts.
    #[serde(flatten)]
    pub counted: Counted,
}

/// The counts of some events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The number of events.
    pub count: u64,
    /// The sum of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<Decimal>,
    /// The number of events with a number in the field.
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

/// The counts of a run while it reads events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tally {
    spec: RunSpec,
    most_groups: usize,
    groups: BTreeMap<Box<str>, Counted>,
    rest: Rest,
}

/// The counts outside the individual groups: the second line of a run's progress.
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
            GroupBy::Subject => event.subject.as_ref().map(|subject| subject.as_str()),
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

    /// The tally as lines of a run's progress.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Vec<u8>> {
        let groups = self.groups.iter().map(|(key, counted)| json(&GroupRef { key: Some(key), counted }));
        std::iter::once(json(&self.rest)).chain(groups).map(|line| [line, b"\n".to_vec()].concat())
    }

    /// Parses the first of those lines.
    pub(crate) fn read_rest(&mut self, line: &[u8]) -> serde_json::Result<()> {
        self.rest = serde_json::from_slice(line)?;
        Ok(())
    }

    /// Parses one of the other lines.
    pub(crate) fn read_group(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let Group { key, counted } = serde_json::from_slice(line)?;
        let key = key.ok_or_else(|| serde::de::Error::missing_field("key"))?;
        self.groups.insert(key, counted);
        Ok(())
    }

    /// The summary's file, in pieces. `head` gives the topic, the range and the totals; the tally sets `group_by`,
    /// `sum` and `not_summed`.
    pub(crate) fn file(&self, head: SummaryHead) -> impl Iterator<Item = Vec<u8>> {
        let RunSpec { group_by, sum } = self.spec.clone();
        let not_summed = sum.is_some().then_some(self.rest.not_summed);
        let mut opening = json(&SummaryHead { group_by, sum, not_summed, ..head });
        // Removes the object's closing brace, which `closing` ends with.
        opening.pop();
        opening.extend_from_slice(b",\"groups\":[");
        let others =
            self.rest.others.as_ref().map(|others| [b",\"others\":".to_vec(), json(others)].concat());
        let closing = [b"\n]".to_vec(), others.unwrap_or_default(), b"}\n".to_vec()].concat();
        let without_key = self.rest.without_key.iter().map(|counted| GroupRef { key: None, counted });
        let keyed = self.groups.iter().map(|(key, counted)| GroupRef { key: Some(key), counted });
        let groups = without_key.chain(keyed).enumerate().map(|(index, group)| {
            let separator: &[u8] = if index == 0 { b"\n" } else { b",\n" };
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

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("names and numbers are JSON")
}

/// A top-level field of data; the last one if the name is repeated. Data that is not an object has no fields.
fn field<'a>(data: &'a str, name: &str) -> Option<&'a RawValue> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(data).ok()?;
    fields.get(name).copied()
}

#[cfg(test)]
mod tests;
