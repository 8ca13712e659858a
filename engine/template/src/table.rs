//! The table that a template declares.

use serde::Deserialize;

use lately_engine::{Attribute, IndexDefinition, KeyNames, Projection, StreamView, TableDefinition};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct DeclaredTable {
    attribute_definitions: Vec<AttributeDefinition>,
    key_schema: Vec<KeyElement>,
    #[serde(default)]
    global_secondary_indexes: Vec<GlobalSecondaryIndex>,
    time_to_live_specification: Option<TimeToLive>,
    stream_specification: Option<DeclaredStream>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AttributeDefinition {
    attribute_name: String,
    attribute_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct KeyElement {
    attribute_name: String,
    key_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GlobalSecondaryIndex {
    index_name: String,
    key_schema: Vec<KeyElement>,
    projection: ProjectionProperties,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProjectionProperties {
    projection_type: String,
    #[serde(default)]
    non_key_attributes: Vec<String>,
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
    stream_view_type: String,
}

impl DeclaredTable {
    pub(crate) fn definition(self) -> Result<TableDefinition, &'static str> {
        let attributes = self.attribute_definitions.into_iter();
        let attributes = attributes
            .map(|attribute| Attribute { name: attribute.attribute_name, kind: attribute.attribute_type });
        let indexes = self.global_secondary_indexes.into_iter();
        let stream = match self.stream_specification {
            None => None,
            Some(stream) => Some(
                StreamView::from_name(&stream.stream_view_type)
                    .ok_or("StreamViewType must be KEYS_ONLY, NEW_IMAGE, OLD_IMAGE or NEW_AND_OLD_IMAGES")?,
            ),
        };
        Ok(TableDefinition {
            attributes: attributes.collect(),
            key: key(self.key_schema)?,
            indexes: indexes.map(index).collect::<Result<_, _>>()?,
            ttl_attribute: self
                .time_to_live_specification
                .filter(|ttl| ttl.enabled)
                .map(|ttl| ttl.attribute_name),
            stream,
        })
    }
}

fn index(index: GlobalSecondaryIndex) -> Result<IndexDefinition, &'static str> {
    let ProjectionProperties { projection_type, non_key_attributes } = index.projection;
    Ok(IndexDefinition {
        name: index.index_name,
        key: key(index.key_schema)?,
        projection: match projection_type.as_str() {
            "ALL" => Projection::All,
            "KEYS_ONLY" => Projection::KeysOnly,
            "INCLUDE" => Projection::Include(non_key_attributes),
            _ => return Err("ProjectionType must be ALL, KEYS_ONLY or INCLUDE"),
        },
    })
}

fn key(schema: Vec<KeyElement>) -> Result<KeyNames, &'static str> {
    let mut partition = None;
    let mut sort = None;
    for element in schema {
        let name = Some(element.attribute_name);
        match element.key_type.as_str() {
            "HASH" => partition = name,
            "RANGE" => sort = name,
            _ => return Err("KeyType must be HASH or RANGE"),
        }
    }
    let partition = partition.ok_or("a key needs a HASH attribute")?;
    Ok(KeyNames { partition, sort })
}
