//! The authorizer: finds the caller of a request.
//!
//! API Gateway calls it with the value of the `Authorization` header (payload format 2.0) and caches its response by
//! that value, for all routes. So it never looks at the route: it only identifies the caller. The rules of
//! `lately_kit::access` decide later what the caller may do on a route.
//!
//! The local program calls the same code, [`authorize`], and caches nothing.
//!
//! | for | see |
//! | --- | --- |
//! | the issuers that a stack trusts | `issuers.rs`, `address.rs` |
//! | a JWT, from its text to its caller | `jwt.rs`, `claims.rs` |
//! | the keys of an issuer: fetched, cached, chosen | `keys.rs`, `fetch.rs`, `key_set.rs` |
//! | signatures | `signature.rs` |

mod address;
mod claims;
mod fetch;
mod issuers;
mod jwt;
mod key_set;
mod keys;
pub mod limits;
mod signature;

use aws_lambda_events::apigw::{
    ApiGatewayV2CustomAuthorizerSimpleResponse, ApiGatewayV2CustomAuthorizerV2Request,
};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;
use lately_keys::UnixMillis;
use lately_kit::caller::{Caller, Identity};
use lately_kit::metrics::{Measured, Measures};
use lately_kit::problem::Problem;
use lately_kit::token::Token;
use lately_store::{Store, TableError};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::{Map, Value};

pub use address::Scheme;
pub use issuers::{Issuers, IssuersError};
pub use keys::KeysUnavailable;

use jwt::JwtError;
use limits::LOOKUP_TIME;

/// The seconds after which a client may retry a request while an issuer does not respond.
const KEYS_RETRY_SECONDS: u32 = 5;

/// The gateway's request.
#[derive(Debug)]
pub struct Question(ApiGatewayV2CustomAuthorizerV2Request);

impl<'de> Deserialize<'de> for Question {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut event = Map::deserialize(deserializer)?;
        // The event's type refuses the whole event for one header value outside ASCII. Only the identity source is
        // needed, so all headers are removed.
        event.remove("headers");
        serde_json::from_value(Value::Object(event)).map(Self).map_err(D::Error::custom)
    }
}

/// The response, in the gateway's simple form.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Answer(ApiGatewayV2CustomAuthorizerSimpleResponse<Map<String, Value>>);

impl Measured for Answer {
    fn outcome(&self) -> &'static str {
        if self.0.is_authorized { "ok" } else { "refused" }
    }

    fn measures(&self, _: UnixMillis) -> Measures {
        Measures::default()
    }
}

/// Identifies callers.
#[derive(Clone, Debug)]
pub struct Authorizer {
    store: Store,
    issuers: Issuers,
}

/// The caller could not be identified: neither accepted nor refused.
#[derive(Debug, thiserror::Error)]
pub enum IdentifyError {
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The keys of a JWT's issuer cannot be fetched.
    #[error(transparent)]
    Keys(#[from] KeysUnavailable),
}

impl From<IdentifyError> for Problem {
    fn from(error: IdentifyError) -> Self {
        match error {
            IdentifyError::Table(error) => error.into(),
            IdentifyError::Keys(error) => Self::unavailable(&error).retry_after(KEYS_RETRY_SECONDS),
        }
    }
}

impl Authorizer {
    /// An authorizer for the sessions of a store and the JWTs of these issuers.
    pub const fn new(store: Store, issuers: Issuers) -> Self {
        Self { store, issuers }
    }

    /// Answers the gateway. If this fails, the gateway responds with 500 and caches nothing.
    pub async fn answer(&self, question: Question) -> Result<Answer, IdentifyError> {
        let mut answer = ApiGatewayV2CustomAuthorizerSimpleResponse::default();
        if let Some([authorization]) = question.0.identity_source.as_deref()
            && let Identity::Known(caller) = self.identify(Some(authorization)).await?
        {
            answer.is_authorized = true;
            answer.context = caller.context();
        }
        Ok(Answer(answer))
    }

    /// Finds the caller who sends this value of the `Authorization` header. A token's shape distinguishes a JWT from a
    /// session's token, so a JWT is looked up in no table; only the fetched keys of its issuer are also stored.
    pub async fn identify(&self, authorization: Option<&str>) -> Result<Identity, IdentifyError> {
        let Some(token) = authorization.and_then(Token::bearer) else { return Ok(Identity::Missing) };
        if jwt::is_jwt(token.reveal()) {
            return self.identify_jwt(&token).await;
        }
        let op = self.store.op().step_within(LOOKUP_TIME);
        let session = op.sessions().find(token.hash()).await?;
        Ok(session.map_or(Identity::Refused, |session| Identity::Known(Caller::from(session))))
    }

    /// Finds the caller of a request by its headers. The gateway would join two values of the header into one, which is not
    /// a token.
    pub async fn identify_sender(&self, headers: &HeaderMap) -> Result<Identity, IdentifyError> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(Identity::Missing),
            (Some(authorization), None) => self.identify(authorization.to_str().ok()).await,
            (Some(_), Some(_)) => Ok(Identity::Refused),
        }
    }

    async fn identify_jwt(&self, token: &Token) -> Result<Identity, IdentifyError> {
        match self.issuers.caller(token.reveal(), &self.store).await {
            Ok(caller) => Ok(Identity::Known(caller)),
            Err(JwtError::Refused(refusal)) => {
                // The client learns no reason. An operator needs it, and it contains nothing of the token.
                tracing::info!(reason = %refusal, "a JWT was refused");
                Ok(Identity::Refused)
            }
            Err(JwtError::Keys(error)) => Err(error.into()),
        }
    }
}

/// The middleware in front of the routes of the local program, which has no gateway: identifies each request's caller.
///
/// # Errors
/// 503 `unavailable`, if the caller cannot be identified.
pub async fn authorize(
    State(authorizer): State<Authorizer>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let identity = authorizer.identify_sender(request.headers()).await?;
    request.extensions_mut().insert(identity);
    Ok(next.run(request).await)
}
