//! The DynamoDB client and the HTTPS connector that every function uses.
//!
//! A function reads its region and credentials from its environment, where the platform puts them. It reads no file and
//! sends nothing over the network before the first call. A program that runs elsewhere loads an [`SdkConfig`] in its
//! own way and gets the same client from it.
//!
//! Every setting whose default may change with the SDK's version is set explicitly. The SDK's retries are off: the
//! store retries, because it knows which attempts may have been applied and how much time the request has. HTTP is
//! the SDK's own client, with rustls on ring: it builds in seconds and needs no set-up at the start.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Builder, Credentials, Region, SharedCredentialsProvider, SharedHttpClient,
};
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_runtime_api::client::http::{HttpConnectorSettings, SharedHttpConnector, http_client_fn};
use aws_types::SdkConfig;

use crate::limits::{CALL_TIMEOUT, CONNECT_TIMEOUT, CONNECTION_KEPT, READ_TIMEOUT};
use crate::trust::TrustRoots;

/// A variable of a function's environment that is missing or invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable that the platform sets is missing.
    #[error("{0} must be set")]
    Missing(&'static str),
    /// `TRUST_ROOTS` is neither `amazon` nor `native`.
    #[error("TRUST_ROOTS must be amazon or native")]
    TrustRoots,
}

/// The settings that every AWS client of a process is made from.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The region, the credentials, and the endpoint if it is not AWS's own.
    pub sdk: SdkConfig,
    /// The certificate roots that are trusted to identify AWS.
    pub roots: TrustRoots,
}

impl Environment {
    /// A client of DynamoDB.
    ///
    /// The connector is made here, once. The SDK's own HTTP client would make one at the start to test itself, drop it,
    /// and make another for the first call.
    pub fn client(&self) -> Client {
        let times =
            HttpConnectorSettings::builder().connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT);
        let connector = connector(self.roots, times.build());
        let https = http_client_fn(move |_, _| connector.clone());
        Client::from_conf(bounded(Builder::from(&self.sdk)).http_client(https).build())
    }
}

/// Reads the process's environment.
///
/// # Errors
/// With the first variable that is missing or invalid.
pub fn environment() -> Result<Environment, EnvironmentError> {
    of_vars(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn of_vars(var: impl Fn(&str) -> Option<String>) -> Result<Environment, EnvironmentError> {
    let required = |name| var(name).ok_or(EnvironmentError::Missing(name));
    let (key, secret) = (required("AWS_ACCESS_KEY_ID")?, required("AWS_SECRET_ACCESS_KEY")?);
    // No expiry: the platform gives each process credentials that outlive it.
    let credentials = Credentials::new(key, secret, var("AWS_SESSION_TOKEN"), None, "environment");
    let roots = match var("TRUST_ROOTS").as_deref() {
        None | Some("amazon") => TrustRoots::Amazon,
        Some("native") => TrustRoots::Native,
        Some(_) => return Err(EnvironmentError::TrustRoots),
    };
    let mut sdk = SdkConfig::builder()
        .behavior_version(behavior())
        .region(Region::new(required("AWS_REGION")?))
        .credentials_provider(SharedCredentialsProvider::new(credentials));
    sdk.set_endpoint_url(var("AWS_ENDPOINT_URL"));
    Ok(Environment { sdk: sdk.build(), roots })
}

/// The version of the SDK's defaults: fixed, so that an update of the SDK does not change them.
pub fn behavior() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// The TLS implementation of every connection.
const TLS: Provider = Provider::Rustls(CryptoMode::Ring);

/// An HTTPS client for the calls that the SDK makes to obtain credentials. The SDK sets their timeouts.
pub fn https(roots: TrustRoots) -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(TLS)
        .tls_context(tls_context(roots.store()))
        .build_https()
}

/// An HTTPS connector with these timeouts. It pools connections and reuses them.
pub fn connector(roots: TrustRoots, times: HttpConnectorSettings) -> SharedHttpConnector {
    let connector = Connector::builder().pool_idle_timeout(CONNECTION_KEPT).connector_settings(times);
    SharedHttpConnector::new(connector.tls_provider(TLS).tls_context(tls_context(roots.store())).build())
}

fn tls_context(trusted: TrustStore) -> TlsContext {
    TlsContext::builder().with_trust_store(trusted).build().expect("a trust store is all that it needs")
}

/// A client's settings with a timeout for every call and no retries.
pub fn bounded(config: Builder) -> Builder {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .operation_attempt_timeout(CALL_TIMEOUT)
        .operation_timeout(CALL_TIMEOUT)
        .build();
    config.behavior_version(behavior()).retry_config(RetryConfig::disabled()).timeout_config(timeouts)
}

#[cfg(test)]
mod tests;
