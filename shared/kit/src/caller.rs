//! Who is asking, and what they may do.
//!
//! A [`Caller`] is established once, before a handler runs, and a handler that takes one is never run
//! without: see [`token`](crate::token). A handler that takes none is open to everyone.

use std::fmt;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::request::Parts;
use lately_keys::table::SessionId;
use lately_keys::{Actor, Topic, User};

use crate::code::Code;
use crate::problem::Problem;

/// What a caller may be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Read what all may read.
    Read,
    /// Post, delete, follow and change records, as oneself.
    Write,
    /// Write events into the past.
    Import,
    /// Read topics as a consumer.
    Consume,
    /// Do what any user may do: read, and write as anyone.
    ActAs,
    /// Everything.
    Admin,
}

/// Text that is no scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be read, write, import, consume, act-as or admin")]
pub struct ScopeError;

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Import, Self::Consume, Self::ActAs, Self::Admin];

    /// The scope as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Import => "import",
            Self::Consume => "consume",
            Self::ActAs => "act-as",
            Self::Admin => "admin",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The scopes that each hold this one.
    const fn held_by(self) -> u8 {
        let holders = self.bit() | Self::Admin.bit();
        match self {
            Self::Read | Self::Write => holders | Self::ActAs.bit(),
            Self::Import | Self::Consume | Self::ActAs | Self::Admin => holders,
        }
    }
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or(ScopeError)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of scopes, as it was given.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// Whether these allow what a scope allows, because it is one of them or one of them holds it.
    #[must_use]
    pub const fn allow(self, scope: Scope) -> bool {
        self.0 & scope.held_by() != 0
    }

    /// The scopes as they were given.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.0 & scope.bit() != 0)
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// On whose behalf a request is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The session that the token belongs to.
    pub session: SessionId,
    /// The user it acts for; none if it is a service or an operator.
    pub user: Option<User>,
    /// What it may do.
    pub scopes: Scopes,
    /// The only topics it may do that with, if it is so limited.
    pub topics: Option<Vec<Topic>>,
}

impl Caller {
    /// Refuses a caller without a scope.
    ///
    /// # Errors
    /// 403 `forbidden`.
    pub fn require(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.allow(scope) {
            return Ok(());
        }
        Err(Problem::new(Code::Forbidden, format!("This needs the scope {scope}.")))
    }

    /// Refuses a caller without a scope, or one that is limited to other topics.
    ///
    /// # Errors
    /// 403 `forbidden`.
    pub fn require_on(&self, scope: Scope, topic: &Topic) -> Result<(), Problem> {
        self.require(scope)?;
        if self.topics.as_ref().is_none_or(|topics| topics.contains(topic)) {
            return Ok(());
        }
        Err(Problem::new(Code::Forbidden, "The token is limited to other topics."))
    }

    /// Refuses a caller who is not this actor, and may not act as anyone.
    ///
    /// # Errors
    /// 403 `forbidden`.
    pub fn require_actor(&self, actor: &Actor) -> Result<(), Problem> {
        let oneself = self.user.as_ref().is_some_and(|user| user.as_str() == actor.as_str());
        if oneself || self.scopes.allow(Scope::ActAs) {
            return Ok(());
        }
        Err(Problem::new(Code::Forbidden, "This needs the scope act-as: the actor is not the caller."))
    }

    /// Whom an idempotency key belongs to.
    #[must_use]
    pub fn key(&self) -> lately_keys::Caller {
        match &self.user {
            Some(user) => lately_keys::Caller::User(user.clone()),
            None => lately_keys::Caller::Session(self.session),
        }
    }
}

/// What is known of who is asking. Whatever checks tokens puts it into a request's extensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The token is good.
    Known(Caller),
    /// There is no token.
    Missing,
    /// The token is unknown, expired or revoked.
    Refused,
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match parts.extensions.get::<Identity>() {
            Some(Identity::Known(caller)) => Ok(caller.clone()),
            Some(Identity::Refused) => Err(Problem::new(Code::InvalidToken, "Send a token that is in use.")),
            // Where nobody looked at the token, nobody is known.
            Some(Identity::Missing) | None => {
                let problem =
                    Problem::new(Code::MissingToken, "Send the header `Authorization: Bearer <token>`.");
                Err(problem.header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(scopes: &[Scope], user: Option<&str>) -> Caller {
        Caller {
            session: "00000000-0000-4000-8000-000000000000".parse().unwrap(),
            user: user.map(|user| user.parse().unwrap()),
            scopes: scopes.iter().copied().collect(),
            topics: None,
        }
    }

    #[test]
    fn each_scope_allows_itself_and_what_it_holds() {
        let allowed = |scope| -> Vec<Scope> {
            let scopes = Scopes::from_iter([scope]);
            Scope::ALL.into_iter().filter(|asked| scopes.allow(*asked)).collect()
        };
        for scope in [Scope::Read, Scope::Write, Scope::Import, Scope::Consume] {
            assert_eq!(allowed(scope), [scope]);
        }
        assert_eq!(allowed(Scope::ActAs), [Scope::Read, Scope::Write, Scope::ActAs]);
        assert_eq!(allowed(Scope::Admin), Scope::ALL);
        assert!(!Scope::ALL.iter().any(|scope| Scopes::default().allow(*scope)));
        assert!(Scope::ALL.iter().all(|scope| scope.to_string().parse() == Ok(*scope)));
    }

    #[test]
    fn users_act_as_themselves_and_others_as_anyone() {
        let actor = "ada".parse().unwrap();
        assert!(caller(&[Scope::Write], Some("ada")).require_actor(&actor).is_ok());
        assert!(caller(&[Scope::Write], Some("bob")).require_actor(&actor).is_err());
        assert!(caller(&[Scope::Write], None).require_actor(&actor).is_err());
        assert!(caller(&[Scope::ActAs], Some("bob")).require_actor(&actor).is_ok());
        assert!(caller(&[Scope::Admin], None).require_actor(&actor).is_ok());
    }

    #[test]
    fn a_token_may_be_limited_to_topics() {
        let (posts, billing) = ("posts".parse().unwrap(), "billing".parse().unwrap());
        let limited = Caller { topics: Some(vec![posts]), ..caller(&[Scope::Admin], None) };
        let posts = "posts".parse().unwrap();
        assert!(limited.require_on(Scope::Read, &posts).is_ok());
        assert_eq!(limited.require_on(Scope::Read, &billing).unwrap_err().code(), Code::Forbidden);
        assert!(caller(&[Scope::Read], None).require_on(Scope::Write, &posts).is_err());
    }

    #[test]
    fn a_user_shares_keys_between_sessions_and_a_service_has_its_own() {
        assert_eq!(caller(&[], Some("ada")).key().to_string(), "user:ada");
        assert_eq!(caller(&[], None).key().to_string(), "session:00000000-0000-4000-8000-000000000000");
    }
}
