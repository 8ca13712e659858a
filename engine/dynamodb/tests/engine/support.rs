//! A table like the project's, and short forms of values, items and keys.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_engine::{
    Attribute, Clock, Engine, IndexDefinition, KeyNames, Options, Projection, StreamView, TableDefinition,
};

pub(crate) const TABLE: &str = "lately";
pub(crate) type Item = HashMap<String, AttributeValue>;

/// 2026-01-01T00:00:00Z.
pub(crate) const START: Duration = Duration::from_secs(1_767_225_600);

pub(crate) fn definition() -> TableDefinition {
    let names = ["pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"];
    let key = |prefix: &str| KeyNames { partition: format!("{prefix}pk"), sort: Some(format!("{prefix}sk")) };
    let index =
        |name: &str| IndexDefinition { name: name.to_owned(), key: key(name), projection: Projection::All };
    TableDefinition {
        attributes: names.map(|name| Attribute { name: name.to_owned(), kind: "S".to_owned() }).to_vec(),
        key: key(""),
        indexes: vec![index("gsi1"), index("gsi2")],
        ttl_attribute: Some("expires_at".to_owned()),
        stream: Some(StreamView::NewAndOldImages),
    }
}

/// An engine with the table and a manual clock.
pub(crate) fn engine() -> Engine {
    engine_with(Options::default())
}

pub(crate) fn engine_with(options: Options) -> Engine {
    let options = Options { clock: Clock::manual(START), ..options };
    let engine = Engine::memory(&options).unwrap();
    engine.create_table(&definition(), TABLE).unwrap();
    engine
}

pub(crate) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn item<const N: usize>(pk: &str, sk: &str, more: [(&str, AttributeValue); N]) -> Item {
    let mut item = key(pk, sk);
    item.extend(more.map(|(name, value)| (name.to_owned(), value)));
    item
}

pub(crate) fn key(pk: &str, sk: &str) -> Item {
    HashMap::from([("pk".to_owned(), s(pk)), ("sk".to_owned(), s(sk))])
}
