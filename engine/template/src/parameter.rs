//! A template's parameters and their values: a given value, or the default.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The parameters, by name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Parameters(BTreeMap<String, Parameter>);

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Parameter {
    #[serde(rename = "Type")]
    kind: String,
    default: Option<Value>,
}

impl Parameter {
    /// The parameter's value, in its type: the default of a `Number` may be written as text.
    fn value(&self) -> Option<Value> {
        match self.default.as_ref()? {
            Value::String(text) if self.kind == "Number" => serde_json::from_str(text).ok(),
            value => Some(value.clone()),
        }
    }
}

impl Parameters {
    /// Gives a parameter a value, as a deployment does. Returns false if the parameter does not exist.
    pub(crate) fn give(&mut self, name: &str, value: &str) -> bool {
        let parameter = self.0.get_mut(name);
        parameter.map(|parameter| parameter.default = Some(Value::from(value))).is_some()
    }

    /// A value as text, if it is known: a literal, a parameter, or `Fn::Sub` of parameters.
    pub(crate) fn text(&self, value: &Value) -> Option<String> {
        match value.get("Fn::Sub") {
            Some(pattern) => self.substituted(pattern.as_str()?),
            None => text(&self.resolve(value)),
        }
    }

    fn substituted(&self, pattern: &str) -> Option<String> {
        let mut pieces = pattern.split("${");
        let mut substituted = pieces.next()?.to_owned();
        for piece in pieces {
            let (name, rest) = piece.split_once('}')?;
            substituted += &text(&self.0.get(name)?.value()?)?;
            substituted += rest;
        }
        Some(substituted)
    }

    /// The value, with references to parameters replaced by the parameters' values.
    pub(crate) fn resolve(&self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.resolve(item)).collect(),
            Value::Object(entries) => self.default_of(value).unwrap_or_else(|| {
                Value::Object(
                    entries.iter().map(|(name, value)| (name.clone(), self.resolve(value))).collect(),
                )
            }),
            literal => literal.clone(),
        }
    }

    fn default_of(&self, reference: &Value) -> Option<Value> {
        self.0.get(reference.get("Ref")?.as_str()?)?.value()
    }
}

/// A scalar as text, as CloudFormation passes it on.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
