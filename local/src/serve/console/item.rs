//! A stored item in DynamoDB's JSON, and its size.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lately_keys::{Key, Place, UnixMillis};
use serde::Serialize;
use serde_json::{Value, json};

/// An item, or its projection in an index.
pub(super) type Item = HashMap<String, AttributeValue>;

/// An item with its key in the table or an index.
#[derive(Debug, Serialize)]
pub(super) struct ItemView {
    place: Stands,
    index: Option<&'static str>,
    pk: String,
    sk: String,
    attributes: BTreeMap<String, Value>,
    bytes: usize,
    /// The time of the item's last write, if the stream still has the record of it.
    written_at: Option<UnixMillis>,
}

/// The role of an item for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Stands {
    /// The event itself.
    Event,
    /// An entry in the timeline of one of the event's sources.
    Source,
    /// An entry in a user's feed.
    Feed,
    /// An entry in an index.
    Index,
}

impl ItemView {
    pub(super) fn of(stands: Stands, at: Place, key: Key, item: &Item) -> Self {
        let is_key = |name: &str| name == at.pk() || name == at.sk();
        let attributes = item.iter().filter(|(name, _)| !is_key(name));
        Self {
            place: stands,
            index: at.index(),
            pk: key.pk,
            sk: key.sk,
            attributes: attributes.map(|(name, value)| (name.clone(), typed(value))).collect(),
            bytes: item.iter().map(|(name, value)| name.len() + size(value)).sum(),
            written_at: None,
        }
    }

    /// Takes the time of a write, if the write was of this item.
    pub(super) fn written(&mut self, pk: &str, sk: &str, at: UnixMillis) {
        if self.pk == pk && self.sk == sk {
            self.written_at = Some(at);
        }
    }
}

/// A value with its type.
fn typed(value: &AttributeValue) -> Value {
    let base64 = |blob: &Blob| STANDARD.encode(blob);
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(digits) => json!({"N": digits}),
        AttributeValue::Bool(flag) => json!({"BOOL": flag}),
        AttributeValue::B(blob) => json!({"B": base64(blob)}),
        AttributeValue::Ss(texts) => json!({"SS": texts}),
        AttributeValue::Ns(numbers) => json!({"NS": numbers}),
        AttributeValue::Bs(blobs) => json!({"BS": blobs.iter().map(base64).collect::<Vec<_>>()}),
        AttributeValue::L(list) => json!({"L": list.iter().map(typed).collect::<Vec<_>>()}),
        AttributeValue::M(map) => {
            json!({"M": map.iter().map(|(name, value)| (name, typed(value))).collect::<BTreeMap<_, _>>()})
        }
        // Null is the only other type of DynamoDB.
        _ => json!({"NULL": true}),
    }
}

/// The bytes of a value as DynamoDB counts them. The size of a number is approximate.
fn size(value: &AttributeValue) -> usize {
    let number = |digits: &str| digits.len().div_ceil(2) + 1;
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(digits) => number(digits),
        AttributeValue::B(blob) => blob.as_ref().len(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(numbers) => numbers.iter().map(|digits| number(digits)).sum(),
        AttributeValue::Bs(blobs) => blobs.iter().map(|blob| blob.as_ref().len()).sum(),
        AttributeValue::L(list) => 3 + list.iter().map(|value| 1 + size(value)).sum::<usize>(),
        AttributeValue::M(map) => {
            3 + map.iter().map(|(name, value)| 1 + name.len() + size(value)).sum::<usize>()
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_shown_without_its_keys_but_its_size_counts_them() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let map = AttributeValue::M(HashMap::from([("k".to_owned(), AttributeValue::Bool(true))]));
        let item = Item::from([
            ("pk".to_owned(), text("EVENTS#a")),
            ("sk".to_owned(), text("1")),
            ("n".to_owned(), AttributeValue::N("-12".to_owned())),
            ("b".to_owned(), AttributeValue::B(Blob::new([0, 1]))),
            ("l".to_owned(), AttributeValue::L(vec![map, AttributeValue::Null(true)])),
        ]);
        let key = Key { pk: "EVENTS#a".to_owned(), sk: "1".to_owned() };
        let view = ItemView::of(Stands::Event, Place::Table, key, &item);
        let expected = json!({
            "place": "event", "index": null, "pk": "EVENTS#a", "sk": "1",
            "attributes": {
                "n": {"N": "-12"}, "b": {"B": "AAE="}, "l": {"L": [{"M": {"k": {"BOOL": true}}}, {"NULL": true}]},
            },
            "written_at": null,
            // 10 + 3, 1 + 3, 1 + 2, 1 + 3 + (1 + 3 + 1 + 1 + 1) + (1 + 1)
            "bytes": 33,
        });
        assert_eq!(serde_json::to_value(&view).expect("it is JSON"), expected);
    }
}
