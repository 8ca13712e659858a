//! Which records a function gets: event patterns, as Lambda has them for streams.
//!
//! A pattern has the shape of a record. Every field that it names must match; a field's rules are a list,
//! of which one must match; `$or` holds patterns, of which one must match. A field of a record that is a
//! list matches when one of its elements does. Numbers of an item never match `numeric`: DynamoDB's JSON
//! has them as text, which is so in Lambda too.
//!
//! `exists` is about values, not objects: `{"NewImage": [{"exists": true}]}` matches nothing.

use serde_json::{Map, Value};

/// Patterns of which a record must match one. Without any, every record matches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter(Vec<Pattern>);

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
        /// What it needs.
        expected: &'static str,
    },
    /// There is no such operator, or it does not take such an operand.
    #[error("a filter's pattern has an unknown operator at {field:?}: {operator}")]
    Operator {
        /// The innermost field's name.
        field: String,
        /// The operator with its operand.
        operator: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
struct Pattern {
    fields: Vec<(String, Condition)>,
    /// What `$or` holds.
    alternatives: Vec<Pattern>,
}

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Fields(Pattern),
    Rules(Vec<Rule>),
}

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    Equals(Value),
    EqualsIgnoringCase(String),
    AnythingBut(Vec<Value>),
    Prefix(String),
    Suffix(String),
    Exists(bool),
    Numeric(Vec<(Comparison, f64)>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    Less,
    AtMost,
    Greater,
    AtLeast,
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

    /// Whether the function gets a record, given as an entry of an event's `Records`.
    #[must_use]
    pub fn matches(&self, record: &Value) -> bool {
        self.is_open() || self.0.iter().any(|pattern| pattern.matches(Some(record)))
    }

    /// Whether every record matches.
    pub(super) fn is_open(&self) -> bool {
        self.0.is_empty()
    }
}

fn pattern(field: &str, value: &Value) -> Result<Pattern, FilterError> {
    let shape = |expected| FilterError::Shape { field: field.to_owned(), expected };
    let Some(object) = value.as_object().filter(|object| !object.is_empty()) else {
        return Err(shape("an object of fields"));
    };
    let mut read = Pattern { fields: Vec::new(), alternatives: Vec::new() };
    for (name, value) in object {
        if name == "$or" {
            let alternatives = value.as_array().filter(|list| list.len() > 1);
            let alternatives = alternatives.ok_or_else(|| shape("two patterns or more in $or"))?;
            read.alternatives =
                alternatives.iter().map(|value| pattern(name, value)).collect::<Result<_, _>>()?;
            continue;
        }
        read.fields.push((name.clone(), condition(name, value)?));
    }
    Ok(read)
}

fn condition(field: &str, value: &Value) -> Result<Condition, FilterError> {
    match value {
        Value::Object(_) => pattern(field, value).map(Condition::Fields),
        Value::Array(rules) if !rules.is_empty() => {
            rules.iter().map(|value| rule(field, value)).collect::<Result<_, _>>().map(Condition::Rules)
        }
        _ => Err(FilterError::Shape { field: field.to_owned(), expected: "a list of rules" }),
    }
}

fn rule(field: &str, value: &Value) -> Result<Rule, FilterError> {
    let read = match value {
        Value::Object(object) => operator(object),
        Value::Array(_) => None,
        literal => Some(Rule::Equals(literal.clone())),
    };
    read.ok_or_else(|| FilterError::Operator { field: field.to_owned(), operator: value.to_string() })
}

fn operator(object: &Map<String, Value>) -> Option<Rule> {
    let mut entries = object.iter();
    let (Some((name, operand)), None) = (entries.next(), entries.next()) else {
        return None;
    };
    let text = || operand.as_str().map(str::to_owned);
    match name.as_str() {
        "prefix" => text().map(Rule::Prefix),
        "suffix" => text().map(Rule::Suffix),
        "equals-ignore-case" => text().map(|text| Rule::EqualsIgnoringCase(text.to_lowercase())),
        "exists" => operand.as_bool().map(Rule::Exists),
        "numeric" => numeric(operand).map(Rule::Numeric),
        "anything-but" => match operand {
            Value::Array(values) if !values.is_empty() && values.iter().all(is_scalar) => {
                Some(Rule::AnythingBut(values.clone()))
            }
            Value::Array(_) | Value::Object(_) => None,
            value => Some(Rule::AnythingBut(vec![value.clone()])),
        },
        _ => None,
    }
}

/// `["=", 5]`, or the ends of a range: `[">", 0, "<=", 5]`.
fn numeric(operand: &Value) -> Option<Vec<(Comparison, f64)>> {
    let operand = operand.as_array().filter(|list| matches!(list.len(), 2 | 4))?;
    let comparison = |pair: &[Value]| {
        let comparison = match pair[0].as_str()? {
            "=" => Comparison::Equal,
            "<" => Comparison::Less,
            "<=" => Comparison::AtMost,
            ">" => Comparison::Greater,
            ">=" => Comparison::AtLeast,
            _ => return None,
        };
        Some((comparison, pair[1].as_f64()?))
    };
    operand.chunks_exact(2).map(comparison).collect()
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

impl Pattern {
    /// Whether a part of a record matches; `None` is one that is not there.
    fn matches(&self, value: Option<&Value>) -> bool {
        let field = |name: &str| value.and_then(|value| value.get(name));
        self.fields.iter().all(|(name, condition)| condition.matches(field(name)))
            && (self.alternatives.is_empty() || self.alternatives.iter().any(|p| p.matches(value)))
    }
}

impl Condition {
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

impl Rule {
    /// Whether one of a field's values matches.
    fn matches(&self, leaves: &[&Value]) -> bool {
        match self {
            Self::Exists(exists) => leaves.is_empty() != *exists,
            _ => leaves.iter().any(|leaf| self.matches_leaf(leaf)),
        }
    }

    fn matches_leaf(&self, leaf: &Value) -> bool {
        let text = leaf.as_str();
        match self {
            Self::Equals(value) => equal(value, leaf),
            Self::EqualsIgnoringCase(lower) => text.is_some_and(|text| text.to_lowercase() == *lower),
            Self::AnythingBut(values) => !values.iter().any(|value| equal(value, leaf)),
            Self::Prefix(prefix) => text.is_some_and(|text| text.starts_with(prefix)),
            Self::Suffix(suffix) => text.is_some_and(|text| text.ends_with(suffix)),
            Self::Numeric(comparisons) => leaf.as_f64().is_some_and(|number| {
                comparisons.iter().all(|(comparison, bound)| comparison.holds(number, *bound))
            }),
            Self::Exists(exists) => *exists,
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

impl Comparison {
    fn holds(self, number: f64, bound: f64) -> bool {
        match self {
            Self::Equal => number == bound,
            Self::Less => number < bound,
            Self::AtMost => number <= bound,
            Self::Greater => number > bound,
            Self::AtLeast => number >= bound,
        }
    }
}

#[cfg(test)]
mod tests;
