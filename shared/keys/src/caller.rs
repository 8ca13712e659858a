//! On whose behalf a request is made, as far as keys need to know it.

use std::fmt;
use std::str::FromStr;

use crate::name::User;
use crate::table::SessionId;
use crate::text::serde_as_text;

/// Who an idempotency key belongs to: two callers may use the same key for different things.
///
/// A session that acts for a user shares that user's keys, so that a request may be repeated under a
/// renewed token; one that acts for nobody has keys of its own. The tag keeps a user who is named like
/// a session's id apart from that session.
///
/// ```
/// use lately_keys::Caller;
///
/// let caller: Caller = "user:ada".parse()?;
/// assert_eq!(caller, Caller::User("ada".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// A session that acts for a user.
    User(User),
    /// A session that acts for nobody: a service, or an operator.
    Session(SessionId),
}

/// Text that is not a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("caller: must be user:<name> or session:<id>")]
pub struct CallerError;

impl FromStr for Caller {
    type Err = CallerError;

    fn from_str(text: &str) -> Result<Self, CallerError> {
        match text.split_once(':') {
            Some(("user", name)) => name.parse().map(Self::User).map_err(|_| CallerError),
            Some(("session", id)) => id.parse().map(Self::Session).map_err(|_| CallerError),
            _ => Err(CallerError),
        }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(f, "user:{user}"),
            Self::Session(id) => write!(f, "session:{id}"),
        }
    }
}

serde_as_text!(Caller);
