//! `template.yaml`, parsed: the table that it declares, and the routes.
//!
//! The document becomes JSON first, CloudFormation's short tags in their long form (`!Ref X` is
//! `{"Ref": "X"}`, `!Sub` is `{"Fn::Sub": …}`), so that what is read from it is read with serde. Values
//! that only a deployment knows are left as they are: what is read here must be literal.

use std::collections::BTreeMap;

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::definition::{Attribute, IndexDefinition, Projection, TableDefinition};
use crate::table::{KeyNames, StreamView};

/// A parsed template.
#[derive(Debug, Clone)]
pub struct Template {
    /// Every resource, by its logical id.
    pub resources: BTreeMap<String, Resource>,
}

/// A resource of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Resource {
    /// `AWS::DynamoDB::Table`, for example.
    #[serde(rename = "Type")]
    pub kind: String,
    /// Its properties, short tags in their long form.
    #[serde(default)]
    pub properties: Value,
}

/// A route of the HTTP API that a function serves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The function's logical id.
    pub function: String,
    /// The method in capitals; `ANY` is all of them.
    pub method: String,
    /// The path, parameters as `{name}` or `{name+}`.
    pub path: String,
}

/// The template cannot be read, or does not say what is asked for.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// It is not YAML.
    #[error("not YAML: {0}")]
    Yaml(#[from] saphyr::ScanError),
    /// It is YAML, but not a template.
    #[error("not a template: {0}")]
    Shape(#[source] serde_json::Error),
    /// A resource is not as its type needs.
    #[error("resource {id}: {source}")]
    Resource {
        /// Its logical id.
        id: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A table's keys, stream or projection are not what DynamoDB knows.
    #[error("resource {id}: {problem}")]
    Table {
        /// Its logical id.
        id: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// It declares no table, or more than one.
    #[error("the template declares {0} tables where one is needed")]
    Tables(usize),
}

impl Template {
    /// Parses the text of a template.
    ///
    /// # Errors
    /// [`TemplateError::Yaml`] and [`TemplateError::Shape`].
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Document {
            resources: BTreeMap<String, Resource>,
        }
        let documents = Yaml::load_from_str(text)?;
        let json = documents.first().map_or(Value::Null, json);
        let document: Document = serde_json::from_value(json).map_err(TemplateError::Shape)?;
        Ok(Self { resources: document.resources })
    }

    /// The resources of a type, with their logical ids.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a Resource)> {
        let all = self.resources.iter();
        all.filter(move |(_, resource)| resource.kind == kind).map(|(id, resource)| (id.as_str(), resource))
    }

    /// The one table it declares.
    ///
    /// # Errors
    /// [`TemplateError::Tables`], unless there is exactly one; [`TemplateError::Resource`] and
    /// [`TemplateError::Table`], if it is not as DynamoDB's are.
    pub fn table(&self) -> Result<TableDefinition, TemplateError> {
        let tables: Vec<_> = self.of_kind("AWS::DynamoDB::Table").collect();
        let [(id, resource)] = tables[..] else {
            return Err(TemplateError::Tables(tables.len()));
        };
        let table: Table = read(id, &resource.properties)?;
        table.definition().map_err(|problem| TemplateError::Table { id: id.to_owned(), problem })
    }

    /// Every route of the HTTP API, sorted.
    ///
    /// # Errors
    /// [`TemplateError::Resource`], if a function's events are not as SAM's are.
    pub fn routes(&self) -> Result<Vec<Route>, TemplateError> {
        let mut routes = Vec::new();
        for (id, resource) in self.of_kind("AWS::Serverless::Function") {
            let function: Function = read(id, &resource.properties)?;
            for event in function.events.into_values() {
                if event.kind != "HttpApi" {
                    continue;
                }
                let HttpApi { path, method } = read(id, &event.properties)?;
                routes.push(Route { function: id.to_owned(), method: method.to_uppercase(), path });
            }
        }
        routes.sort();
        Ok(routes)
    }
}

fn read<T: DeserializeOwned>(id: &str, properties: &Value) -> Result<T, TemplateError> {
    T::deserialize(properties).map_err(|source| TemplateError::Resource { id: id.to_owned(), source })
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Function {
    #[serde(default)]
    events: BTreeMap<String, Event>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    #[serde(rename = "Type")]
    kind: String,
    #[serde(default)]
    properties: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HttpApi {
    path: String,
    method: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Table {
    attribute_definitions: Vec<AttributeDefinition>,
    key_schema: Vec<KeyElement>,
    #[serde(default)]
    global_secondary_indexes: Vec<GlobalSecondaryIndex>,
    time_to_live_specification: Option<TimeToLive>,
    stream_specification: Option<StreamSpecification>,
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
struct StreamSpecification {
    stream_view_type: String,
}

impl Table {
    fn definition(self) -> Result<TableDefinition, &'static str> {
        let attributes = self.attribute_definitions.into_iter();
        let attributes = attributes
            .map(|attribute| Attribute { name: attribute.attribute_name, kind: attribute.attribute_type });
        let indexes = self.global_secondary_indexes.into_iter();
        let stream = match self.stream_specification {
            None => None,
            Some(stream) => Some(
                StreamView::from_name(&stream.stream_view_type).ok_or("there is no such StreamViewType")?,
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
            _ => return Err("there is no such ProjectionType"),
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
            _ => return Err("there is no such KeyType"),
        }
    }
    let partition = partition.ok_or("a key needs a HASH attribute")?;
    Ok(KeyNames { partition, sort })
}

/// A node as JSON, a short tag as the function it stands for.
fn json(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(scalar) => scalar_json(scalar),
        Yaml::Representation(text, ..) => Value::from(text.as_ref()),
        Yaml::Sequence(items) => items.iter().map(json).collect(),
        Yaml::Mapping(entries) => {
            let entry = |(name, value): (&Yaml<'_>, &Yaml<'_>)| (name_of(name), json(value));
            Value::Object(entries.iter().map(entry).collect())
        }
        Yaml::Tagged(tag, node) => {
            let name = match tag.suffix.as_ref() {
                name @ ("Ref" | "Condition") => name.to_owned(),
                name => format!("Fn::{name}"),
            };
            let value = match (tag.suffix.as_ref(), json(node)) {
                // `!GetAtt A.B` is `{"Fn::GetAtt": ["A", "B"]}`.
                ("GetAtt", Value::String(path)) => path.splitn(2, '.').collect(),
                (_, value) => value,
            };
            Value::Object(Map::from_iter([(name, value)]))
        }
        Yaml::Alias(_) | Yaml::BadValue => Value::Null,
    }
}

fn scalar_json(scalar: &Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(boolean) => Value::from(*boolean),
        Scalar::Integer(integer) => Value::from(*integer),
        Scalar::FloatingPoint(float) => Value::from(float.into_inner()),
        Scalar::String(text) => Value::from(text.as_ref()),
    }
}

/// A mapping's key: CloudFormation's are text, but YAML reads some (`200:`, `true:`) as other things.
fn name_of(node: &Yaml<'_>) -> String {
    match json(node) {
        Value::String(name) => name,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_tags_take_their_long_form() {
        let text = "
Resources:
  R:
    Type: X
    Properties:
      A: !Ref Table
      B: !Sub '${AWS::StackName}-table'
      C: !GetAtt Table.StreamArn
      D: !If [Live, !Ref Yes, 5]
      E: !Sub
        - '${a}'
        - {a: !Ref B}
      F: {Fn::Join: ['', [a, b]]}
      G: !Equals [!Ref Stage, live]
      H: !ImportValue shared
      200: ok
";
        let template = Template::parse(text).unwrap();
        let expected = json!({
            "A": {"Ref": "Table"},
            "B": {"Fn::Sub": "${AWS::StackName}-table"},
            "C": {"Fn::GetAtt": ["Table", "StreamArn"]},
            "D": {"Fn::If": ["Live", {"Ref": "Yes"}, 5]},
            "E": {"Fn::Sub": ["${a}", {"a": {"Ref": "B"}}]},
            "F": {"Fn::Join": ["", ["a", "b"]]},
            "G": {"Fn::Equals": [{"Ref": "Stage"}, "live"]},
            "H": {"Fn::ImportValue": "shared"},
            "200": "ok",
        });
        assert_eq!(template.resources["R"].properties, expected);
    }

    #[test]
    fn a_template_without_its_one_table_is_refused() {
        let none = Template::parse("Resources: {}").unwrap();
        assert!(matches!(none.table(), Err(TemplateError::Tables(0))));
        assert!(matches!(Template::parse("a: [1"), Err(TemplateError::Yaml(_))));
        assert!(matches!(Template::parse("[]"), Err(TemplateError::Shape(_))));
        assert!(matches!(Template::parse(""), Err(TemplateError::Shape(_))));
    }
}
