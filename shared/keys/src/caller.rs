//! The caller of a request, as far as keys depend on it.

use crate::name::User;
use crate::public_id::SessionId;
use crate::tagged;
use crate::word::UnknownWord;

tagged! {
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
    pub enum Caller {
        /// A session that acts for a user.
        User(User) = "user:",
        /// A session without a user: a service or an operator.
        Session(SessionId) = "session:",
    }
    else UnknownWord: UnknownWord, |_| UnknownWord
}
