//! The template as a whole, with a method for each part of it that a program reads.

use std::collections::BTreeMap;
use std::time::Duration;

use lately_engine::TableDefinition;
use lately_pump::Mapping;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::TemplateError;
use crate::function::{DEFAULT_TIMEOUT, DeclaredFunction, Statement};
use crate::parameter::Parameters;
use crate::schedule::Schedule;
use crate::table::DeclaredTable;
use crate::{function, mapping, parameter, schedule, yaml};

/// A parsed template.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Template {
    /// Every resource, by its logical id.
    pub resources: BTreeMap<String, Resource>,
    #[serde(default)]
    parameters: Parameters,
    #[serde(default)]
    globals: Globals,
}

#[derive(Debug, Clone, Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Globals {
    /// The properties that functions have unless they declare their own.
    function: Map<String, Value>,
}

/// A resource of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Resource {
    /// The resource's type: `AWS::DynamoDB::Table`, for example.
    #[serde(rename = "Type")]
    pub kind: String,
    /// The resource's properties, with short tags in their long form.
    #[serde(default)]
    pub properties: Value,
}

/// A route of the HTTP API that a function serves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The function's logical id.
    pub function: String,
    /// The method in capitals. `ANY` stands for all methods.
    pub method: String,
    /// The path, with its parameters as `{name}` or `{name+}`.
    pub path: String,
}

impl Template {
    /// Parses the text of a template.
    ///
    /// # Errors
    /// [`TemplateError::Yaml`], if the text is not YAML; [`TemplateError::Shape`], if it is not a template.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        serde_json::from_value(yaml::parse(text)?).map_err(TemplateError::Shape)
    }

    /// The template with a value for a parameter, as a deployment gives it.
    ///
    /// # Errors
    /// [`TemplateError::Parameter`], if the parameter does not exist.
    pub fn with(mut self, parameter: &str, value: &str) -> Result<Self, TemplateError> {
        if self.parameters.give(parameter, value) {
            return Ok(self);
        }
        Err(TemplateError::Parameter(parameter.to_owned()))
    }

    /// The resources of a type, with their logical ids.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a Resource)> {
        let all = self.resources.iter();
        all.filter(move |(_, resource)| resource.kind == kind).map(|(id, resource)| (id.as_str(), resource))
    }

    /// A property of a resource as text, by its JSON Pointer; `None` if there is none, or if only a deployment knows it.
    pub fn property(&self, resource: &str, pointer: &str) -> Option<String> {
        let property = self.resources.get(resource)?.properties.pointer(pointer)?;
        parameter::text(&self.parameters.resolve(property))
    }

    /// The one table that the template declares.
    ///
    /// # Errors
    /// [`TemplateError::Tables`], unless there is exactly one table; [`TemplateError::Resource`], if it is not valid in
    /// DynamoDB.
    pub fn table(&self) -> Result<TableDefinition, TemplateError> {
        let (id, resource) = self.table_resource()?;
        Ok(read::<DeclaredTable>(id, &resource.properties)?.into())
    }

    /// Every route of the HTTP API, sorted.
    ///
    /// # Errors
    /// [`TemplateError::Resource`], if a function's events are not valid in SAM.
    pub fn routes(&self) -> Result<Vec<Route>, TemplateError> {
        let mut routes = Vec::new();
        for (id, _, properties) in self.events("HttpApi")? {
            let HttpApi { path, method } = read(id, &properties)?;
            routes.push(Route { function: id.to_owned(), method: method.to_uppercase(), path });
        }
        routes.sort();
        Ok(routes)
    }

    /// Every mapping of the table's stream to a function, by the ids of function and event.
    ///
    /// # Errors
    /// [`TemplateError::Resource`], if an event is not valid in SAM, or has a property that the pump does not know;
    /// [`TemplateError::Mapping`], if a value is not valid in Lambda, or the pump does not support it;
    /// [`TemplateError::Tables`], if there is a mapping but not exactly one table.
    pub fn mappings(&self) -> Result<Vec<Mapping>, TemplateError> {
        let mut mappings = Vec::new();
        for (id, name, properties) in self.events("DynamoDB")? {
            let (table, _) = self.table_resource()?;
            let declared: mapping::DeclaredMapping = read(id, &self.parameters.resolve(&properties))?;
            mappings.push(declared.mapping(id, &name, table)?);
        }
        Ok(mappings)
    }

    /// Every schedule on which a function is invoked, by the ids of function and event.
    ///
    /// # Errors
    /// [`TemplateError::Resource`], if an event is not valid in SAM; [`TemplateError::Schedule`], if only a deployment
    /// knows its expression or input.
    pub fn schedules(&self) -> Result<Vec<Schedule>, TemplateError> {
        let mut schedules = Vec::new();
        for (id, name, properties) in self.events("ScheduleV2")? {
            let declared: schedule::DeclaredSchedule = read(id, &properties)?;
            let unknown = || TemplateError::Schedule { function: id.to_owned(), event: name.clone() };
            schedules.push(declared.schedule(id, &name, &self.parameters).ok_or_else(unknown)?);
        }
        Ok(schedules)
    }

    /// The environment of a function: the variables of `Globals`, overridden by the function's own. Variables whose
    /// values only a deployment knows are omitted.
    ///
    /// # Errors
    /// [`TemplateError::Function`], if the function does not exist; [`TemplateError::Resource`], if its environment is
    /// not valid in SAM.
    pub fn environment(&self, function: &str) -> Result<BTreeMap<String, String>, TemplateError> {
        let mut variables = self.every_function()?.environment.variables;
        variables.extend(self.function(function)?.environment.variables);
        let literal = |value: Value| parameter::text(&self.parameters.resolve(&value));
        let literals = variables.into_iter().filter_map(|(name, value)| Some((name, literal(value)?)));
        Ok(literals.collect())
    }

    /// The timeout of a function.
    ///
    /// # Errors
    /// [`TemplateError::Function`], if the function does not exist; [`TemplateError::Resource`], if the timeout is not
    /// a number of seconds.
    pub fn timeout(&self, function: &str) -> Result<Duration, TemplateError> {
        let seconds = self.function(function)?.timeout.or(self.every_function()?.timeout);
        let seconds = seconds.unwrap_or(DEFAULT_TIMEOUT);
        Ok(Duration::from_secs(seconds.into()))
    }

    /// The statements of a function's inline policies. They do not include managed policies and SAM's policy templates,
    /// which a function refers to by name.
    ///
    /// # Errors
    /// [`TemplateError::Function`], if the function does not exist; [`TemplateError::Resource`], if a statement has
    /// parts that [`Statement`] lacks.
    pub fn statements(&self, function: &str) -> Result<Vec<Statement>, TemplateError> {
        let policies = self.function(function)?.policies;
        function::statements(&policies)
            .map_err(|source| TemplateError::Resource { id: function.to_owned(), source })
    }

    fn table_resource(&self) -> Result<(&str, &Resource), TemplateError> {
        let tables: Vec<_> = self.of_kind("AWS::DynamoDB::Table").collect();
        let [table] = tables[..] else { return Err(TemplateError::Tables(tables.len())) };
        Ok(table)
    }

    /// The events of a kind, of all functions: the ids of function and event, and the event's properties.
    fn events(&self, kind: &str) -> Result<Vec<(&str, String, Value)>, TemplateError> {
        let mut events = Vec::new();
        for (id, resource) in self.of_kind(FUNCTION) {
            let DeclaredFunction { events: declared, .. } = read(id, &resource.properties)?;
            let of_kind = declared.into_iter().filter(|(_, event)| event.kind == kind);
            events.extend(of_kind.map(|(name, event)| (id, name, event.properties)));
        }
        Ok(events)
    }

    /// The properties of `Globals`.
    fn every_function(&self) -> Result<DeclaredFunction, TemplateError> {
        read("Globals", &Value::Object(self.globals.function.clone()))
    }

    fn function(&self, id: &str) -> Result<DeclaredFunction, TemplateError> {
        let resource = self.resources.get(id).filter(|resource| resource.kind == FUNCTION);
        let resource = resource.ok_or_else(|| TemplateError::Function(id.to_owned()))?;
        read(id, &resource.properties)
    }
}

const FUNCTION: &str = "AWS::Serverless::Function";

fn read<T: DeserializeOwned>(id: &str, properties: &Value) -> Result<T, TemplateError> {
    T::deserialize(properties).map_err(|source| TemplateError::Resource { id: id.to_owned(), source })
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HttpApi {
    path: String,
    method: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_template_or_one_without_a_table_is_refused() {
        let none = Template::parse("Resources: {}").unwrap();
        assert!(matches!(none.table(), Err(TemplateError::Tables(0))));
        assert!(matches!(Template::parse("a: [1"), Err(TemplateError::Yaml(_))));
        assert!(matches!(Template::parse("[]"), Err(TemplateError::Shape(_))));
        assert!(matches!(Template::parse(""), Err(TemplateError::Shape(_))));
    }
}
