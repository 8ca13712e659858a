//! The engine as the SDK's HTTP client, and the SDK's client in front of it.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, IdentityCache, Region, StalledStreamProtectionConfig};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;

use crate::api_error::ApiError;

/// An SDK client that sends its requests to `http`. It states every setting whose default differs between versions of
/// the SDK: no retries, no timeouts, no signing.
pub(crate) fn build(http: SharedHttpClient) -> Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::from_static("local"))
        .endpoint_url("http://engine.invalid")
        .allow_no_auth()
        .identity_cache(IdentityCache::no_cache())
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(http)
        .build();
    Client::from_conf(config)
}

/// An HTTP client that uses one connector whatever its settings are, since there are no connections to configure.
pub(crate) fn shared(connector: impl HttpConnector + 'static) -> SharedHttpClient {
    let connector = SharedHttpConnector::new(connector);
    http_client_fn(move |_, _| connector.clone())
}

/// The HTTP response with an answer or an error.
pub(crate) fn respond(answer: Result<String, ApiError>) -> Result<HttpResponse, ConnectorError> {
    let (status, body) = match answer {
        Ok(body) => (200, body),
        Err(error) => (error.status, error.body),
    };
    let status = StatusCode::try_from(status).expect("the statuses given are valid");
    let mut response = HttpResponse::new(status, SdkBody::from(body));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    Ok(response)
}
