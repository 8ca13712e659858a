//! Event patterns that choose the records of a function, in Lambda's format for streams.
//!
//! A pattern has the shape of a record. Every field that it names must match. The rules of a field are a list, of which
//! one must match. If a field of the record is a list, one of its elements must match.
//!
//! A rule is a value, `{"prefix": …}` or `{"exists": …}`, since `template.yaml` uses no others. A pattern with another
//! of Lambda's operators is refused. `exists` applies to values, not to objects: `{"NewImage": [{"exists": true}]}`
//! matches nothing.

use serde_json::{Map, Value};

/// Patterns of which a record must match at least one. Without patterns, every record matches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter(Vec<RecordPattern>);

/// A pattern is invalid, or uses an operator that this engine does not support.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The pattern is not JSON.
    #[error("a filter's pattern is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A part of the pattern is neither an object of fields nor a list of rules.
    #[error("a filter's pattern needs {expected} at {field:?}")]
    Shape {
        /// The name of the innermost field. Empty for the pattern itself.
        field: String,
        /// The required shape.
        expected: &'static str,
    },
    /// This engine does not support the operator, or the operand is not valid for it.
    #[error(
        "a filter's pattern has an operator at {field:?} that this engine does not support: {operator}; use a value, \
         {{\"prefix\": \"text\"}} or {{\"exists\": true or false}}"
    )]
    Operator {
        /// The name of the innermost field.
        field: String,
        /// The operator with its operand.
        operator: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
struct RecordPattern(Vec<(String, FieldCondition)>);

#[derive(Debug, Clone, PartialEq)]
enum FieldCondition {
    Fields(RecordPattern),
    Rules(Vec<ValueRule>),
}

#[derive(Debug, Clone, PartialEq)]
enum ValueRule {
    Equals(Value),
    Prefix(String),
    Exists(bool),
}

impl Filter {
    /// Parses patterns, each the text of a JSON object.
    ///
    /// # Errors
    /// [`FilterError`], if a pattern is invalid or uses an operator that this engine does not support.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, FilterError> {
        let pattern = |text: &str| pattern("", &serde_json::from_str(text)?);
        patterns.into_iter().map(pattern).collect::<Result<_, _>>().map(Self)
    }

    /// True if the function gets the record, which is an entry of an event's `Records`.
    pub fn matches(&self, record: &Value) -> bool {
        self.is_open() || self.0.iter().any(|pattern| pattern.matches(Some(record)))
    }

    /// True if every record matches.
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_empty()
    }
}

fn pattern(field: &str, value: &Value) -> Result<RecordPattern, FilterError> {
    let Some(object) = value.as_object().filter(|object| !object.is_empty()) else {
        return Err(FilterError::Shape { field: field.to_owned(), expected: "an object of fields" });
    };
    if let Some(or) = object.get("$or") {
        return Err(FilterError::Operator { field: field.to_owned(), operator: format!("$or {or}") });
    }
    let fields = object.iter().map(|(name, value)| Ok((name.clone(), condition(name, value)?)));
    fields.collect::<Result<_, _>>().map(RecordPattern)
}

fn condition(field: &str, value: &Value) -> Result<FieldCondition, FilterError> {
    match value {
        Value::Object(_) => pattern(field, value).map(FieldCondition::Fields),
        Value::Array(rules) if !rules.is_empty() => {
            rules.iter().map(|value| rule(field, value)).collect::<Result<_, _>>().map(FieldCondition::Rules)
        }
        _ => Err(FilterError::Shape { field: field.to_owned(), expected: "a list of rules" }),
    }
}

fn rule(field: &str, value: &Value) -> Result<ValueRule, FilterError> {
    let read = match value {
        Value::Object(object) => operator(object),
        Value::Array(_) => None,
        literal => Some(ValueRule::Equals(literal.clone())),
    };
    read.ok_or_else(|| FilterError::Operator { field: field.to_owned(), operator: value.to_string() })
}

fn operator(object: &Map<String, Value>) -> Option<ValueRule> {
    let mut entries = object.iter();
    let (Some((name, operand)), None) = (entries.next(), entries.next()) else { return None };
    match name.as_str() {
        "prefix" => operand.as_str().map(|text| ValueRule::Prefix(text.to_owned())),
        "exists" => operand.as_bool().map(ValueRule::Exists),
        _ => None,
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

impl RecordPattern {
    /// True if this part of a record matches. `None`: the record lacks this part.
    fn matches(&self, value: Option<&Value>) -> bool {
        let field = |name: &str| value.and_then(|value| value.get(name));
        self.0.iter().all(|(name, condition)| condition.matches(field(name)))
    }
}

impl FieldCondition {
    fn matches(&self, value: Option<&Value>) -> bool {
        match (self, value) {
            (Self::Fields(pattern), Some(Value::Array(items))) => {
                items.iter().any(|i| pattern.matches(Some(i)))
            }
            (Self::Fields(pattern), value) => pattern.matches(value),
            (Self::Rules(rules), value) => {
                let leaves: Vec<&Value> = match value {
                    Some(Value::Array(items)) => items.iter().filter(|item| is_scalar(item)).collect(),
                    value => value.into_iter().filter(|value| is_scalar(value)).collect(),
                };
                rules.iter().any(|rule| rule.matches(&leaves))
            }
        }
    }
}

impl ValueRule {
    /// True if one of a field's values matches.
    fn matches(&self, leaves: &[&Value]) -> bool {
        match self {
            Self::Exists(exists) => leaves.is_empty() != *exists,
            Self::Equals(value) => leaves.iter().any(|leaf| equal(value, leaf)),
            Self::Prefix(prefix) => {
                leaves.iter().filter_map(|leaf| leaf.as_str()).any(|text| text.starts_with(prefix))
            }
        }
    }
}

/// Numbers are compared by value: 1 and 1.0 are equal.
fn equal(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests;
