//! Reads DynamoDB JSON into the SDK's attribute values.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Reads an image that the engine captured.
pub(crate) fn read_item(json: &str) -> HashMap<String, AttributeValue> {
    let item: Map<String, Value> = serde_json::from_str(json).expect(CAPTURED);
    read_map(&item)
}

const CAPTURED: &str = "the engine captures images as DynamoDB JSON";

fn read_map(map: &Map<String, Value>) -> HashMap<String, AttributeValue> {
    map.iter().map(|(name, value)| (name.clone(), read(value))).collect()
}

fn read(value: &Value) -> AttributeValue {
    let (kind, value) = value.as_object().and_then(|typed| typed.iter().next()).expect(CAPTURED);
    let text = |value: &Value| value.as_str().expect(CAPTURED).to_owned();
    let blob = |value: &Value| Blob::new(STANDARD.decode(text(value)).expect(CAPTURED));
    let list = || value.as_array().expect(CAPTURED).iter();
    match kind.as_str() {
        "S" => AttributeValue::S(text(value)),
        "N" => AttributeValue::N(text(value)),
        "B" => AttributeValue::B(blob(value)),
        "BOOL" => AttributeValue::Bool(value.as_bool().expect(CAPTURED)),
        "NULL" => AttributeValue::Null(true),
        "SS" => AttributeValue::Ss(list().map(text).collect()),
        "NS" => AttributeValue::Ns(list().map(text).collect()),
        "BS" => AttributeValue::Bs(list().map(blob).collect()),
        "L" => AttributeValue::L(list().map(read).collect()),
        "M" => AttributeValue::M(read_map(value.as_object().expect(CAPTURED))),
        _ => panic!("{CAPTURED}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read() {
        let json = r#"{"s":{"S":"x"},"n":{"N":"1"},"b":{"B":"AAE="},"t":{"BOOL":true},"z":{"NULL":true},
            "ss":{"SS":["a"]},"ns":{"NS":["1"]},"bs":{"BS":["AA=="]},"l":{"L":[{"S":"y"}]},"m":{"M":{"k":{"N":"2"}}}}"#;
        let item = read_item(json);
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
}
