//! One stream record: an item's change, as DynamoDB Streams reports it.
//!
//! A record stores its images as the DynamoDB JSON that is delivered. So a change is serialised once, when it is
//! captured, and each delivery only copies text.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A record's position in the order of all changes. The numbers begin at 1 and increase strictly, over all shards and
/// tables.
///
/// The text has 21 digits, the fewest that DynamoDB uses, so text order is number order. Files hold the number itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct SequenceNumber(pub u64);

/// The summand that gives the text of a sequence number its 21 digits.
const SEQUENCE_BASE: u128 = 100_000_000_000_000_000_000;

impl SequenceNumber {
    /// The position before every record.
    pub const START: Self = Self(0);
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", SEQUENCE_BASE + u128::from(self.0))
    }
}

/// The text is not a sequence number of this engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a sequence number: {0:?}")]
pub struct InvalidSequenceNumber(String);

impl FromStr for SequenceNumber {
    type Err = InvalidSequenceNumber;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.len() == 21 && text.bytes().all(|b| b.is_ascii_digit());
        let number = digits.then(|| text.parse::<u128>().ok()).flatten();
        number
            .and_then(|number| number.checked_sub(SEQUENCE_BASE))
            .and_then(|number| u64::try_from(number).ok())
            .map(Self)
            .ok_or_else(|| InvalidSequenceNumber(text.to_owned()))
    }
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EventName {
    /// The item was created.
    Insert,
    /// The item changed.
    Modify,
    /// The item was removed.
    Remove,
}

/// A captured change.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// The record's position in the order of changes.
    #[serde(rename = "seq")]
    pub sequence: SequenceNumber,
    /// The kind of the change.
    #[serde(rename = "event")]
    pub event: EventName,
    /// The time of the change, in microseconds since the Unix epoch.
    #[serde(rename = "at")]
    pub at_micros: u64,
    /// True if the TTL service removed the item, false if a client did.
    #[serde(rename = "ttl", default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// The size of keys and images in DynamoDB's count of bytes.
    #[serde(rename = "size")]
    pub size_bytes: u64,
    pub(crate) keys: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) new: Option<Box<RawValue>>,
}

impl Record {
    /// The item's key.
    pub fn keys(&self) -> HashMap<String, AttributeValue> {
        item(&self.keys)
    }

    /// The item before the change, if the stream's view includes it.
    pub fn old_image(&self) -> Option<HashMap<String, AttributeValue>> {
        self.old.as_deref().map(item)
    }

    /// The item after the change, if the stream's view includes it.
    pub fn new_image(&self) -> Option<HashMap<String, AttributeValue>> {
        self.new.as_deref().map(item)
    }
}

/// An item in the SDK's types.
fn item(image: &RawValue) -> HashMap<String, AttributeValue> {
    let item: serde_dynamo::Item =
        serde_json::from_str(image.get()).expect("the engine captures images as DynamoDB JSON");
    item.into()
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_type_is_read() {
        let json = r#"{"s":{"S":"x"},"n":{"N":"1"},"b":{"B":"AAE="},"t":{"BOOL":true},"z":{"NULL":true},
            "ss":{"SS":["a"]},"ns":{"NS":["1"]},"bs":{"BS":["AA=="]},"l":{"L":[{"S":"y"}]},"m":{"M":{"k":{"N":"2"}}}}"#;
        let item = item(&RawValue::from_string(json.to_owned()).unwrap());
        let number = AttributeValue::N("2".into());
        let expected = HashMap::from([
            ("s", AttributeValue::S("x".into())),
            ("n", AttributeValue::N("1".into())),
            ("b", AttributeValue::B(Blob::new([0, 1]))),
            ("t", AttributeValue::Bool(true)),
            ("z", AttributeValue::Null(true)),
            ("ss", AttributeValue::Ss(vec!["a".into()])),
            ("ns", AttributeValue::Ns(vec!["1".into()])),
            ("bs", AttributeValue::Bs(vec![Blob::new([0])])),
            ("l", AttributeValue::L(vec![AttributeValue::S("y".into())])),
            ("m", AttributeValue::M(HashMap::from([("k".into(), number)]))),
        ]);
        let expected: HashMap<_, _> = expected.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        assert_eq!(item, expected);
    }

    proptest! {
        #[test]
        fn sequence_numbers_survive_their_text_and_keep_their_order(a: u64, b: u64) {
            let (a, b) = (SequenceNumber(a), SequenceNumber(b));
            prop_assert_eq!(a.to_string().parse(), Ok(a));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn other_text_is_refused(text in "[0-9+-]{0,25}") {
            if let Ok(sequence) = text.parse::<SequenceNumber>() {
                prop_assert_eq!(sequence.to_string(), text);
            }
        }
    }
}
