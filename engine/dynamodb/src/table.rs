//! The engine's description of a table: its keys, indexes, TTL attribute and stream.
//!
//! It is a parsed copy of dynoxide's description, read again whenever the table changes. dynoxide's own stream is never
//! switched on, so the settings of the stream are stored in a tag of the table. Clients do not see the tag, and it is
//! deleted with the table.

use std::{fmt, iter};

use dynoxide::actions::list_tags_of_resource::ListTagsOfResourceRequest;
use dynoxide::actions::query::QueryRequest;
use dynoxide::types::{GlobalSecondaryIndex, KeySchemaElement, KeyType, ProjectionType};
use dynoxide::{AttributeValue, Database, DynoxideError, Item, streams};
use serde::{Deserialize, Serialize};

use crate::key;

/// The tag that holds a table's stream settings.
pub(crate) const STREAM_TAG: &str = "lately:stream";

/// The images that a stream's records hold in addition to the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StreamView {
    /// No image.
    KeysOnly,
    /// The item after the change.
    NewImage,
    /// The item before the change.
    OldImage,
    /// The item before and after the change.
    NewAndOldImages,
}

impl StreamView {
    pub(crate) fn has_old(self) -> bool {
        matches!(self, Self::OldImage | Self::NewAndOldImages)
    }

    pub(crate) fn has_new(self) -> bool {
        matches!(self, Self::NewImage | Self::NewAndOldImages)
    }

    /// The view with this name in DynamoDB.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        serde_json::from_value(name.into()).ok()
    }
}

impl fmt::Display for StreamView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The names of the attributes in the key of a table or an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<KeySchemaElement>", into = "Vec<KeySchemaElement>")]
pub struct KeyNames {
    /// The partition key's attribute.
    pub partition: String,
    /// The sort key's attribute.
    pub sort: Option<String>,
}

impl TryFrom<Vec<KeySchemaElement>> for KeyNames {
    type Error = &'static str;

    fn try_from(schema: Vec<KeySchemaElement>) -> Result<Self, Self::Error> {
        let of = |kind: KeyType| {
            let element = schema.iter().find(|e| e.key_type == kind)?;
            Some(element.attribute_name.clone())
        };
        let partition = of(KeyType::HASH).ok_or("a key needs a HASH attribute")?;
        Ok(Self { partition, sort: of(KeyType::RANGE) })
    }
}

impl From<KeyNames> for Vec<KeySchemaElement> {
    fn from(key: KeyNames) -> Self {
        let element = |attribute_name, key_type| KeySchemaElement { attribute_name, key_type };
        let sort = key.sort.map(|name| element(name, KeyType::RANGE));
        iter::once(element(key.partition, KeyType::HASH)).chain(sort).collect()
    }
}

impl KeyNames {
    /// The key attributes of an item, if it has all of them.
    pub(crate) fn of(&self, item: &Item) -> Option<Item> {
        let names = [Some(&self.partition), self.sort.as_ref()];
        names.into_iter().flatten().map(|name| Some((name.clone(), item.get(name)?.clone()))).collect()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Index {
    pub(crate) name: String,
    pub(crate) key: KeyNames,
    /// The attributes that the index holds, its keys included. `None`: all attributes.
    pub(crate) projected: Option<Vec<String>>,
}

#[derive(Debug, Clone)]
pub(crate) struct StreamSettings {
    pub(crate) view: StreamView,
    pub(crate) label: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) key: KeyNames,
    pub(crate) indexes: Vec<Index>,
    pub(crate) ttl_attribute: Option<String>,
    pub(crate) stream: Option<StreamSettings>,
}

impl Table {
    /// Reads a table's description from the database. `None` if the table does not exist.
    pub(crate) fn load(db: &Database, name: &str) -> Result<Option<Self>, DynoxideError> {
        let Some(meta) = db.get_table_metadata(name)? else { return Ok(None) };
        let resource_arn = Some(streams::table_arn(name));
        let tags = db.list_tags_of_resource(ListTagsOfResourceRequest { resource_arn })?.tags;
        let stream = tags.iter().find(|tag| tag.key == STREAM_TAG);
        let stream = stream.and_then(|tag| StreamSettings::decode(&tag.value));
        let key: KeyNames = parse_json(&meta.key_schema)?;
        let definitions: Vec<GlobalSecondaryIndex> = match &meta.gsi_definitions {
            Some(json) => parse_json(json)?,
            None => Vec::new(),
        };
        let indexes = definitions.into_iter().map(|gsi| Index::parse(gsi, &key)).collect::<Result<_, _>>()?;
        let ttl_attribute = meta.ttl_attribute.filter(|_| meta.ttl_enabled);
        Ok(Some(Self { name: meta.table_name, key, indexes, ttl_attribute, stream }))
    }

    /// The partition of an item or key of this table.
    pub(crate) fn partition_of(&self, item: &Item) -> Option<String> {
        item.get(&self.key.partition).map(key::text)
    }

    /// The partition that a query reads, as the text of its key: the value to which the key condition sets the
    /// partition key equal. `None` if this parser finds no such value. dynoxide refuses malformed conditions.
    pub(crate) fn queried_partition(&self, query: &QueryRequest) -> Option<String> {
        let names_of_key = match &query.index_name {
            Some(name) => &self.indexes.iter().find(|index| index.name == *name)?.key,
            None => &self.key,
        };
        let condition = query.key_condition_expression.as_deref()?;
        let names = query.expression_attribute_names.as_ref();
        let values = query.expression_attribute_values.as_ref()?;
        let tokens = condition.replace('=', " = ").replace(['(', ')'], " ");
        let tokens: Vec<&str> = tokens.split_whitespace().collect();
        tokens.windows(3).find_map(|window| {
            let [name, "=", value] = window else { return None };
            let name = names.and_then(|n| n.get(*name)).map_or(*name, |n| n);
            (name == names_of_key.partition).then(|| values.get(*value).map(key::text))?
        })
    }

    /// The time at which an item expires, in epoch seconds: its TTL attribute, if that is a number.
    pub(crate) fn expires_at(&self, item: &Item) -> Option<u64> {
        match item.get(self.ttl_attribute.as_deref()?)? {
            // DynamoDB ignores the fraction.
            AttributeValue::N(number) => number.split('.').next()?.parse().ok(),
            _ => None,
        }
    }

    /// The stream's ARN, if the table has a stream.
    pub(crate) fn stream_arn(&self) -> Option<String> {
        let stream = self.stream.as_ref()?;
        Some(streams::stream_arn(&self.name, &stream.label))
    }
}

impl Index {
    fn parse(gsi: GlobalSecondaryIndex, table_key: &KeyNames) -> Result<Self, DynoxideError> {
        let key = KeyNames::try_from(gsi.key_schema).map_err(corrupt)?;
        let mut held = vec![table_key.partition.clone(), key.partition.clone()];
        held.extend(table_key.sort.clone());
        held.extend(key.sort.clone());
        let projected = match gsi.projection.projection_type {
            Some(ProjectionType::KEYS_ONLY) => Some(held),
            Some(ProjectionType::INCLUDE) => {
                held.extend(gsi.projection.non_key_attributes.unwrap_or_default());
                Some(held)
            }
            _ => None,
        };
        Ok(Self { name: gsi.index_name, key, projected })
    }

    /// The entry of an item in the index. `None` if the item lacks a key attribute of the index.
    pub(crate) fn entry(&self, item: &Item) -> Option<Item> {
        self.key.of(item)?;
        let held = |name: &String| self.projected.as_ref().is_none_or(|p| p.contains(name));
        let entry = item.iter().filter(|(name, _)| held(name));
        Some(entry.map(|(name, value)| (name.clone(), value.clone())).collect())
    }
}

impl StreamSettings {
    pub(crate) fn encode(&self) -> String {
        format!("{} {}", self.view, self.label)
    }

    pub(crate) fn decode(text: &str) -> Option<Self> {
        let (view, label) = text.split_once(' ')?;
        Some(Self { view: StreamView::from_name(view)?, label: label.to_owned() })
    }
}

fn parse_json<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, DynoxideError> {
    serde_json::from_str(json).map_err(|error| corrupt(&error.to_string()))
}

fn corrupt(what: &str) -> DynoxideError {
    DynoxideError::InternalServerError(format!("unreadable table description: {what}"))
}
