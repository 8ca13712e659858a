//! Requests behind API Gateway and behind a function URL (payload format 2.0), made equal to the requests of the local
//! program.
//!
//! `lambda_http` makes a request from the event. The gateway sends the path decoded and the query as the client sent it,
//! and the library pastes both into one URI. So a decoded `#`, `?` or `%` would name another resource, `..` would be
//! resolved, and text that is no URI would cause a panic, which ends the process. Two steps repair this:
//!
//! 1. [`HttpEvent`], before the library: encodes the path and the query once, and checks everything over which the
//!    library would panic. A function URL sends the path as the client sent it: [`UrlEvent`] does not encode its escapes
//!    again.
//! 2. [`repaired`], after the library: restores the path, in which the library resolved `..`, and reads the caller and
//!    the request ids from the contexts.
//!
//! An [`Answer`] repairs responses.

use std::collections::HashMap;
use std::pin::Pin;

use aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpRequestContext};
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use axum::http::uri::{InvalidUri, Uri};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt;
use lambda_http::request::{LambdaRequest, RequestContext};
use lambda_http::{IntoResponse, RequestExt};
use lambda_runtime::LambdaEvent;
use lately_keys::UnixMillis;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::caller::{Caller, Identity};
use crate::log::{GatewayRequestId, RequestId};
use crate::path;

/// The bytes that a URI's query cannot hold. The gateway passes a query on as the client sent it, and some clients
/// escape too little.
const NO_QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// The bytes that a URI's path cannot hold. The escapes of a client stay as they are.
const NO_PATH: &AsciiSet = &NO_QUERY.add(b'?').add(b'`').add(b'{').add(b'}');

/// The header from which `lambda_http` reads the scheme of a URI.
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// A request as the gateway or a function URL sends it, checked: `lambda_http` can make a request from it without a
/// panic. `IS_DECODED` is true if the path is decoded, and false if it is as the client sent it.
#[derive(Debug)]
pub struct CheckedEvent<const IS_DECODED: bool>(ApiGatewayV2httpRequest);

/// A request as the gateway sends it.
pub type HttpEvent = CheckedEvent<true>;

/// A request as a function URL sends it.
pub type UrlEvent = CheckedEvent<false>;

impl<'de, const IS_DECODED: bool> Deserialize<'de> for CheckedEvent<IS_DECODED> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let event = serde_json::from_str(json.get()).or_else(|_| without_refused_headers(json.get()));
        let mut event: ApiGatewayV2httpRequest = event.map_err(D::Error::custom)?;
        let path = event.raw_path.unwrap_or_default();
        let path = if IS_DECODED { path::encoded(&path) } else { path::escaped(&path, NO_PATH) };
        let query = event.raw_query_string.unwrap_or_default();
        let query = utf8_percent_encode(&query, NO_QUERY).to_string();
        // The library's URI holds the same query and a path that is no longer, so it is a URI if this is one.
        target(&path, Some(&query)).map_err(D::Error::custom)?;
        event.raw_path = Some(path);
        event.raw_query_string = Some(query);
        if event.is_base64_encoded {
            STANDARD.decode(event.body.as_deref().unwrap_or_default()).map_err(D::Error::custom)?;
        }
        // The library puts these in front of the path. No route reads them, and a client can send a host that is not
        // valid.
        event.headers.remove(HOST);
        event.headers.remove(FORWARDED_PROTO);
        event.request_context.domain_name = None;
        Ok(Self(event))
    }
}

impl HttpEvent {
    /// The request for the router.
    ///
    /// # Errors
    /// If the request's path is no URI. The library's behaviour rules this out.
    pub fn into_request(self) -> Result<Request, InvalidUri> {
        repaired(LambdaRequest::from(self).into())
    }
}

impl<const IS_DECODED: bool> From<CheckedEvent<IS_DECODED>> for LambdaRequest {
    fn from(CheckedEvent(event): CheckedEvent<IS_DECODED>) -> Self {
        Self::ApiGatewayV2(event)
    }
}

/// An invocation for `lambda_http`, made from an invocation with a checked event.
pub(super) fn invocation(event: LambdaEvent<impl Into<LambdaRequest>>) -> LambdaEvent<LambdaRequest> {
    LambdaEvent::new(event.payload.into(), event.context)
}

/// The router's request, made from the library's request.
///
/// # Errors
/// As for [`HttpEvent::into_request`].
pub(super) fn repaired(mut request: lambda_http::Request) -> Result<Request, InvalidUri> {
    *request.uri_mut() = target(request.raw_http_path(), request.uri().query())?;
    let (identity, gateway_id) = match request.request_context_ref() {
        Some(RequestContext::ApiGatewayV2(context)) => (identity(context), context.request_id.clone()),
        _ => (Identity::Missing, None),
    };
    let id = request.lambda_context_ref().map(|context| RequestId(context.request_id.clone()));
    let extensions = request.extensions_mut();
    extensions.insert(identity);
    if let Some(id) = id {
        extensions.insert(id);
    }
    if let Some(id) = gateway_id {
        extensions.insert(GatewayRequestId(id));
    }
    Ok(request.map(Body::new))
}

/// The router's response, for `lambda_http` to send: UTF-8 text as it is, anything else (such as a compressed body) as
/// base64.
///
/// The library's own conversion contains an encoder for every charset of the web, a tenth of a binary's size. All our
/// text is UTF-8.
#[derive(Debug)]
pub(super) struct Answer(pub(super) Response);

impl IntoResponse for Answer {
    fn into_response(self) -> Pin<Box<dyn Future<Output = lambda_http::Response<lambda_http::Body>> + Send>> {
        Box::pin(async {
            let (parts, body) = self.0.into_parts();
            let body = body.collect().await.expect("a body that is in memory cannot fail").to_bytes().into();
            let body = match String::from_utf8(body) {
                Ok(text) => lambda_http::Body::Text(text),
                Err(bytes) => lambda_http::Body::Binary(bytes.into_bytes()),
            };
            lambda_http::Response::from_parts(parts, body)
        })
    }
}

/// Joins the values of each header into one, because the event that is sent has room for one value only.
pub(super) fn give_one_value_each(headers: &mut HeaderMap) {
    let names = headers.keys().filter(|name| headers.get_all(*name).iter().count() > 1);
    for name in names.cloned().collect::<Vec<_>>() {
        let values: Vec<_> = headers.get_all(&name).iter().map(HeaderValue::as_bytes).collect();
        let joined = HeaderValue::from_bytes(&values.join(&b", "[..])).expect("values joined are a value");
        headers.insert(name, joined);
    }
}

fn target(path: &str, query: Option<&str>) -> Result<Uri, InvalidUri> {
    match query {
        None | Some("") => path.parse(),
        Some(query) => format!("{path}?{query}").parse(),
    }
}

/// Reads an event that its type refuses as a whole, as the type does for a single header value outside ASCII. HTTP
/// servers accept such values.
fn without_refused_headers(json: &str) -> serde_json::Result<ApiGatewayV2httpRequest> {
    let mut event: Map<_, _> = serde_json::from_str(json)?;
    let headers = event.remove("headers").unwrap_or_default();
    let mut event: ApiGatewayV2httpRequest = serde_json::from_value(Value::Object(event))?;
    event.headers = headers_of(serde_json::from_value(headers)?);
    Ok(event)
}

/// The headers, without the invalid ones, which no server would have passed on either.
fn headers_of(headers: Option<HashMap<String, String>>) -> HeaderMap {
    let parsed = |(name, value): (String, String)| {
        Some((HeaderName::try_from(name).ok()?, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    };
    headers.unwrap_or_default().into_iter().filter_map(parsed).collect()
}

/// The caller as our authorizer described it in the gateway's context. A route without an authorizer has no such
/// fields.
fn identity(context: &ApiGatewayV2httpRequestContext) -> Identity {
    let mut fields = Map::new();
    fields.extend(context.authorizer.iter().flat_map(|authorizer| authorizer.fields.clone()));
    if fields.is_empty() {
        return Identity::Missing;
    }
    match Caller::from_context(&fields) {
        // The gateway's own time, so that no clock is read here.
        Ok(caller) if caller.is_over(time(context)) => Identity::Refused,
        Ok(caller) => Identity::Known(caller),
        Err(error) => {
            tracing::error!(%error, "the authorizer's context is not one of ours");
            Identity::Refused
        }
    }
}

/// When the gateway got the request.
fn time(context: &ApiGatewayV2httpRequestContext) -> UnixMillis {
    let millis = u64::try_from(context.time_epoch).ok();
    millis.and_then(|millis| UnixMillis::new(millis).ok()).unwrap_or(UnixMillis::MIN)
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use axum::http::Method;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn event(path: &str, query: &str) -> Value {
        json!({
            "version": "2.0", "routeKey": "GET /topics/{topic}", "rawPath": path, "rawQueryString": query,
            "headers": {"host": "api.example.org", "x-forwarded-proto": "https"},
            "requestContext": {"http": {"method": "GET"}, "requestId": "JKJaX=", "stage": "$default", "timeEpoch": 0},
            "isBase64Encoded": false,
        })
    }

    fn with(changes: Value) -> Value {
        let mut event = event("/topics/posts", "");
        for (name, value) in changes.as_object().unwrap() {
            event[name] = value.clone();
        }
        event
    }

    fn request(event: &Value) -> Result<Request, serde_json::Error> {
        HttpEvent::deserialize(event).map(|event| event.into_request().unwrap())
    }

    #[test]
    fn events_that_make_the_library_panic_are_repaired_or_refused() {
        let repaired = [
            event("/topics/posts", "type=<a>"),
            event("/topics/posts", "a b"),
            with(json!({"headers": {"host": "a b"}})),
            with(json!({"headers": {"host": "a", "x-forwarded-proto": "1"}})),
            event(":x/topics", ""),
        ];
        let refused = [
            with(json!({"body": "no base64!", "isBase64Encoded": true})),
            event("/topics/posts", &"a".repeat(1 << 16)),
        ];
        for event in repaired.iter().chain(&refused) {
            let alone = || {
                let event = ApiGatewayV2httpRequest::deserialize(event).unwrap();
                lambda_http::Request::from(LambdaRequest::ApiGatewayV2(event))
            };
            assert!(catch_unwind(alone).is_err(), "the library has mended this: {event}");
        }
        assert_eq!(request(&repaired[0]).unwrap().uri(), "/topics/posts?type=%3Ca%3E");
        assert_eq!(request(&repaired[1]).unwrap().uri(), "/topics/posts?a%20b");
        assert_eq!(request(&repaired[2]).unwrap().uri(), "/topics/posts");
        assert_eq!(request(&repaired[3]).unwrap().uri(), "/topics/posts");
        assert_eq!(request(&repaired[4]).unwrap().uri(), "/%3Ax/topics");
        assert!(refused.iter().all(|event| request(event).is_err()));
    }

    #[test]
    fn a_header_outside_ascii_does_not_refuse_the_event() {
        let event = with(json!({"headers": {"X-Name": "Zo\u{eb}", "no name": "x", "x-line": "a\nb"}}));
        assert!(ApiGatewayV2httpRequest::deserialize(&event).is_err(), "the library has mended this");
        let request = request(&event).unwrap();
        let names: Vec<_> = request.headers().keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["x-name"]);
        assert_eq!(request.headers()["x-name"].as_bytes(), "Zo\u{eb}".as_bytes());
        assert!(self::request(&with(json!({"headers": null}))).unwrap().headers().is_empty());
    }

    #[tokio::test]
    async fn a_request_keeps_its_method_body_and_gateway_id() {
        let context = json!({"http": {"method": "PATCH"}, "requestId": "JKJaX="});
        for (body, is_base64) in [("{\"a\":1}", false), ("eyJhIjoxfQ==", true)] {
            let event = with(json!({"body": body, "isBase64Encoded": is_base64, "requestContext": context}));
            let request = request(&event).unwrap();
            assert_eq!(request.method(), Method::PATCH);
            assert_eq!(request.extensions().get(), Some(&GatewayRequestId("JKJaX=".to_owned())));
            let body = axum::body::to_bytes(request.into_body(), 100).await.unwrap();
            assert_eq!(body, "{\"a\":1}");
        }
    }

    #[test]
    fn a_token_that_the_gateway_has_cached_ends_a_minute_after_its_end() {
        let end = 1_795_167_000_000_u64;
        let asked_at = |millis: u64| {
            let lambda = json!({"user": "ada", "scopes": "read", "expires_at": "2026-11-20T09:30:00Z"});
            let context = json!({
                "http": {"method": "GET"}, "timeEpoch": millis, "authorizer": {"lambda": lambda},
            });
            let request = request(&with(json!({"requestContext": context}))).unwrap();
            request.extensions().get::<Identity>().unwrap().caller().is_ok()
        };
        assert_eq!([0, end, end + 59_999, end + 60_000].map(asked_at), [true, true, true, false]);
    }

    #[test]
    fn a_response_has_one_value_for_each_header() {
        let mut headers: HeaderMap = HeaderMap::new();
        headers.append("vary", HeaderValue::from_static("a"));
        headers.append("lately-cost", HeaderValue::from_static("read_units=0.5"));
        give_one_value_each(&mut headers);
        assert_eq!(headers["vary"], "a");
        headers.append("vary", HeaderValue::from_static("b"));
        give_one_value_each(&mut headers);
        assert_eq!(headers.get_all("vary").iter().collect::<Vec<_>>(), ["a, b"]);
        assert_eq!(headers["lately-cost"], "read_units=0.5");
    }

    #[tokio::test]
    async fn a_response_is_text_if_its_body_is_utf_8() {
        for (bytes, is_text) in
            [(&b"[]"[..], true), ("Zo\u{eb}".as_bytes(), true), (b"", true), (b"\x1f\x8b\x08", false)]
        {
            let (_, body) = Answer(Response::new(Body::from(bytes))).into_response().await.into_parts();
            assert_eq!((matches!(body, lambda_http::Body::Text(_)), &*body), (is_text, bytes));
        }
    }

    proptest! {
        #[test]
        fn any_path_and_query_survive_the_conversion(path in "/\\PC{0,20}", query in "\\PC{0,20}") {
            let request = request(&event(&path, &query)).unwrap();
            let decoded = percent_encoding::percent_decode_str(request.uri().path());
            prop_assert_eq!(decoded.decode_utf8().unwrap(), path);
            prop_assert_eq!(request.uri().query().is_some(), !query.is_empty());
        }

        #[test]
        fn a_function_url_path_is_decoded_once(path in "/\\PC{0,20}", raw in "\\PC{0,20}") {
            let sent = |path: &str| {
                let event = UrlEvent::deserialize(&event(path, "a=b")).unwrap();
                let request = repaired(LambdaRequest::from(event).into()).unwrap();
                assert_eq!(request.uri().query(), Some("a=b"));
                request.uri().path().to_owned()
            };
            let escaped = path::encoded(&path);
            prop_assert_eq!(sent(&escaped), escaped);
            // A path that no client of HTTP sends is refused or answered, but is no panic.
            sent(&raw);
        }
    }
}
