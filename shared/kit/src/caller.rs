//! The caller of a request.
//!
//! The authorizer alone sees tokens. It makes the [`Caller`] once and passes it on as the request's context: API
//! Gateway does so on AWS, the local program does it itself. A handler that asks for a caller never runs without one.
//! [`access`](crate::access) says what each route requires of its caller.

use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::HeaderValue;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::request::Parts;
use lately_items::QuotaHolder;
use lately_keys::{Actor, QuotaKind, SessionId, Topic, UnixMillis, User};
use lately_model::{RateLimits, Scope, Scopes, Session};
use lately_store::Waiter;
use serde_json::{Map, Value};

use crate::code::Code;
use crate::limits::TOKEN_LEEWAY;
use crate::problem::Problem;

/// The sender of a request, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The session that the token opened; none for a JWT, which always has a user.
    pub session: Option<SessionId>,
    /// The user that the token acts for; none for a service or an operator.
    pub user: Option<User>,
    /// The scopes of the token.
    pub scopes: Scopes,
    /// The only topics that the token may use, if it is limited to topics.
    pub topics: Option<Vec<Topic>>,
    /// When the token expires.
    pub expires_at: UnixMillis,
    /// The issuer of a JWT; none for a session. No rule depends on it.
    pub issuer: Option<String>,
    /// The limits of the session, or of the issuer's users.
    pub limits: RateLimits,
}

impl From<Session> for Caller {
    fn from(session: Session) -> Self {
        let Session { id, user, scopes, topics, expires_at, limits, .. } = session;
        Self { session: Some(id), user, scopes, topics, expires_at, issuer: None, limits }
    }
}

impl Caller {
    /// True if the caller may use this topic.
    pub fn may_see(&self, topic: &Topic) -> bool {
        self.topics.as_ref().is_none_or(|topics| topics.contains(topic))
    }

    /// True if the caller is this user or may act as any user.
    pub fn may_be(&self, user: &User) -> bool {
        self.user.as_ref() == Some(user) || self.scopes.allow(Scope::ActAs)
    }

    /// Refuses a caller who is not this actor and may not act as anyone.
    ///
    /// # Errors
    /// 403 `forbidden`.
    pub fn require_actor(&self, actor: &Actor) -> Result<(), Problem> {
        let oneself = self.user.as_ref().is_some_and(|user| user.as_str() == actor.as_str());
        if oneself || self.scopes.allow(Scope::ActAs) {
            return Ok(());
        }
        Err(Problem::forbidden("An event's actor is not the caller. Posting it needs the scope act-as."))
    }

    /// The actor that an event names for an action of this caller: the user, or the session's id if there is no user.
    ///
    /// # Panics
    /// Never: a session's id is hexadecimal digits and hyphens, which an actor's alphabet contains.
    pub fn actor(&self) -> Actor {
        match self.key() {
            lately_keys::Caller::User(user) => Actor::from(&user),
            lately_keys::Caller::Session(id) => {
                id.to_string().parse().expect("an id has an actor's alphabet")
            }
        }
    }

    /// The owner of the idempotency keys that this caller sends.
    ///
    /// # Panics
    /// Never: a caller without a user has a session, because a JWT without a user is refused.
    pub fn key(&self) -> lately_keys::Caller {
        match &self.user {
            Some(user) => lately_keys::Caller::User(user.clone()),
            None => lately_keys::Caller::Session(self.session.expect("a caller has a user or a session")),
        }
    }

    /// The tokens with which this token shares its limits.
    ///
    /// # Panics
    /// Never: a caller without a session has a user, because a JWT without a user is refused.
    pub fn quota_holder(&self) -> QuotaHolder {
        match (self.session, &self.user) {
            (Some(id), _) => QuotaHolder::Session(id),
            (None, user) => {
                let user = user.clone().expect("a caller has a user or a session");
                QuotaHolder::of_jwt(user, self.issuer.as_deref().unwrap_or_default())
            }
        }
    }

    /// The caller as the one for whom pages wait.
    pub(crate) fn waiter(&self) -> Waiter {
        Waiter { holder: self.quota_holder(), reads: self.limits.of(QuotaKind::Reads) }
    }

    /// True if the token expired so long ago that no difference between clocks explains its acceptance. The gateway
    /// caches the authorizer's answers, so it may accept a token whose time is over.
    pub fn is_over(&self, now: UnixMillis) -> bool {
        let leeway = u64::try_from(TOKEN_LEEWAY.as_millis()).unwrap_or(u64::MAX);
        now.get() >= self.expires_at.get().saturating_add(leeway)
    }
}

/// A context that our authorizer did not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the authorizer's context is ill-formed: {0}")]
pub struct ContextError(&'static str);

impl Caller {
    /// The caller as the authorizer passes it on: its context. All values are text, which every gateway passes through
    /// unchanged.
    pub fn context(&self) -> Map<String, Value> {
        let Self { session, user, scopes, topics, expires_at, issuer, limits } = self;
        let names = |topics: &Vec<Topic>| topics.iter().map(Topic::as_str).collect::<Vec<_>>().join(" ");
        let fields = [
            ("session", session.map(|session| session.to_string())),
            ("user", user.as_ref().map(ToString::to_string)),
            ("scopes", Some(scopes.to_string())),
            ("topics", topics.as_ref().map(names)),
            ("expires_at", Some(expires_at.to_string())),
            ("issuer", issuer.clone()),
            ("writes_per_minute", limits.writes_per_minute.map(|limit| limit.to_string())),
            ("reads_per_minute", limits.reads_per_minute.map(|limit| limit.to_string())),
        ];
        fields.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into()))).collect()
    }

    /// The caller that a context names.
    ///
    /// ```
    /// use lately_kit::caller::Caller;
    ///
    /// let context = r#"{"user":"ada","scopes":"read write","expires_at":"2026-11-20T09:30:00Z"}"#;
    /// let caller = Caller::from_context(&serde_json::from_str(context)?)?;
    /// assert_eq!(caller.user.unwrap().as_str(), "ada");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// With the first field that is missing or ill-formed. Such a field must not be read as one that is absent: a caller
    /// without topics is not limited to any.
    pub fn from_context(fields: &Map<String, Value>) -> Result<Self, ContextError> {
        let topics = text(fields, "topics")?.map(|topics| topics.split(' ').map(str::parse).collect());
        let caller = Self {
            session: parsed(fields, "session")?,
            user: parsed(fields, "user")?,
            scopes: parsed(fields, "scopes")?.ok_or(ContextError("scopes"))?,
            topics: topics.transpose().map_err(|_| ContextError("topics"))?,
            expires_at: parsed(fields, "expires_at")?.ok_or(ContextError("expires_at"))?,
            issuer: text(fields, "issuer")?.map(str::to_owned),
            limits: RateLimits {
                writes_per_minute: parsed(fields, "writes_per_minute")?,
                reads_per_minute: parsed(fields, "reads_per_minute")?,
            },
        };
        if caller.session.is_none() && caller.user.is_none() {
            return Err(ContextError("session"));
        }
        Ok(caller)
    }
}

/// A field of a context.
fn text<'a>(fields: &'a Map<String, Value>, name: &'static str) -> Result<Option<&'a str>, ContextError> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(field) => field.as_str().map(Some).ok_or(ContextError(name)),
    }
}

fn parsed<T: FromStr>(fields: &Map<String, Value>, name: &'static str) -> Result<Option<T>, ContextError> {
    text(fields, name)?.map(str::parse).transpose().map_err(|_| ContextError(name))
}

/// The authorizer's finding about the sender of a request. It is put into the request's extensions before the router
/// runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The token is valid.
    Known(Caller),
    /// The request has no token.
    Missing,
    /// The token is unknown, expired or revoked.
    Refused,
}

impl Identity {
    /// The caller, if there is one.
    ///
    /// # Errors
    /// 401 `missing-token`, 403 `invalid-token`.
    pub fn caller(&self) -> Result<&Caller, Problem> {
        match self {
            Self::Known(caller) => Ok(caller),
            Self::Refused => Err(Problem::new(
                Code::InvalidToken,
                "The token is unknown, expired or revoked. Send a valid token.",
            )),
            Self::Missing => {
                let problem =
                    Problem::new(Code::MissingToken, "Send the header `Authorization: Bearer <token>`.");
                Err(problem.header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // If no authorizer ran, the caller counts as missing.
        parts.extensions.get().unwrap_or(&Identity::Missing).caller().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: &str = "2026-11-20T09:30:00.000Z";

    fn caller(scopes: &[Scope], user: Option<&str>) -> Caller {
        Caller {
            session: Some("00000000-0000-4000-8000-000000000000".parse().unwrap()),
            user: user.map(|user| user.parse().unwrap()),
            scopes: scopes.iter().copied().collect(),
            topics: None,
            expires_at: END.parse().unwrap(),
            issuer: None,
            limits: RateLimits::default(),
        }
    }

    #[test]
    fn a_caller_survives_its_context() {
        let limited = Caller {
            topics: Some(vec!["posts".parse().unwrap(), "billing".parse().unwrap()]),
            limits: RateLimits {
                writes_per_minute: "600".parse().ok(),
                reads_per_minute: "100000".parse().ok(),
            },
            ..caller(&[Scope::Read, Scope::ActAs], Some("ada"))
        };
        let of_an_issuer = Caller {
            session: None,
            issuer: Some("https://id.example.org/".to_owned()),
            ..caller(&[Scope::Read], Some("ada"))
        };
        for caller in [caller(&[], None), limited, of_an_issuer] {
            let fields = caller.context();
            assert_eq!(Caller::from_context(&fields), Ok(caller));
        }
    }

    #[test]
    fn an_ill_formed_context_is_refused() {
        let good = caller(&[Scope::Read], Some("ada")).context();
        for (name, text) in [
            ("session", ""),
            ("user", ""),
            ("scopes", "root"),
            ("topics", ""),
            ("topics", "a  b"),
            ("writes_per_minute", "0"),
            ("reads_per_minute", ""),
        ] {
            let mut fields = good.clone();
            fields.insert(name.to_owned(), text.into());
            assert_eq!(Caller::from_context(&fields), Err(ContextError(name)));
        }
        let nobody = good.iter().filter(|(name, _)| !["session", "user"].contains(&&***name));
        let nobody = nobody.map(|(name, text)| (name.clone(), text.clone())).collect();
        assert_eq!(Caller::from_context(&nobody), Err(ContextError("session")));
        let limits = ["writes_per_minute", "reads_per_minute"];
        for name in ["session", "user", "scopes", "topics", "expires_at", "issuer"].into_iter().chain(limits)
        {
            let mut fields = good.clone();
            fields.insert(name.to_owned(), Value::from(7));
            assert_eq!(Caller::from_context(&fields), Err(ContextError(name)));
        }
    }

    #[test]
    fn each_session_has_its_limits_and_a_users_jwts_share_theirs() {
        let session = caller(&[], Some("ada"));
        let holder = session.quota_holder().to_string();
        assert_eq!(holder, "session:00000000-0000-4000-8000-000000000000");
        let jwt = |user, issuer: &str| {
            let issuer = Some(issuer.to_owned());
            Caller { session: None, issuer, ..caller(&[], Some(user)) }.quota_holder()
        };
        let adas = jwt("ada", "https://id.example.org/");
        assert_eq!(adas, jwt("ada", "https://id.example.org/"));
        assert_ne!(adas, jwt("bob", "https://id.example.org/"));
        assert_ne!(adas, jwt("ada", "https://id.example.com/"));
    }
}
