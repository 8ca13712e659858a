//! The one client of DynamoDB.
//!
//! Every setting whose default may change with a version of the SDK is given. The SDK never retries: the
//! store does, which knows what each attempt may have done and how much of the request's time is left.
//! TLS is rustls on `ring`, which builds in seconds; the SDK's own choice brings a C library that builds in minutes.

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Builder, retry::RetryConfig};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

use crate::limits::{CALL_TIMEOUT, CONNECT_TIMEOUT, READ_TIMEOUT};

/// A client for the region and the credentials that the environment gives.
pub async fn client() -> Client {
    Client::from_conf(bounded(Builder::from(&environment().await)).build())
}

/// The region, the credentials and the endpoint that the environment gives.
pub async fn environment() -> SdkConfig {
    let https =
        aws_smithy_http_client::Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    aws_config::defaults(BehaviorVersion::v2026_01_12()).http_client(https).load().await
}

/// A client's settings, with every call bounded in time and made once.
#[must_use]
pub fn bounded(config: Builder) -> Builder {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .operation_attempt_timeout(CALL_TIMEOUT)
        .operation_timeout(CALL_TIMEOUT)
        .build();
    config
        .behavior_version(BehaviorVersion::v2026_01_12())
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeouts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_bounded_and_made_once() {
        let config = bounded(Builder::new()).build();
        assert_eq!(config.retry_config().unwrap().max_attempts(), 1);
        let timeouts = config.timeout_config().unwrap();
        assert_eq!(timeouts.operation_timeout(), Some(CALL_TIMEOUT));
        assert_eq!(timeouts.connect_timeout(), Some(CONNECT_TIMEOUT));
    }
}
