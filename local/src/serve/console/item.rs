//! A stored item in DynamoDB's JSON, and its size.

use std::collections::BTreeMap;

use lately_items::Item;
use lately_keys::{Key, Place, UnixMillis};
use serde::Serialize;
use serde_dynamo::AttributeValue;

/// An item with its key in the table or an index.
#[derive(Debug, Serialize)]
pub(super) struct ItemView {
    place: Stands,
    index: Option<&'static str>,
    pk: String,
    sk: String,
    attributes: BTreeMap<String, AttributeValue>,
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
        let attributes = item.attributes().iter().filter(|(name, _)| !is_key(name));
        Self {
            place: stands,
            index: at.index(),
            pk: key.pk,
            sk: key.sk,
            attributes: attributes.map(|(name, value)| (name.clone(), value.clone().into())).collect(),
            bytes: item.stored_bytes(),
            written_at: None,
        }
    }

    /// Takes the time of a write, if the write was of this item.
    pub(super) fn written(&mut self, key: &Key, at: UnixMillis) {
        if self.pk == key.pk && self.sk == key.sk {
            self.written_at = Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue as Stored;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_item_is_shown_without_its_keys_but_its_size_counts_them() {
        let item = Item::from([("pk", "EVENTS#a"), ("sk", "1"), ("s", "text")])
            .with("n", Stored::N("-12".to_owned()))
            .with("f", Stored::Bool(true));
        let key = Key { pk: "EVENTS#a".to_owned(), sk: "1".to_owned() };
        let view = ItemView::of(Stands::Event, Place::Table, key, &item);
        let expected = json!({
            "place": "event", "index": null, "pk": "EVENTS#a", "sk": "1",
            "attributes": {"s": {"S": "text"}, "n": {"N": "-12"}, "f": {"BOOL": true}},
            "written_at": null,
            // 10 + 3, 1 + 4, 1 + 3, 1 + 1
            "bytes": 24,
        });
        assert_eq!(serde_json::to_value(&view).expect("it is JSON"), expected);
    }
}
