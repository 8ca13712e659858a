//! The declaration of keys: [`key!`] makes a family from its fields and the layout of its two texts.
//!
//! A layout is written as for `format!`, and decoding reads it backwards: `FEED#{user}` is `FEED#` and then the user.
//! A value ends where the fixed text after it begins. No name contains a `#`, so the values are found again.
//!
//! ```text
//! key! {
//!     /// An event in a user's feed.
//!     pub struct FeedEntryKey {
//!         /// The feed's user.
//!         pub user: User,
//!         /// The event.
//!         pub id: EventId as NewestFirst,      the form of the id in the key; the default is `Text`
//!     }
//!     Table: pk "FEED#{user}" sk "{id}"        the key in the table; `Gsi1` and `Gsi2` are the indexes
//! }
//! ```
//!
//! Further clauses, in this order:
//!
//! - `const PREFIX`: the text before the first value of the sort key, for queries.
//! - `fn partition(user: &User)` and `fn sort_key(id: EventId as NewestFirst)`: a text alone, for queries.
//! - `if |key| …`: a condition that decoded keys must meet.
//!
//! `text "FEED#{user}"` instead of a key makes this layout the text (`Display`) of the struct. The struct can then be a
//! field of keys, for example their whole partition. With `Table: pk text sk "…"` it is also a key itself.
//!
//! Many values have several texts: `7` and `07`, or an id in capitals. A key has one. So decoding always ends in
//! [`exact`]: a key is accepted only if it encodes to the text that it was decoded from.

use std::fmt::Display;
use std::str::FromStr;

use lately_keys::TableKey;

use crate::form::Form;

/// The values in a text with this layout, each with its name; `None` if the text has another layout.
pub(crate) fn values<'a>(layout: &'static str, text: &'a str) -> Option<Vec<(&'static str, &'a str)>> {
    let mut pieces = layout.split(['{', '}']);
    let mut rest = text.strip_prefix(pieces.next()?)?;
    let mut values = Vec::new();
    while let (Some(name), Some(fixed)) = (pieces.next(), pieces.next()) {
        let (value, after) = if fixed.is_empty() { (rest, "") } else { rest.split_once(fixed)? };
        values.push((name, value));
        rest = after;
    }
    rest.is_empty().then_some(values)
}

/// The fixed text before the first value of a layout.
pub(crate) const fn prefix(layout: &'static str) -> &'static str {
    let mut end = 0;
    while layout.as_bytes()[end] != b'{' {
        end += 1;
    }
    layout.split_at(end).0
}

/// Reads the value with this name.
pub(crate) fn read<F: Form<T>, T: Display + FromStr>(values: &[(&str, &str)], name: &str) -> Option<T> {
    let (_, text) = values.iter().find(|(known, _)| *known == name)?;
    F::read(text)
}

/// The key if these are its texts.
pub(crate) fn exact<K: TableKey>(key: K, pk: &str, sk: &str) -> Option<K> {
    let own = key.encode();
    (own.pk == pk && own.sk == sk).then_some(key)
}

/// Declares a family of keys: the documentation of this file shows how.
macro_rules! key {
    // A struct whose text is a partition, or a part of a key; perhaps also the key of an item in this partition.
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* $vis:vis $field:ident: $type:ty $(as $form:ident)?,)*
        }
        text $text:literal
        $($place:ident: pk text sk $sk:literal)?
    ) => {
        $(#[$meta])*
        ///
        #[doc = concat!("Text: `", $text, "`." $(, " ", stringify!($place), ": this text is the pk; sk `", $sk, "`.")?)]
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            $($(#[$field_meta])* $vis $field: $type,)*
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                use crate::form::Form;
                $(let $field = <key!(@form $($form)?)>::write(&self.$field);)*
                write!(f, $text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = lately_keys::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                use crate::key::{read, values};
                let read = || {
                    let values = values($text, text)?;
                    Some(Self { $($field: read::<key!(@form $($form)?), _>(&values, stringify!($field))?,)* })
                };
                read().ok_or(lately_keys::UnknownWord)
            }
        }

        $(impl lately_keys::TableKey for $name {
            const PLACE: lately_keys::Place = lately_keys::Place::$place;

            fn encode(&self) -> lately_keys::Key {
                lately_keys::Key { pk: self.to_string(), sk: $sk.to_owned() }
            }

            fn decode(pk: &str, sk: &str) -> Option<Self> {
                use crate::key::exact;
                exact(pk.parse().ok()?, pk, sk)
            }
        })?
    };

    // The key of an item.
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* $vis:vis $field:ident: $type:ty $(as $form:ident)?,)*
        }
        $place:ident: pk $pk:literal sk $sk:literal
        $(const $prefix:ident)?
        $(fn partition($($pk_value:ident: $pk_type:ty),*))?
        $(fn sort_key($($sk_value:ident: $sk_type:ty $(as $sk_form:ident)?),*))?
        $(if $condition:expr)?
    ) => {
        $(#[$meta])*
        ///
        #[doc = concat!(stringify!($place), ": pk `", $pk, "`, sk `", $sk, "`.")]
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            $($(#[$field_meta])* $vis $field: $type,)*
        }

        impl lately_keys::TableKey for $name {
            const PLACE: lately_keys::Place = lately_keys::Place::$place;

            fn encode(&self) -> lately_keys::Key {
                use crate::form::Form;
                $(let $field = <key!(@form $($form)?)>::write(&self.$field);)*
                lately_keys::Key { pk: format!($pk), sk: format!($sk) }
            }

            fn decode(pk: &str, sk: &str) -> Option<Self> {
                use crate::key::{exact, read, values};
                let values = [values($pk, pk)?, values($sk, sk)?].concat();
                let key = Self { $($field: read::<key!(@form $($form)?), _>(&values, stringify!($field))?,)* };
                exact(key, pk, sk)$(.filter($condition))?
            }
        }

        impl $name {
            $(
                /// All sort keys of the family begin with this text.
                pub const $prefix: &str = crate::key::prefix($sk);
            )?
            $(
                #[doc = concat!("The partition `", $pk, "`.")]
                pub fn partition($($pk_value: $pk_type),*) -> String {
                    format!($pk)
                }
            )?
            $(
                #[doc = concat!("The sort key `", $sk, "`.")]
                pub fn sort_key($($sk_value: $sk_type),*) -> String {
                    use crate::form::Form;
                    $(let $sk_value = <key!(@form $($sk_form)?)>::write(&$sk_value);)*
                    format!($sk)
                }
            )?
        }
    };

    (@form) => { crate::form::Text };
    (@form $form:ident) => { $form };
}
pub(crate) use key;
