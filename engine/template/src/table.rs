//! The table that a template declares.

use lately_engine::{Attribute, IndexDefinition, KeyNames, StreamView, TableDefinition};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DeclaredTable {
    attribute_definitions: Vec<Attribute>,
    key_schema: KeyNames,
    #[serde(default)]
    global_secondary_indexes: Vec<IndexDefinition>,
    time_to_live_specification: Option<TimeToLive>,
    stream_specification: Option<DeclaredStream>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TimeToLive {
    attribute_name: String,
    enabled: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DeclaredStream {
    stream_view_type: StreamView,
}

impl From<DeclaredTable> for TableDefinition {
    fn from(declared: DeclaredTable) -> Self {
        let ttl = declared.time_to_live_specification.filter(|ttl| ttl.enabled);
        Self {
            attributes: declared.attribute_definitions,
            key: declared.key_schema,
            indexes: declared.global_secondary_indexes,
            ttl_attribute: ttl.map(|ttl| ttl.attribute_name),
            stream: declared.stream_specification.map(|stream| stream.stream_view_type),
        }
    }
}
