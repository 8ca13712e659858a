//! Shared code of the types that are parsed from text.

use std::fmt::Display;
use std::str::FromStr;

/// A value whose only valid text is the one that it is written as. A number's parser alone would also accept a sign and
/// leading zeros.
pub(crate) fn canonical<T: FromStr + Display>(text: &str) -> Option<T> {
    text.parse().ok().filter(|value: &T| value.to_string() == text)
}

/// Defines a type for the texts that fulfil a rule, and the error of a text that does not.
macro_rules! ruled_text {
    (
        $(#[$meta:meta])*
        $name:ident if $fulfils:expr;
        $(#[$error_meta:meta])*
        $error:ident = $message:literal;
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(Box<str>);

        $(#[$error_meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $error;

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                let fulfils: fn(&str) -> bool = $fulfils;
                fulfils(text).then(|| Self(text.into())).ok_or($error)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        lately_keys::serde_as_text!($name);
    };
}

pub(crate) use ruled_text;
