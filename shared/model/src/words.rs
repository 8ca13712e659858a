//! Enums whose values clients write as one word each.

/// Defines an enum of words, and the error of text that is none of them. The caller adds further derives.
macro_rules! words {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+ }
        $(#[$error_meta:meta])*
        $error:ident = $message:literal;
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
        }

        $(#[$error_meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $error;

        impl $name {
            /// All values, in the order in which they are written.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                Self::ALL.into_iter().find(|value| value.as_str() == text).ok_or($error)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        crate::text::serde_as_text!($name);
    };
}

pub(crate) use words;
