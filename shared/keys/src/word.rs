//! The declaration of enums whose values are fixed words, or begin with fixed tags.

/// The text is none of the words of an enum that [`words!`](crate::words) declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown word")]
pub struct UnknownWord;

/// Declares an enum whose values are fixed words. If clients write them too, it has its own error for all other words.
#[macro_export]
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
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

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

        $crate::words!(@read $name $($error = $message)?);
    };

    (@read $name:ident) => { $crate::words!(@from $name, $crate::UnknownWord); };

    (@read $name:ident $error:ident = $message:literal) => {
        /// The text is none of the words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $error;

        $crate::words!(@from $name, $error);
        $crate::serde_as_text!($name);
    };

    (@from $name:ident, $error:path) => {
        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                Self::ALL.into_iter().find(|word| word.as_str() == text).ok_or($error)
            }
        }
    };
}

/// Declares an enum whose text is a tag and a value's text: `actor:ada`. A text is refused with one error if it has none of
/// the tags, and with another if its value is refused.
#[macro_export]
macro_rules! tagged {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident($type:ty) = $tag:literal,)* }
        else $error:ty: $unknown:expr, $refused:expr
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant($type),)*
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant(value) => write!(f, concat!($tag, "{}"), value),)*
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                $(if let Some(value) = text.strip_prefix($tag) {
                    return value.parse().map(Self::$variant).map_err($refused);
                })*
                Err($unknown)
            }
        }
    };
}
