//! The public ids of sessions and erasures: UUIDs that sort by the time of their creation.

use crate::id::EventId;
use crate::time::UnixMillis;

macro_rules! public_id {
    ($(#[$meta:meta])* $name:ident, $error:ident = $message:literal) => {
        $(#[$meta])*
        ///
        /// It is a UUID, of version 7 when made here. Its text is hyphenated and in lower case, and no other form is
        /// accepted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(uuid::Uuid);

        /// The text is not such an id.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $error;

        impl $name {
            /// An id with a time and random bits.
            pub fn new(at: $crate::UnixMillis, entropy: u128) -> Self {
                let [random @ .., _, _, _, _, _, _] = entropy.to_be_bytes();
                Self(uuid::Builder::from_unix_timestamp_millis(at.get(), &random).into_uuid())
            }

            /// The id in its 16 bytes.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// The id of these bytes; none unless there are 16.
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                uuid::Uuid::from_slice(bytes).ok().map(Self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                let lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
                $crate::id::parse_hyphenated(text).filter(|_| lower).map(Self).ok_or($error)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        $crate::text::serde_as_text!($name);
        $crate::schema!($name, stringify!($name), {
            let pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
            text(pattern).description(Some("A UUID in lower case. It is not a secret."))
        });
    };
}

public_id! {
    /// A session's public name.
    SessionId, SessionIdError = "session: must be a hyphenated UUID in lower case"
}

impl SessionId {
    /// When the id was made; none if the UUID is not of version 7, which no session has.
    pub fn made_at(self) -> Option<UnixMillis> {
        EventId::from_slice(self.as_bytes()).map(EventId::at)
    }
}

public_id! {
    /// An erasure's public name.
    ErasureId, ErasureIdError = "erasure: must be a hyphenated UUID in lower case"
}
