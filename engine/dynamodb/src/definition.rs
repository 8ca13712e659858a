//! A table's declaration. The engine creates tables from it, and a test compares it with the keys that the code uses.
//!
//! The JSON of its parts is that of DynamoDB's requests and of CloudFormation's templates.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::table::{KeyNames, StreamView};

/// A table's keys, indexes, stream and TTL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDefinition {
    /// The attributes of the keys.
    pub attributes: Vec<Attribute>,
    /// The table's key.
    pub key: KeyNames,
    /// The table's global secondary indexes.
    pub indexes: Vec<IndexDefinition>,
    /// The attribute with the time at which an item expires.
    pub ttl_attribute: Option<String>,
    /// The images in the stream's records, if the table has a stream.
    pub stream: Option<StreamView>,
}

/// An attribute of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// The attribute's name.
    #[serde(rename = "AttributeName")]
    pub name: String,
    /// The attribute's type: `S`, `N` or `B`.
    #[serde(rename = "AttributeType")]
    pub kind: String,
}

/// A global secondary index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDefinition {
    /// The index's name.
    #[serde(rename = "IndexName")]
    pub name: String,
    /// The index's key.
    #[serde(rename = "KeySchema")]
    pub key: KeyNames,
    /// The attributes that the index holds of an item.
    #[serde(rename = "Projection")]
    pub projection: Projection,
}

/// The attributes that an index holds of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ProjectionType", content = "NonKeyAttributes", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Projection {
    /// All attributes.
    All,
    /// The keys of the table and of the index.
    KeysOnly,
    /// The keys, and these attributes.
    Include(Vec<String>),
}

impl TableDefinition {
    /// The body of the `CreateTable` request that creates the table.
    pub(crate) fn create_request(&self, name: &str) -> String {
        let mut request = json!({
            "TableName": name,
            "AttributeDefinitions": self.attributes,
            "KeySchema": self.key,
            "BillingMode": "PAY_PER_REQUEST",
        });
        if !self.indexes.is_empty() {
            request["GlobalSecondaryIndexes"] = json!(self.indexes);
        }
        if let Some(view) = self.stream {
            request["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": view});
        }
        request.to_string()
    }

    /// The body of the `UpdateTimeToLive` request that switches the table's TTL on.
    pub(crate) fn ttl_request(&self, name: &str) -> Option<String> {
        let attribute = self.ttl_attribute.as_ref()?;
        let specification = json!({"Enabled": true, "AttributeName": attribute});
        let request = json!({"TableName": name, "TimeToLiveSpecification": specification});
        Some(request.to_string())
    }
}
