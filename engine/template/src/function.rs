//! A function that a template declares: its events, its environment, and the statements of its policies.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::parameter;

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct DeclaredFunction {
    pub(crate) events: BTreeMap<String, DeclaredEvent>,
    pub(crate) environment: Environment,
    pub(crate) timeout: Option<u32>,
    pub(crate) policies: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DeclaredEvent {
    #[serde(rename = "Type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) properties: Value,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Environment {
    pub(crate) variables: BTreeMap<String, Value>,
}

/// The timeout in seconds of a function without a declared one: Lambda's default.
pub(crate) const DEFAULT_TIMEOUT: u32 = 3;

/// A statement of a function's inline policies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Statement {
    /// The statement's name.
    pub sid: Option<String>,
    /// `Allow` or `Deny`.
    pub effect: String,
    /// The actions, `dynamodb:Query` for example.
    #[serde(rename = "Action", deserialize_with = "texts")]
    pub actions: Vec<String>,
    /// The resources in the notation of `Fn::Sub`: `${Table.Arn}/index/gsi1`.
    #[serde(rename = "Resource", deserialize_with = "texts")]
    pub resources: Vec<String>,
    /// The conditions, or null.
    #[serde(rename = "Condition", default)]
    pub conditions: Value,
}

/// The statements of the inline policies.
pub(crate) fn statements(policies: &Value) -> Result<Vec<Statement>, serde_json::Error> {
    let documents = list(policies).iter().filter_map(|policy| policy.get("Statement"));
    documents.flat_map(list).map(Statement::deserialize).collect()
}

/// Actions or resources. A single one need not be in a list.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(list(&Value::deserialize(deserializer)?).iter().map(as_sub).collect())
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// A value in the notation of `Fn::Sub`. A value that this notation cannot express is JSON.
fn as_sub(value: &Value) -> String {
    let part = |name: &str| value.get(name);
    if let Some(name) = part("Ref").and_then(Value::as_str) {
        return format!("${{{name}}}");
    }
    if let Some([Value::String(resource), Value::String(attribute)]) =
        part("Fn::GetAtt").and_then(Value::as_array).map(Vec::as_slice)
    {
        return format!("${{{resource}.{attribute}}}");
    }
    // `Fn::Sub` has either a text alone, or a list of a text and its values.
    let text = part("Fn::Sub").map(|text| text.get(0).unwrap_or(text));
    if let Some(text) = text.and_then(Value::as_str) {
        return text.to_owned();
    }
    parameter::text(value).unwrap_or_else(|| value.to_string())
}
