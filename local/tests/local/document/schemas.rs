//! The schemas of the types, in the form in which the document shows them.
//!
//! - A schema whose name begins with `inline.` stands in place of its references, and the properties of one that begins
//!   with `flat.` stand in place of the property that refers to it.
//! - A field that may be absent is not null, unless the parser of a request accepts null.
//! - A description is the first paragraph of a doc comment.

use indexmap::IndexMap;
use lately_kit::document::{RequestBody, Schemas};
use lately_model::{NewConsumer, TopicSettings};
use serde_json::Value;
use utoipa::openapi::schema::{AdditionalProperties, AnyOfBuilder, ArrayItems, SchemaType};
use utoipa::openapi::{Object, ObjectBuilder, Ref, RefOr, Schema, Type};

const PREFIX: &str = "#/components/schemas/";

/// The schemas of all types, as derived.
pub(super) struct Types(IndexMap<String, RefOr<Schema>>);

impl Types {
    pub(super) fn new(schemas: impl IntoIterator<Item = Schemas>) -> Self {
        Self(schemas.into_iter().flatten().collect())
    }

    /// All schemas with a name of their own, in the order of their first use.
    pub(super) fn named(&self, bodies: &[&RequestBody]) -> IndexMap<String, Schema> {
        let is_named = |name: &&String| !name.starts_with("inline.") && !name.starts_with("flat.");
        let named = self.0.keys().filter(is_named).map(|name| {
            let body = bodies.iter().find(|body| body.schemas.contains(name));
            let RefOr::T(mut schema) = self.clean(self.0[name].clone()) else {
                panic!("{name} is a reference")
            };
            match (&mut schema, body) {
                (Schema::Object(object), Some(body)) if !object.properties.is_empty() => {
                    self.restrict(name, object, body)
                }
                (Schema::Object(object), None) => forget_defaults(object),
                _ => {}
            }
            (name.clone(), schema)
        });
        named.collect()
    }

    /// Says about the fields of a request what its parser says: which are required, and which may be null.
    fn restrict(&self, name: &str, object: &mut Object, body: &RequestBody) {
        let faults = &body.faults_of_none;
        let needs_one = faults.iter().any(String::is_empty);
        object.required.retain(|field| needs_one || faults.contains(&format!("/{field}")));
        for (field, schema) in &mut object.properties {
            if !object.required.contains(field) && (body.accepts_null)(field) {
                *schema = nullable(schema.clone());
            }
        }
        for (field, default) in defaults(name).as_object().into_iter().flatten() {
            if let Some(RefOr::T(schema)) = object.properties.get_mut(field) {
                set_default(schema, default.clone());
            }
        }
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        let optional =
            object.properties.keys().filter(|_| needs_one).filter(|field| !object.required.contains(field));
        object.min_properties = (optional.count() > 0).then_some(object.required.len() + 1);
    }

    /// The properties of a schema, with their names: a query's parameters.
    pub(super) fn properties(&self, schema: RefOr<Schema>) -> Vec<(String, RefOr<Schema>)> {
        match self.clean(schema) {
            RefOr::T(Schema::Object(object)) => object.properties.into_iter().collect(),
            _ => panic!("a query is an object"),
        }
    }

    /// A schema in the document's form.
    pub(super) fn clean(&self, schema: RefOr<Schema>) -> RefOr<Schema> {
        match schema {
            RefOr::Ref(reference) => self.reference(reference),
            RefOr::T(Schema::Object(object)) => Schema::Object(self.object(object)).into(),
            RefOr::T(Schema::AllOf(all)) => {
                let mut merged =
                    ObjectBuilder::new().description(all.description.as_deref().map(first)).build();
                for item in all.items {
                    let (item, is_optional) = without_null(item);
                    let target = match self.clean(item) {
                        RefOr::Ref(reference) => self.clean(self.named_as(&reference).clone()),
                        schema => schema,
                    };
                    let RefOr::T(Schema::Object(part)) = target else { panic!("only objects are flattened") };
                    merged.properties.extend(part.properties);
                    merged.required.extend(part.required.into_iter().filter(|_| !is_optional));
                    merged.description = merged.description.or(part.description);
                }
                Schema::Object(merged).into()
            }
            RefOr::T(Schema::Array(mut array)) => {
                if let ArrayItems::RefOrSchema(items) = array.items {
                    array.items = ArrayItems::RefOrSchema(Box::new(self.clean(*items)));
                }
                array.description = array.description.as_deref().map(first);
                Schema::Array(array).into()
            }
            RefOr::T(Schema::OneOf(one)) if one.items.iter().any(is_null) => {
                nullable(self.clean(without_null(Schema::OneOf(one).into()).0))
            }
            RefOr::T(Schema::OneOf(one)) => {
                let description = one.description.as_deref().map(first);
                match <[_; 1]>::try_from(one.items) {
                    Ok([item]) => describe(self.clean(item), description),
                    Err(items) => {
                        any_of(items.into_iter().map(|item| self.clean(item)).collect(), description)
                    }
                }
            }
            RefOr::T(Schema::AnyOf(any)) => {
                any_of(any.items.into_iter().map(|item| self.clean(item)).collect(), any.description)
            }
            other => other,
        }
    }

    /// The schema that a reference names.
    fn named_as(&self, reference: &Ref) -> &RefOr<Schema> {
        let name = name_of(reference);
        self.0.get(name).unwrap_or_else(|| panic!("no type is {name}"))
    }

    fn reference(&self, mut reference: Ref) -> RefOr<Schema> {
        let name = name_of(&reference).to_owned();
        let description = Some(first(&reference.description)).filter(|text| !text.is_empty());
        if name.starts_with("inline.") {
            return describe(self.clean(self.named_as(&reference).clone()), description);
        }
        reference.ref_location = format!("{PREFIX}{name}");
        reference.description = description.unwrap_or_default();
        reference.into()
    }

    fn object(&self, mut object: Object) -> Object {
        object.description = object.description.as_deref().map(first);
        // Formats such as `int32` say less than the bounds.
        if object.schema_type != SchemaType::from(Type::String) {
            object.format = None;
        }
        for (field, schema) in std::mem::take(&mut object.properties) {
            if let RefOr::Ref(reference) = &schema
                && name_of(reference).starts_with("flat.")
            {
                object.properties.extend(self.properties(self.named_as(reference).clone()));
                continue;
            }
            let is_optional = !object.required.contains(&field);
            let schema = if is_optional { without_null(schema).0 } else { schema };
            object.properties.insert(field, self.clean(schema));
        }
        object
    }
}

fn name_of(reference: &Ref) -> &str {
    reference.ref_location.strip_prefix(PREFIX).unwrap()
}

/// The first paragraph of a doc comment, on one line, without the form of the JSON.
pub(super) fn first(text: impl AsRef<str>) -> String {
    let paragraph = text.as_ref().split("\n\n").next().unwrap_or_default();
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    // The document shows the fields itself.
    line.split_once(": `{").map_or(line.clone(), |(before, _)| format!("{before}."))
}

fn is_null(schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::T(Schema::Object(object)) if object.schema_type == SchemaType::from(Type::Null))
}

/// The schema without null, and true if it had null.
fn without_null(schema: RefOr<Schema>) -> (RefOr<Schema>, bool) {
    match schema {
        RefOr::T(Schema::OneOf(mut one)) if one.items.iter().any(is_null) => {
            one.items.retain(|item| !is_null(item));
            let description = one.description.take();
            let [item] = <[_; 1]>::try_from(one.items).unwrap_or_else(|_| panic!("an option has one type"));
            (describe(item, description), true)
        }
        RefOr::T(Schema::Object(mut object)) => {
            let types = match &object.schema_type {
                SchemaType::Array(types) => types.iter().find(|kind| **kind != Type::Null).cloned(),
                _ => None,
            };
            let has_null = types.is_some();
            object.schema_type = types.map_or(object.schema_type, SchemaType::from);
            (Schema::Object(object).into(), has_null)
        }
        RefOr::T(Schema::Array(mut array)) => {
            array.schema_type = Type::Array.into();
            (Schema::Array(array).into(), false)
        }
        other => (other, false),
    }
}

/// The schema, or null.
fn nullable(schema: RefOr<Schema>) -> RefOr<Schema> {
    match schema {
        RefOr::T(Schema::Object(mut object)) if matches!(object.schema_type, SchemaType::Type(_)) => {
            let SchemaType::Type(kind) = object.schema_type else { unreachable!() };
            object.schema_type = SchemaType::Array(vec![kind, Type::Null]);
            Schema::Object(object).into()
        }
        RefOr::Ref(mut reference) => {
            let description = Some(std::mem::take(&mut reference.description));
            let null = Schema::Object(ObjectBuilder::new().schema_type(Type::Null).build());
            any_of(vec![reference.into(), null.into()], description.filter(|text| !text.is_empty()))
        }
        other => other,
    }
}

fn any_of(items: Vec<RefOr<Schema>>, description: Option<String>) -> RefOr<Schema> {
    let any = items.into_iter().fold(AnyOfBuilder::new(), AnyOfBuilder::item);
    any.description(description).into()
}

/// The schema with a description of its use, if there is one.
fn describe(schema: RefOr<Schema>, text: Option<String>) -> RefOr<Schema> {
    let Some(text) = text else { return schema };
    match schema {
        RefOr::Ref(mut reference) => {
            reference.description = text;
            reference.into()
        }
        RefOr::T(mut schema) => {
            let description = match &mut schema {
                Schema::Object(it) => &mut it.description,
                Schema::Array(it) => &mut it.description,
                Schema::AnyOf(it) => &mut it.description,
                Schema::OneOf(it) => &mut it.description,
                Schema::AllOf(it) => &mut it.description,
                _ => return schema.into(),
            };
            *description = Some(text);
            schema.into()
        }
    }
}

/// A response has no defaults.
fn forget_defaults(object: &mut Object) {
    for schema in object.properties.values_mut() {
        if let RefOr::T(Schema::Object(field)) = schema {
            field.default = None;
        }
    }
}

/// The values that absent fields of a request get.
fn defaults(name: &str) -> Value {
    let defaults = match name {
        "TopicChange" => serde_json::to_value(TopicSettings::default()),
        "NewConsumer" => serde_json::to_value(NewConsumer::default()),
        _ => Ok(Value::Null),
    };
    defaults.unwrap()
}

fn set_default(schema: &mut Schema, value: Value) {
    match schema {
        Schema::Object(it) => it.default = Some(value),
        Schema::Array(it) => it.default = Some(value),
        Schema::AnyOf(it) => it.default = Some(value),
        _ => {}
    }
}
