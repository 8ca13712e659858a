//! Sessions: their permissions and their lifetime.

use lately_keys::{SessionId, Topic, UnixMillis, User};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::body::{self, BodyError};
use crate::bounded::bounded;
use crate::fault::FaultList;
use crate::fields::Field;
use crate::limits::{SESSION_SECONDS, SESSION_TOPICS};
use crate::rate::{RateLimits, RequestsPerMinuteError};
use crate::scope::{Scope, Scopes};

bounded! {
    /// The number of seconds for which a session is valid: 1 to one year.
    TtlSeconds(u32): 1..=SESSION_SECONDS;
    /// The number of seconds is too low or too high.
    TtlSecondsError = "must be a whole number from {} to {}";
}

/// The body of `POST /sessions`:
/// `{"user"?,"scopes","topics"?,"ttl_seconds","writes_per_minute"?,"reads_per_minute"?}`.
///
/// ```
/// use lately_model::{NewSession, Scope};
///
/// let session = NewSession::parse(br#"{"user": "ada", "scopes": ["read", "write"], "ttl_seconds": 3600}"#)?;
/// assert!(session.scopes.allow(Scope::Write));
/// assert_eq!((session.topics, session.ttl_seconds.get()), (None, 3600));
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct NewSession {
    /// The user for whom the session acts; absent for a service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// Its scopes; at least one.
    #[cfg_attr(feature = "document", schema(value_type = Vec<Scope>, min_items = 1))]
    pub scopes: Scopes,
    /// The only topics to which the scopes apply; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::SessionTopics>))]
    pub topics: Option<Vec<Topic>>,
    /// Its lifetime.
    pub ttl_seconds: TtlSeconds,
    /// Its limits.
    #[serde(flatten)]
    pub limits: RateLimits,
}

impl NewSession {
    /// Reads a body.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        let names = ["user", "scopes", "topics", "ttl_seconds", "writes_per_minute", "reads_per_minute"];
        body::object(body, names, |[user, scopes, topics, ttl_seconds, writes, reads], found| {
            let user = user.text(found);
            let scopes = read_scopes(&scopes.required(found), found);
            let topics = read_topics(&topics, found);
            let ttl_seconds = ttl_seconds.required(found).json(TtlSecondsError, found);
            let limits = RateLimits {
                writes_per_minute: writes.json(RequestsPerMinuteError, found),
                reads_per_minute: reads.json(RequestsPerMinuteError, found),
            };
            Some(Self { user, scopes: scopes?, topics, ttl_seconds: ttl_seconds?, limits })
        })
    }
}

fn read_scopes(field: &Field<&RawValue>, found: &mut FaultList) -> Option<Scopes> {
    let scopes: Vec<Option<Scope>> =
        field.elements(found)?.iter().map(|element| element.text(found)).collect();
    if scopes.is_empty() {
        field.fault(found, "must name at least one scope");
    }
    scopes.into_iter().collect()
}

fn read_topics(field: &Field<&RawValue>, found: &mut FaultList) -> Option<Vec<Topic>> {
    let elements = field.elements(found)?;
    if !(1..=SESSION_TOPICS).contains(&elements.len()) {
        field.fault(found, format_args!("must name 1 to {SESSION_TOPICS} topics, or be absent"));
        return None;
    }
    let topics: Vec<Option<Topic>> = elements.iter().map(|element| element.text(found)).collect();
    topics.into_iter().collect()
}

/// A session, without its token:
/// `{"id","user"?,"scopes","topics"?,"created_at","expires_at","writes_per_minute"?,"reads_per_minute"?}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The user that it acts for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// Its scopes.
    #[cfg_attr(feature = "document", schema(value_type = Vec<Scope>, min_items = 1))]
    pub scopes: Scopes,
    /// The only topics to which the scopes apply; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::SessionTopics>))]
    pub topics: Option<Vec<Topic>>,
    /// When it was created.
    pub created_at: UnixMillis,
    /// The time from which on the session is refused.
    pub expires_at: UnixMillis,
    /// Its limits.
    #[serde(flatten)]
    pub limits: RateLimits,
}

/// The response to a caller that asks about its own token:
/// `{"user"?,"scopes","topics"?,"expires_at"?,"issuer"?,"writes_per_minute"?,"reads_per_minute"?}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct OwnSession {
    /// The user that the token acts for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// The token's scopes.
    #[cfg_attr(feature = "document", schema(value_type = Vec<Scope>))]
    pub scopes: Scopes,
    /// The only topics to which the scopes apply; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "document", schema(value_type = Option<crate::schemas::SessionTopics>))]
    pub topics: Option<Vec<Topic>>,
    /// The end of the token. Clocks and caches may accept the token for a minute more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixMillis>,
    /// The issuer of a JWT; absent for a session's token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The token's limits.
    #[serde(flatten)]
    pub limits: RateLimits,
}

/// The response to the creation of a session: the only response that contains its token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct SessionToken {
    /// The session's id.
    pub id: SessionId,
    /// The token is returned only once, and stored only as a hash.
    pub token: String,
    /// When it expires.
    pub expires_at: UnixMillis,
}

/// A page of the list of sessions: `{"sessions":[…],"next":"…"|null}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct SessionList {
    /// The sessions that have not ended, newest first. A page with ended sessions has fewer than the limit.
    pub sessions: Vec<Session>,
    /// The cursor of the next page; null at the end.
    #[cfg_attr(feature = "document", schema(required, value_type = Option<crate::schemas::Cursor>))]
    pub next: Option<String>,
}

/// The response to the revocation of a user's sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct RevokedSessions {
    /// The number of sessions that this request ended.
    pub revoked: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(body: &str) -> Vec<String> {
        match NewSession::parse(body.as_bytes()) {
            Err(BodyError::Invalid(faults)) => faults.iter().map(|fault| fault.path.clone()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_fault_is_named_at_once() {
        assert_eq!(faults("{}"), ["/scopes", "/ttl_seconds"]);
        let body = r#"{"user":"a#b","scopes":["read","root",1],"topics":["a/b"],"ttl_seconds":0,"expires_at":1,"pk":"x"}"#;
        assert_eq!(
            faults(body),
            ["/expires_at", "/pk", "/user", "/scopes/1", "/scopes/2", "/topics/0", "/ttl_seconds"]
        );
        for (body, path) in [
            (r#"{"scopes":[],"ttl_seconds":1}"#, "/scopes"),
            (r#"{"scopes":"read","ttl_seconds":1}"#, "/scopes"),
            (r#"{"scopes":["read"],"topics":[],"ttl_seconds":1}"#, "/topics"),
            (r#"{"scopes":["read"],"topics":null,"ttl_seconds":1}"#, "/topics"),
            (r#"{"scopes":["read"],"ttl_seconds":31536001}"#, "/ttl_seconds"),
            (r#"{"scopes":["read"],"ttl_seconds":1.5}"#, "/ttl_seconds"),
            (r#"{"scopes":["read"],"ttl_seconds":"60"}"#, "/ttl_seconds"),
            (r#"{"scopes":["read"],"user":null,"ttl_seconds":1}"#, "/user"),
            (r#"{"scopes":["read"],"ttl_seconds":1,"writes_per_minute":0}"#, "/writes_per_minute"),
            (r#"{"scopes":["read"],"ttl_seconds":1,"writes_per_minute":null}"#, "/writes_per_minute"),
            (r#"{"scopes":["read"],"ttl_seconds":1,"reads_per_minute":100001}"#, "/reads_per_minute"),
            (r#"{"scopes":["read"],"ttl_seconds":1,"reads_per_minute":"60"}"#, "/reads_per_minute"),
            ("[]", ""),
        ] {
            assert_eq!(faults(body), [path], "{body}");
        }
    }

    #[test]
    fn a_session_may_be_limited_to_at_most_50_topics() {
        let body = |count: usize| {
            let topics: Vec<_> = (0..count).map(|number| format!("topic-{number}")).collect();
            serde_json::json!({"scopes": ["read"], "topics": topics, "ttl_seconds": 1}).to_string()
        };
        let most = NewSession::parse(body(SESSION_TOPICS).as_bytes()).unwrap();
        assert_eq!(most.topics.unwrap().len(), SESSION_TOPICS);
        assert_eq!(faults(&body(SESSION_TOPICS + 1)), ["/topics"]);
    }

    #[test]
    fn an_empty_body_is_not_a_session() {
        assert!(matches!(NewSession::parse(b""), Err(BodyError::Malformed(_))));
    }
}
