//! A table with a stream, and short forms of values, items and keys.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_engine::{Attribute, KeyNames, StreamView, TableDefinition};

pub(crate) const TABLE: &str = "lately";

/// 2026-01-01T00:00:00Z.
pub(crate) const START: Duration = Duration::from_secs(1_767_225_600);

pub(crate) fn definition() -> TableDefinition {
    let attribute = |name: &str| Attribute { name: name.to_owned(), kind: "S".to_owned() };
    TableDefinition {
        attributes: vec![attribute("pk"), attribute("sk")],
        key: KeyNames { partition: "pk".to_owned(), sort: Some("sk".to_owned()) },
        indexes: Vec::new(),
        ttl_attribute: Some("expires_at".to_owned()),
        stream: Some(StreamView::NewAndOldImages),
    }
}

pub(crate) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn key(pk: &str, sk: &str) -> HashMap<String, AttributeValue> {
    HashMap::from([("pk".to_owned(), s(pk)), ("sk".to_owned(), s(sk))])
}

pub(crate) fn item<const N: usize>(
    pk: &str,
    sk: &str,
    more: [(&str, AttributeValue); N],
) -> HashMap<String, AttributeValue> {
    let mut item = key(pk, sk);
    item.extend(more.map(|(name, value)| (name.to_owned(), value)));
    item
}
