//! The authorizer: finds the caller of a request.
//!
//! API Gateway calls it with the value of the `Authorization` header (payload format 2.0) and caches its response by
//! that value, for all routes. So it never looks at the route: it only identifies the caller. The table in
//! `lately_kit::access` decides later what the caller may do on a route.
//!
//! The local program calls the same code, [`authorize`], and caches nothing.

use aws_lambda_events::apigw::{
    ApiGatewayV2CustomAuthorizerSimpleResponse, ApiGatewayV2CustomAuthorizerV2Request,
};
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
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::{Map, Value};

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

/// Answers the gateway. If it fails, the gateway responds with 500 and caches nothing.
///
/// # Errors
/// If the table cannot be read, so that the caller is unknown.
pub async fn handle(store: Store, question: Question) -> Result<Answer, TableError> {
    let mut answer = ApiGatewayV2CustomAuthorizerSimpleResponse::default();
    if let Some([authorization]) = question.0.identity_source.as_deref()
        && let Identity::Known(caller) = identify(&store, Some(authorization)).await?
    {
        answer.is_authorized = true;
        answer.context = Context::from(&caller).into();
    }
    Ok(Answer(answer))
}

/// Finds the caller who sends this value of the `Authorization` header.
///
/// # Errors
/// If the table cannot be read.
pub async fn identify(store: &Store, authorization: Option<&str>) -> Result<Identity, TableError> {
    let Some(token) = authorization.and_then(Token::bearer) else { return Ok(Identity::Missing) };
    let session = store.op().sessions().find(token.hash()).await?;
    Ok(session.map_or(Identity::Refused, |session| Identity::Known(Caller::from(session))))
}

/// The middleware in front of the routes of the local program, which has no gateway: identifies each request's caller.
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
        // The gateway would join two values into one, which is not a token.
        (Some(_), Some(_)) => Identity::Refused,
    };
    request.extensions_mut().insert(identity);
    Ok(next.run(request).await)
}
