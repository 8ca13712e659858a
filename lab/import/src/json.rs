//! An attribute as JSON. The JSON is exact, and the same attribute always gives the same text.
//!
//! | attribute | JSON |
//! | --- | --- |
//! | string, boolean, null | a string, boolean or null |
//! | number | a number, digit for digit as DynamoDB has it |
//! | binary | a string: base64 with padding |
//! | list, set | an array, in DynamoDB's order |
//! | map | an object, its names sorted |

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// An attribute that serializes as JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json<'a>(pub(crate) &'a AttributeValue);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::S(text) => serializer.serialize_str(text),
            AttributeValue::N(digits) => Number(digits).serialize(serializer),
            AttributeValue::Bool(is) => serializer.serialize_bool(*is),
            AttributeValue::Null(_) => serializer.serialize_unit(),
            AttributeValue::B(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            AttributeValue::L(list) => serializer.collect_seq(list.iter().map(Json)),
            AttributeValue::M(map) => object(map).serialize(serializer),
            AttributeValue::Ss(texts) => serializer.collect_seq(texts),
            AttributeValue::Ns(numbers) => {
                serializer.collect_seq(numbers.iter().map(|digits| Number(digits)))
            }
            AttributeValue::Bs(all) => serializer.collect_seq(all.iter().map(|bytes| STANDARD.encode(bytes))),
            _ => Err(S::Error::custom("the attribute has an unknown type")),
        }
    }
}

/// A number, as its digits.
struct Number<'a>(&'a str);

impl Serialize for Number<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.to_owned()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// Attributes as the members of an object.
pub(crate) fn object(attributes: &HashMap<String, AttributeValue>) -> BTreeMap<&str, Json<'_>> {
    attributes.iter().map(|(name, value)| (name.as_str(), Json(value))).collect()
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;

    use super::*;

    fn json(value: &AttributeValue) -> String {
        serde_json::to_string(&Json(value)).expect("it has JSON")
    }

    #[test]
    fn every_type_has_a_json_form() {
        let (s, n) = (
            |text: &str| AttributeValue::S(text.to_owned()),
            |text: &str| AttributeValue::N(text.to_owned()),
        );
        let map = HashMap::from([("b".to_owned(), n("2")), ("a\"".to_owned(), AttributeValue::Null(true))]);
        let texts = |all: [&str; 2]| all.map(str::to_owned).to_vec();
        for (value, expected) in [
            (s("é\n\"\u{1}"), r#""é\n\"\u0001""#),
            (AttributeValue::Bool(true), "true"),
            (AttributeValue::Null(true), "null"),
            (AttributeValue::B(Blob::new([0xfb, 0xff])), r#""+/8=""#),
            (AttributeValue::L(vec![n("1"), s("x")]), r#"[1,"x"]"#),
            (AttributeValue::M(map), r#"{"a\"":null,"b":2}"#),
            (AttributeValue::Ss(texts(["b", "a"])), r#"["b","a"]"#),
            (AttributeValue::Ns(texts(["2", "1.10"])), "[2,1.10]"),
            (AttributeValue::Bs(vec![Blob::new([0])]), r#"["AA=="]"#),
        ] {
            assert_eq!(json(&value), expected);
        }
    }

    #[test]
    fn numbers_keep_every_digit() {
        for digits in ["1.10", "-0", "12345678901234567890123456789012345678", "1E-130", "9.9E+125", "0.000"]
        {
            assert_eq!(json(&AttributeValue::N(digits.to_owned())), digits);
        }
        for foreign in ["+1", ".5", "1.", "NaN", ""] {
            assert!(
                serde_json::to_string(&Json(&AttributeValue::N(foreign.to_owned()))).is_err(),
                "{foreign}"
            );
        }
    }
}
