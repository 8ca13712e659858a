//! Schemas of types whose JSON is a text or a number, for the OpenAPI document.
//!
//! A schema is declared beside the code that parses the type, and takes its bounds from the same constants.

/// Gives a type its schema. `inline` schemas have no name in the document.
#[cfg(feature = "document")]
#[macro_export]
macro_rules! schema {
    ($type:ty, inline, $schema:expr) => {
        $crate::schema!($type, concat!("inline.", stringify!($type)), $schema);
    };
    ($type:ty, $name:expr, $schema:expr) => {
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                use $crate::schema::*;
                $schema.into()
            }
        }

        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
        }
    };
}

/// Without the feature `document`, types have no schemas.
#[cfg(not(feature = "document"))]
#[macro_export]
macro_rules! schema {
    ($($schema:tt)*) => {};
}

#[cfg(feature = "document")]
pub use schemas::*;

#[cfg(feature = "document")]
mod schemas {
    use utoipa::ToSchema;
    use utoipa::openapi::{ArrayBuilder, Ref};

    pub use utoipa::openapi::{ObjectBuilder, Type};

    /// Text with this pattern.
    pub fn text(pattern: impl Into<String>) -> ObjectBuilder {
        ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
    }

    /// Text of at least one character.
    pub fn line(most: usize) -> ObjectBuilder {
        let line = ObjectBuilder::new().schema_type(Type::String);
        line.min_length(Some(1)).max_length(Some(most))
    }

    /// A whole number within bounds.
    pub fn number(least: impl Into<u64>, most: impl Into<u64>) -> ObjectBuilder {
        let bounded = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(least.into()));
        bounded.maximum(Some(most.into()))
    }

    /// One of these words.
    pub fn words(words: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
    }

    /// The schema of another type, by its name.
    pub fn reference<T: ToSchema>() -> Ref {
        Ref::from_schema_name(T::name())
    }

    /// The same reference with a description.
    pub fn described(mut reference: Ref, description: &str) -> Ref {
        description.clone_into(&mut reference.description);
        reference
    }

    /// A list with bounds, which the derived schema of a `Vec` does not have.
    pub fn list<T: ToSchema>(least: usize, most: usize) -> ArrayBuilder {
        let is_inline = T::name().starts_with("inline.");
        let items = if is_inline { T::schema() } else { reference::<T>().into() };
        let list = ArrayBuilder::new().items(items).max_items(Some(most));
        list.min_items((least > 0).then_some(least))
    }
}
