//! Whole numbers with bounds: a number outside the bounds cannot be made.

/// Defines a type for the whole numbers from one bound to another, and the error of a number outside them.
///
/// The caller adds a default. The error's message names both bounds.
macro_rules! bounded {
    (
        $(#[$meta:meta])*
        $name:ident($integer:ty): $least:literal..=$most:expr $(, default $default:expr)?;
        $(#[$error_meta:meta])*
        $error:ident = $message:literal;
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
        pub struct $name($integer);

        $(#[$error_meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[error($message, $least, $most)]
        pub struct $error;

        impl $name {
            /// The number, if it lies within the bounds.
            ///
            /// # Errors
            /// If the number lies outside the bounds.
            pub const fn new(number: $integer) -> Result<Self, $error> {
                let (least, most): ($integer, $integer) = ($least, $most);
                if number >= least && number <= most { Ok(Self(number)) } else { Err($error) }
            }

            /// The number.
            pub const fn get(self) -> $integer {
                self.0
            }
        }

        $(
            impl Default for $name {
                fn default() -> Self {
                    Self($default)
                }
            }
        )?

        lately_keys::schema!($name, inline, {
            let (least, most): ($integer, $integer) = ($least, $most);
            let number = number(least, most);
            $(let number = number.default(Some($default.into()));)?
            number
        });

        impl std::str::FromStr for $name {
            type Err = $error;

            /// Parses the number as it is written, without a sign or a leading zero.
            fn from_str(text: &str) -> Result<Self, $error> {
                crate::text::canonical(text).ok_or($error).and_then(Self::new)
            }
        }

        impl TryFrom<$integer> for $name {
            type Error = $error;

            fn try_from(number: $integer) -> Result<Self, $error> {
                Self::new(number)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let number = <$integer as serde::Deserialize>::deserialize(deserializer)?;
                Self::new(number).map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use bounded;
