//! A function that a template declares: its events, its environment, and the statements of its policies.

use std::collections::BTreeMap;

use serde::Deserialize;
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The statement's name.
    pub sid: Option<String>,
    /// `Allow` or `Deny`.
    pub effect: String,
    /// The actions, `dynamodb:Query` for example.
    pub actions: Vec<String>,
    /// The resources in the notation of `Fn::Sub`: `${Table.Arn}/index/gsi1`.
    pub resources: Vec<String>,
    /// The conditions, or null.
    pub conditions: Value,
}

/// A statement in the template's notation. A single action or resource need not be in a list.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Written {
    sid: Option<String>,
    effect: String,
    action: Value,
    resource: Value,
    #[serde(default)]
    condition: Value,
}

/// The statements of the inline policies.
pub(crate) fn statements(policies: &Value) -> Result<Vec<Statement>, serde_json::Error> {
    let documents = list(policies).iter().filter_map(|policy| policy.get("Statement"));
    documents.flat_map(list).map(|written| Ok(Written::deserialize(written)?.statement())).collect()
}

impl Written {
    fn statement(self) -> Statement {
        let texts = |value: &Value| list(value).iter().map(as_sub).collect();
        Statement {
            sid: self.sid,
            effect: self.effect,
            actions: texts(&self.action),
            resources: texts(&self.resource),
            conditions: self.condition,
        }
    }
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
