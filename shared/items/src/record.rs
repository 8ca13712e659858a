//! The declaration of records: [`record!`] makes a struct from its attributes, and reads and writes them.
//!
//! ```text
//! record! {
//!     /// A follow as the user's partition holds it.
//!     pub struct FollowEdge {
//!         /// The followed source.
//!         pub source: Source = of_key,                     a part of the item's key, a `FollowKey`
//!         /// When the follow began.
//!         pub since: UnixMillis = required("since"),       the attribute `since`
//!     }
//!     key FollowKey { source, .. }
//! }
//! ```
//!
//! A field is one of these:
//!
//! | field | is stored as |
//! | --- | --- |
//! | `required("since")` | an attribute |
//! | `optional("user")` | an attribute, if the `Option` is not empty |
//! | `flag("last")` | an attribute, if the `bool` is true |
//! | `unless("n")` | an attribute, if the `bool` is false |
//! | `list("keys")` | an attribute, if the list is not empty |
//! | `seconds("expires_at")` | a time in whole seconds |
//! | `default("labels")` | an attribute; the default if there is none |
//! | `part` | the attributes of another record |
//! | `part_if("batch")` | the attributes of another record, if the `Option` is not empty; then the item has this attribute |
//! | `key` | the item's key; `encode` then makes the whole item |
//! | `of_key` | a part of the item's key: the value that the pattern after the struct binds to the field's name |
//! | `of_sort_key` | the item's sort key, which is the inverted id |
//!
//! `required(SINCE = "since")` also makes `SINCE` a constant of the struct, for conditions and updates. A struct of another
//! crate is declared without its types: `record! { RunSpec { group_by: required("group_by"), sum: optional("sum"), } }`.

use crate::item::{Corrupt, Item};

/// A struct whose fields are attributes of an item.
pub trait Record: Sized {
    /// An item with the attributes of the record.
    fn add_to(&self, item: Item) -> Item;

    /// The record of an item.
    ///
    /// # Errors
    /// If the item has another form.
    fn decode(item: &Item) -> Result<Self, Corrupt>;
}

/// Declares a record: the documentation of this file shows how.
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(
                $(#[$doc:meta])*
                $vis:vis $field:ident: $type:ty = $kind:ident $(($($constant:ident =)? $attribute:literal))?,
            )*
        }
        $(key $key:pat)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$doc])* $vis $field: $type,)*
        }

        impl $name {
            $($($(
                #[doc = concat!("The attribute of `", stringify!($field), "`.")]
                pub const $constant: &str = $attribute;
            )?)?)*

            #[doc = concat!("The `", stringify!($name), "` of an item.")]
            ///
            /// # Errors
            /// If the item has another form.
            pub fn decode(item: &$crate::Item) -> Result<Self, $crate::Corrupt> {
                $crate::Record::decode(item)
            }
        }

        $(record! { @encode $name, $field, $kind })*
        record! { $name { $($field: $kind $(($attribute))?,)* } $(key $key)? }
    };

    ($name:ident { $($field:ident: $kind:ident $(($attribute:literal))?,)* } $(key $key:pat)?) => {
        impl $crate::Record for $name {
            fn add_to(&self, item: $crate::Item) -> $crate::Item {
                $(let item = record!(@write item, &self.$field, $kind $($attribute)?);)*
                item
            }

            fn decode(item: &$crate::Item) -> Result<Self, $crate::Corrupt> {
                $(let $key = item.key_as()?;)?
                Ok(Self { $($field: record!(@read item, $field, $kind $($attribute)?),)* })
            }
        }
    };

    (@encode $name:ident, $field:ident, key) => {
        impl $name {
            /// The record's item.
            pub fn encode(&self) -> $crate::Item {
                $crate::Record::add_to(self, $crate::Item::at(&self.$field))
            }
        }
    };
    (@encode $name:ident, $field:ident, $kind:ident) => {};

    (@write $item:ident, $value:expr, required $name:literal) => { $item.with($name, $value) };
    (@write $item:ident, $value:expr, optional $name:literal) => { $item.with_some($name, $value.as_ref()) };
    (@write $item:ident, $value:expr, flag $name:literal) => { $item.with_flag($name, *$value) };
    (@write $item:ident, $value:expr, unless $name:literal) => { $item.with_flag($name, !*$value) };
    (@write $item:ident, $value:expr, seconds $name:literal) => { $item.with($name, $value.get() / 1000) };
    (@write $item:ident, $value:expr, default $name:literal) => { $item.with($name, $value) };
    (@write $item:ident, $value:expr, list $name:literal) => {
        $item.with_some($name, Some($value).filter(|list| !list.is_empty()))
    };
    (@write $item:ident, $value:expr, part) => { $crate::Record::add_to($value, $item) };
    (@write $item:ident, $value:expr, part_if $name:literal) => {
        match $value {
            Some(part) => $crate::Record::add_to(part, $item),
            None => $item,
        }
    };
    (@write $item:ident, $value:expr, key) => { $item };
    (@write $item:ident, $value:expr, of_key) => { $item };
    (@write $item:ident, $value:expr, of_sort_key) => { $item };

    (@read $item:ident, $field:ident, required $name:literal) => { $item.get($name)? };
    (@read $item:ident, $field:ident, optional $name:literal) => { $item.optional($name)? };
    (@read $item:ident, $field:ident, flag $name:literal) => { $item.flag($name) };
    (@read $item:ident, $field:ident, unless $name:literal) => { !$item.flag($name) };
    (@read $item:ident, $field:ident, seconds $name:literal) => {
        lately_keys::UnixMillis::new($item.get::<u64>($name)?.saturating_mul(1000))
            .map_err(|_| $item.corrupt($name))?
    };
    (@read $item:ident, $field:ident, default $name:literal) => { $item.optional($name)?.unwrap_or_default() };
    (@read $item:ident, $field:ident, list $name:literal) => { $item.optional($name)?.unwrap_or_default() };
    (@read $item:ident, $field:ident, part) => { $crate::Record::decode($item)? };
    (@read $item:ident, $field:ident, part_if $name:literal) => {
        match $item.has($name) {
            true => Some($crate::Record::decode($item)?),
            false => None,
        }
    };
    (@read $item:ident, $field:ident, key) => { $item.key_as()? };
    (@read $item:ident, $field:ident, of_key) => { $field };
    (@read $item:ident, $field:ident, of_sort_key) => { $crate::id_of_sort_key($item)? };
}
pub(crate) use record;

/// Declares records that are stored as a map within an attribute, perhaps with a condition that they must meet.
macro_rules! maps {
    ($($record:ident $(if $condition:expr)?;)*) => {$(
        impl $crate::Attribute for $record {
            fn write(&self) -> $crate::attribute::AttributeValue {
                $crate::attribute::AttributeValue::M(self.add_to($crate::Item::new()).into_attributes())
            }

            fn read(map: &$crate::attribute::AttributeValue) -> Option<Self> {
                Self::decode(&map.as_m().ok()?.clone().into()).ok()$(.filter($condition))?
            }
        }
    )*};
}
pub(crate) use maps;
