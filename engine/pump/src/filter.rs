//! Event patterns that choose a function's records, as Lambda has them for streams.
//!
//! A pattern has the shape of a record. Every field that it names must match; a field's rules are a list,
//! of which one must match. A field of a record that is a list matches when one of its elements does.
//!
//! A rule is a value, `{"prefix": …}` or `{"exists": …}`: what `template.yaml` uses. Lambda has more operators, and a
//! pattern with one of them is refused. `exists` is about values, not objects: `{"NewImage": [{"exists": true}]}`
//! matches nothing.

use serde_json::{Map, Value};

/// Patterns of which a record must match one. Without any, every record matches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter(Vec<RecordPattern>);

/// A pattern is none that Lambda takes.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// It is not JSON.
    #[error("a filter's pattern is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is neither an object of fields nor a list of rules, where it must be.
    #[error("a filter's pattern needs {expected} at {field:?}")]
    Shape {
        /// The innermost field's name; empty is the pattern itself.
        field: String,
        /// The shape that it needs.
        expected: &'static str,
    },
    /// This engine has no such operator, or it does not take such an operand.
    #[error(
        "a filter's pattern has an operator at {field:?} that this engine does not have: {operator}; it has values, \
         {{\"prefix\": \"text\"}} and {{\"exists\": true or false}}"
    )]
    Operator {
        /// The innermost field's name.
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
    /// [`FilterError`], if one is not a pattern that Lambda takes.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, FilterError> {
        let pattern = |text: &str| pattern("", &serde_json::from_str(text)?);
        patterns.into_iter().map(pattern).collect::<Result<_, _>>().map(Self)
    }

    /// True if the function gets a record. The record is an entry of an event's `Records`.
    #[must_use]
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
    let (Some((name, operand)), None) = (entries.next(), entries.next()) else {
        return None;
    };
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
    /// True if a part of a record matches. `None` is a part that the record lacks.
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

/// Numbers are equal by value, however they are written.
fn equal(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests;
