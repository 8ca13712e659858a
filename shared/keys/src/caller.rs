//! The caller of a request, as far as keys depend on it.

use std::fmt;
use std::str::FromStr;

use crate::name::User;
use crate::public_id::SessionId;
use crate::text::serde_as_text;

/// The owner of an idempotency key. Two callers may use the same key for different requests.
///
/// Sessions of one user share the user's keys, so that a client can repeat a request under a renewed token. A session
/// without a user has its own keys. The tag distinguishes a session from a user whose name looks like the session's id.
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
    /// A session without a user: a service or an operator.
    Session(SessionId),
}

/// The text is not a caller.
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
