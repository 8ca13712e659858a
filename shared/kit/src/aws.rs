//! The one client of DynamoDB, and the one way to HTTPS.
//!
//! A function finds its region and its credentials in its environment, where the platform puts them: nothing is looked
//! for elsewhere, no file is read and nothing is asked of the network before the first call. Who runs elsewhere loads
//! an [`SdkConfig`] in their own way, and gets the same client of it.
//!
//! Every setting whose default may change with a version of the SDK is given. The SDK never retries: the
//! store does, which knows what each attempt may have done and how much of the request's time is left.
//! HTTP is the SDK's own client, with rustls on ring, which builds in seconds and needs no set-up at the start.

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

/// What the environment of a function lacks, or says wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable that the platform sets is not there.
    #[error("{0} must be set")]
    Missing(&'static str),
    /// `TRUST_ROOTS` is neither of its values.
    #[error("TRUST_ROOTS must be amazon or native")]
    TrustRoots,
}

/// What every client of a process is made of.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Where AWS is, and as whom it is asked.
    pub sdk: SdkConfig,
    /// Who is trusted to be it.
    pub roots: TrustRoots,
}

impl Environment {
    /// A client of DynamoDB.
    ///
    /// Its connector is made here. The SDK's own HTTP client makes one to test itself at the start, drops it, and makes the
    /// next one for the first call.
    #[must_use]
    pub fn client(&self) -> Client {
        let times =
            HttpConnectorSettings::builder().connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT);
        let connector = connector(self.roots, times.build());
        let https = http_client_fn(move |_, _| connector.clone());
        Client::from_conf(bounded(Builder::from(&self.sdk)).http_client(https).build())
    }
}

/// What a function's environment says.
///
/// # Errors
/// With the first that it lacks.
pub fn environment() -> Result<Environment, EnvironmentError> {
    of_vars(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn of_vars(var: impl Fn(&str) -> Option<String>) -> Result<Environment, EnvironmentError> {
    let required = |name| var(name).ok_or(EnvironmentError::Missing(name));
    let (key, secret) = (required("AWS_ACCESS_KEY_ID")?, required("AWS_SECRET_ACCESS_KEY")?);
    // They live longer than the process does: the platform sees to that.
    let credentials = Credentials::new(key, secret, var("AWS_SESSION_TOKEN"), None, "environment");
    let roots = match var("TRUST_ROOTS") {
        Some(roots) => roots.parse().map_err(|_| EnvironmentError::TrustRoots)?,
        None => TrustRoots::default(),
    };
    let mut sdk = SdkConfig::builder()
        .behavior_version(behavior())
        .region(Region::new(required("AWS_REGION")?))
        .credentials_provider(SharedCredentialsProvider::new(credentials));
    sdk.set_endpoint_url(var("AWS_ENDPOINT_URL"));
    Ok(Environment { sdk: sdk.build(), roots })
}

/// The SDK's defaults, as they were when this was written.
#[must_use]
pub fn behavior() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// The one implementation of TLS.
const TLS: Provider = Provider::Rustls(CryptoMode::Ring);

/// HTTPS for what the SDK asks before it has credentials, with timeouts of its own.
#[must_use]
pub fn https(roots: TrustRoots) -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(TLS)
        .tls_context(tls_context(roots.store()))
        .build_https()
}

/// HTTPS within these times. Connections are kept and used again.
#[must_use]
pub fn connector(roots: TrustRoots, times: HttpConnectorSettings) -> SharedHttpConnector {
    let connector = Connector::builder().pool_idle_timeout(CONNECTION_KEPT).connector_settings(times);
    SharedHttpConnector::new(connector.tls_provider(TLS).tls_context(tls_context(roots.store())).build())
}

fn tls_context(trusted: TrustStore) -> TlsContext {
    TlsContext::builder().with_trust_store(trusted).build().expect("a trust store is all that it needs")
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
    config.behavior_version(behavior()).retry_config(RetryConfig::disabled()).timeout_config(timeouts)
}

#[cfg(test)]
mod tests;
