//! A template's parameters, as far as they have defaults.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The parameters, by name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Parameters(BTreeMap<String, Parameter>);

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Parameter {
    #[serde(rename = "Type")]
    kind: String,
    default: Option<Value>,
}

impl Parameter {
    /// The default as what the parameter's type makes of it: a number may be written as text.
    fn value(&self) -> Option<Value> {
        match self.default.as_ref()? {
            Value::String(text) if self.kind == "Number" => serde_json::from_str(text).ok(),
            value => Some(value.clone()),
        }
    }
}

impl Parameters {
    /// The value, with the defaults of the parameters that it refers to.
    pub(super) fn resolve(&self, value: &Value) -> Value {
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

/// A scalar as CloudFormation passes it on: as text.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
