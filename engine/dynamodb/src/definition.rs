//! A table as it is declared: what to create, and what a drift check compares.

use serde_json::{Value, json};

use crate::table::{KeyNames, StreamView};

/// A table's keys, indexes, stream and TTL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDefinition {
    /// The attributes that keys are made of.
    pub attributes: Vec<Attribute>,
    /// The table's key.
    pub key: KeyNames,
    /// Its global secondary indexes.
    pub indexes: Vec<IndexDefinition>,
    /// The attribute that says when an item expires.
    pub ttl_attribute: Option<String>,
    /// The images in the stream's records, if the table has a stream.
    pub stream: Option<StreamView>,
}

/// An attribute of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its type: `S`, `N` or `B`.
    pub kind: String,
}

/// A global secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: KeyNames,
    /// The attributes that the index holds of an item.
    pub projection: Projection,
}

/// The attributes that an index holds of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// Everything.
    All,
    /// The table's and its own keys.
    KeysOnly,
    /// Those, and the attributes named.
    Include(Vec<String>),
}

impl TableDefinition {
    /// The body of the `CreateTable` request that makes it.
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

    /// The body of the `UpdateTimeToLive` request that switches its TTL on.
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
