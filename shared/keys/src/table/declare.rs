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

use super::form::Form;
use crate::key::TableKey;

/// The values in a text with this layout, each with its name; `None` if the text has another layout.
pub(super) fn values<'a>(layout: &'static str, text: &'a str) -> Option<Vec<(&'static str, &'a str)>> {
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
pub(super) const fn prefix(layout: &'static str) -> &'static str {
    let mut end = 0;
    while layout.as_bytes()[end] != b'{' {
        end += 1;
    }
    layout.split_at(end).0
}

/// Reads the value with this name.
pub(super) fn read<F: Form<T>, T: std::fmt::Display>(values: &[(&str, &str)], name: &str) -> Option<T> {
    let (_, text) = values.iter().find(|(known, _)| *known == name)?;
    F::read(text)
}

/// The key if these are its texts.
pub(super) fn exact<K: TableKey>(key: K, pk: &str, sk: &str) -> Option<K> {
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
                use $crate::table::form::Form;
                $(let $field = <key!(@form $($form)?)>::write(&self.$field);)*
                write!(f, $text)
            }
        }

        impl $crate::table::form::Form<$name> for $crate::table::form::Text {
            fn read(text: &str) -> Option<$name> {
                use $crate::table::declare::{read, values};
                let values = values($text, text)?;
                Some($name { $($field: read::<key!(@form $($form)?), _>(&values, stringify!($field))?,)* })
            }
        }

        $(impl $crate::key::TableKey for $name {
            const PLACE: $crate::key::Place = $crate::key::Place::$place;

            fn encode(&self) -> $crate::key::Key {
                $crate::key::Key { pk: self.to_string(), sk: $sk.to_owned() }
            }

            fn decode(pk: &str, sk: &str) -> Option<Self> {
                use $crate::table::declare::exact;
                use $crate::table::form::{Form, Text};
                exact(Text::read(pk)?, pk, sk)
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

        impl $crate::key::TableKey for $name {
            const PLACE: $crate::key::Place = $crate::key::Place::$place;

            fn encode(&self) -> $crate::key::Key {
                use $crate::table::form::Form;
                $(let $field = <key!(@form $($form)?)>::write(&self.$field);)*
                $crate::key::Key { pk: format!($pk), sk: format!($sk) }
            }

            fn decode(pk: &str, sk: &str) -> Option<Self> {
                use $crate::table::declare::{exact, read, values};
                let values = [values($pk, pk)?, values($sk, sk)?].concat();
                let key = Self { $($field: read::<key!(@form $($form)?), _>(&values, stringify!($field))?,)* };
                exact(key, pk, sk)$(.filter($condition))?
            }
        }

        impl $name {
            $(
                /// All sort keys of the family begin with this text.
                pub const $prefix: &str = $crate::table::declare::prefix($sk);
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
                    use $crate::table::form::Form;
                    $(let $sk_value = <key!(@form $($sk_form)?)>::write(&$sk_value);)*
                    format!($sk)
                }
            )?
        }
    };

    (@form) => { $crate::table::form::Text };
    (@form $form:ident) => { $form };
}
pub(super) use key;

/// Declares an enum whose values are fixed words. If clients write them too, it has an error for all other words.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }
        $(else $error:ident = $message:literal)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The value's word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::table::form::Form<$name> for $crate::table::form::Word {
            fn read(text: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|word| word.as_str() == text)
            }
        }

        $(
            /// The text is none of the words.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
            #[error($message)]
            pub struct $error;

            impl std::str::FromStr for $name {
                type Err = $error;

                fn from_str(text: &str) -> Result<Self, $error> {
                    use $crate::table::form::{Form, Word};
                    Word::read(text).ok_or($error)
                }
            }

            $crate::text::serde_as_text!($name);
        )?
    };
}
pub(super) use words;
