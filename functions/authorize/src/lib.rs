//! The authorizer: who is asking?
//!
//! API Gateway asks it with the value of the `Authorization` header (payload format 2.0) and remembers its answer by
//! that value, for all routes. So it never looks at the route: it says who the caller is, and what a caller may do on a
//! route is decided behind it, by the table in `lately_kit::access`.
//!
//! The local program asks the same code, through [`authorize`], and remembers nothing.

use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;
use lately_keys::UnixMillis;
use lately_kit::caller::{Caller, Context, Identity};
use lately_kit::metrics::{Measured, Measures};
use lately_kit::problem::Problem;
use lately_kit::token::Token;
use lately_store::{Store, TableError};
use serde::{Deserialize, Serialize};

/// What the gateway asks. What it tells of the route is left unread.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// What its answer is remembered by: the value of the one header that names the caller.
    identity_source: Vec<String>,
}

/// The answer, in the simple form.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    is_authorized: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<Context>,
}

impl Measured for Answer {
    fn outcome(&self) -> &'static str {
        if self.is_authorized { "ok" } else { "refused" }
    }

    fn measures(&self, _: UnixMillis) -> Measures {
        Measures::default()
    }
}

/// Answers the gateway. Without an answer the gateway says 500, and remembers nothing.
///
/// # Errors
/// If the table cannot be read: then nobody knows who it is.
pub async fn handle(store: Store, question: Question) -> Result<Answer, TableError> {
    let [authorization] = &question.identity_source[..] else {
        return Ok(Answer { is_authorized: false, context: None });
    };
    let context = match identify(&store, Some(authorization)).await? {
        Identity::Known(caller) => Some(Context::from(&caller)),
        Identity::Missing | Identity::Refused => None,
    };
    Ok(Answer { is_authorized: context.is_some(), context })
}

/// Says who sends an `Authorization` header of that value.
///
/// # Errors
/// If the table cannot be read.
pub async fn identify(store: &Store, authorization: Option<&str>) -> Result<Identity, TableError> {
    let Some(token) = authorization.and_then(Token::bearer) else { return Ok(Identity::Missing) };
    let (session, _) = store.session(token.hash()).await?;
    Ok(session.map_or(Identity::Refused, |session| Identity::Known(Caller::from(session))))
}

/// Stands before routes where no gateway does: says of each request who makes it.
///
/// # Errors
/// 503 `unavailable`, if the table cannot be read.
pub async fn authorize(
    State(store): State<Store>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let mut headers = request.headers().get_all(AUTHORIZATION).iter();
    let identity = match (headers.next(), headers.next()) {
        (None, _) => Identity::Missing,
        (Some(authorization), None) => identify(&store, authorization.to_str().ok()).await?,
        // Joined into one by the gateway, two are no token.
        (Some(_), Some(_)) => Identity::Refused,
    };
    request.extensions_mut().insert(identity);
    Ok(next.run(request).await)
}
