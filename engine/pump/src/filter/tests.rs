use serde_json::json;

use super::*;

/// The record in the filter examples of Lambda's documentation, with a list and a number added.
fn record() -> Value {
    json!({
        "eventID": "1",
        "eventName": "INSERT",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_678_831_218,
            "Keys": {"CustomerName": {"S": "AnyCompany Industries"}},
            "NewImage": {
                "AccountManager": {"S": "Pat Candella"},
                "PaymentTerms": {"S": "60 days"},
                "CustomerName": {"S": "AnyCompany Industries"},
                "Amount": {"N": "100"},
                "Tags": {"SS": ["red", "green"]},
                "Nothing": {"NULL": true},
            },
            "SequenceNumber": "111",
            "SizeBytes": 26,
            "StreamViewType": "NEW_IMAGE",
        },
    })
}

fn matches(patterns: &[Value]) -> bool {
    let texts: Vec<_> = patterns.iter().map(Value::to_string).collect();
    Filter::parse(texts.iter().map(String::as_str)).unwrap().matches(&record())
}

fn image(field: &str, rules: Value) -> Value {
    json!({"dynamodb": {"NewImage": {field: {"S": rules}}}})
}

#[test]
fn a_record_must_match_one_pattern_if_there_are_any() {
    let insert = json!({"eventName": ["INSERT"]});
    let remove = json!({"eventName": ["REMOVE"]});
    assert!(matches(&[]));
    assert!(matches(std::slice::from_ref(&insert)));
    assert!(!matches(std::slice::from_ref(&remove)));
    assert!(matches(&[remove, insert]));
}

#[test]
fn lambdas_documented_examples_match_as_documented() {
    let by_key = json!({"dynamodb": {"Keys": {"CustomerName": {"S": ["AnyCompany Industries"]}}}});
    assert!(matches(&[by_key]));
    let by_image = json!({"dynamodb": {"NewImage": {
        "AccountManager": {"S": ["Pat Candella", "Shirley Rodriguez"]},
        "PaymentTerms": {"S": ["60 days"]},
    }}});
    assert!(matches(&[by_image]));
    let ttl = json!({"userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]}});
    assert!(!matches(&[ttl]));
    let not_ttl = json!({"userIdentity": {"type": [{"exists": false}]}});
    assert!(matches(&[not_ttl]));
}

#[test]
fn every_field_of_a_pattern_must_match() {
    let both = json!({"eventName": ["INSERT"], "dynamodb": {"SequenceNumber": ["112"]}});
    assert!(!matches(&[both]));
}

#[test]
fn a_prefix_matches_the_beginning_of_a_text() {
    assert!(matches(&[image("AccountManager", json!([{"prefix": "Pat"}]))]));
    assert!(!matches(&[image("AccountManager", json!([{"prefix": "pat"}]))]));
}

#[test]
fn exists_applies_to_values_and_not_to_objects() {
    assert!(matches(&[image("PaymentTerms", json!([{"exists": true}]))]));
    assert!(!matches(&[image("PaymentTerms", json!([{"exists": false}]))]));
    assert!(matches(&[image("Missing", json!([{"exists": false}]))]));
    assert!(!matches(&[json!({"dynamodb": {"NewImage": [{"exists": true}]}})]));
    assert!(matches(&[json!({"dynamodb": {"OldImage": {"a": {"S": [{"exists": false}]}}}})]));
}

#[test]
fn numbers_match_by_value_and_numbers_of_items_are_text() {
    assert!(matches(&[json!({"dynamodb": {"SizeBytes": [26.0]}})]));
    let amount = |rule: Value| json!({"dynamodb": {"NewImage": {"Amount": {"N": [rule]}}}});
    assert!(!matches(&[amount(json!(100))]));
    assert!(matches(&[amount(json!("100"))]));
}

#[test]
fn a_list_matches_by_one_of_its_elements() {
    let tags = |rule: Value| json!({"dynamodb": {"NewImage": {"Tags": {"SS": [rule]}}}});
    assert!(matches(&[tags(json!("green"))]));
    assert!(!matches(&[tags(json!("blue"))]));
    assert!(matches(&[tags(json!({"prefix": "r"}))]));
    assert!(matches(&[json!({"dynamodb": {"NewImage": {"Nothing": {"NULL": [true]}}}})]));
}

#[test]
fn an_unsupported_operator_is_refused_and_named() {
    let error = |pattern: &str| Filter::parse([pattern]).unwrap_err();
    for pattern in [
        r#"{"a": [{"wildcard": "x*"}]}"#,
        r#"{"a": [{"prefix": 1}]}"#,
        r#"{"a": [{"suffix": "x"}]}"#,
        r#"{"a": [{"equals-ignore-case": "x"}]}"#,
        r#"{"a": [{"anything-but": ["x"]}]}"#,
        r#"{"a": [{"numeric": ["=", 1]}]}"#,
        r#"{"$or": [{"a": [1]}, {"b": [1]}]}"#,
        r#"{"a": [{"prefix": "x", "suffix": "y"}]}"#,
        r#"{"a": [["x"]]}"#,
    ] {
        assert!(matches!(error(pattern), FilterError::Operator { .. }), "{pattern}");
    }
    for pattern in [r"{}", r#"{"a": "x"}"#, r#"{"a": []}"#, r#"{"a": {}}"#, "[]"] {
        assert!(matches!(error(pattern), FilterError::Shape { .. }), "{pattern}");
    }
    assert!(matches!(error("{"), FilterError::Json(_)));
    let message = error(r#"{"a": [{"suffix": "x"}]}"#).to_string();
    assert!(message.starts_with(
        r#"a filter's pattern has an operator at "a" that this engine does not support: {"suffix":"x"}"#
    ));
}
