//! A table's declaration. The engine creates tables from it, and a test compares it with the keys that the code uses.

use serde_json::{Value, json};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The attribute's name.
    pub name: String,
    /// The attribute's type: `S`, `N` or `B`.
    pub kind: String,
}

/// A global secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDefinition {
    /// The index's name.
    pub name: String,
    /// The index's key.
    pub key: KeyNames,
    /// The attributes that the index holds of an item.
    pub projection: Projection,
}

/// The attributes that an index holds of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let attributes: Vec<Value> = self
            .attributes
            .iter()
            .map(|a| json!({"AttributeName": a.name, "AttributeType": a.kind}))
            .collect();
        let mut request = json!({
            "TableName": name,
            "AttributeDefinitions": attributes,
            "KeySchema": schema(&self.key),
            "BillingMode": "PAY_PER_REQUEST",
        });
        if !self.indexes.is_empty() {
            let indexes = self.indexes.iter().map(IndexDefinition::request);
            request["GlobalSecondaryIndexes"] = indexes.collect();
        }
        if let Some(view) = self.stream {
            request["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": view.name()});
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

impl IndexDefinition {
    fn request(&self) -> Value {
        let projection = match &self.projection {
            Projection::All => json!({"ProjectionType": "ALL"}),
            Projection::KeysOnly => json!({"ProjectionType": "KEYS_ONLY"}),
            Projection::Include(names) => {
                json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": names})
            }
        };
        json!({
            "IndexName": self.name,
            "KeySchema": schema(&self.key),
            "Projection": projection,
        })
    }
}

fn schema(key: &KeyNames) -> Value {
    let mut schema = vec![json!({"AttributeName": key.partition, "KeyType": "HASH"})];
    let sort = key.sort.as_ref();
    schema.extend(sort.map(|name| json!({"AttributeName": name, "KeyType": "RANGE"})));
    Value::from(schema)
}
