//! The one client of DynamoDB, and the one way to HTTPS.
//!
//! A function finds its region and its credentials in its environment, where the platform puts them: nothing is looked
//! for elsewhere, no file is read and nothing is asked of the network before the first call. Who runs elsewhere loads
//! an [`SdkConfig`] in their own way, and gets the same client of it.
//!
//! Every setting whose default may change with a version of the SDK is given. The SDK never retries: the
//! store does, which knows what each attempt may have done and how much of the request's time is left.
//! Its HTTP is our own (`https.rs`), not the SDK's.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Builder, Credentials, Region, SharedCredentialsProvider, SharedHttpClient,
};
use aws_smithy_runtime_api::client::http::{HttpConnectorSettings, SharedHttpConnector};
use aws_types::SdkConfig;

use crate::https::Https;
use crate::limits::{CALL_TIMEOUT, CONNECT_TIMEOUT, READ_TIMEOUT};
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
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(https(roots));
    sdk.set_endpoint_url(var("AWS_ENDPOINT_URL"));
    Ok(Environment { sdk: sdk.build(), roots })
}

/// The SDK's defaults, as they were when this was written.
#[must_use]
pub fn behavior() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// HTTPS for the SDK's clients.
#[must_use]
pub fn https(roots: TrustRoots) -> SharedHttpClient {
    SharedHttpClient::new(Https::new(roots))
}

/// The same HTTPS for a client that is not the SDK's, which bounds its calls itself.
#[must_use]
pub fn connector(roots: TrustRoots, connect_timeout: Duration) -> SharedHttpConnector {
    Https::new(roots).connector(&HttpConnectorSettings::builder().connect_timeout(connect_timeout).build())
}

/// A client of DynamoDB.
#[must_use]
pub fn client(config: &SdkConfig) -> Client {
    Client::from_conf(bounded(Builder::from(config)).build())
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
mod tests {
    use super::*;

    /// What the platform sets.
    const PLATFORM: [(&str, &str); 4] = [
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "token"),
    ];

    fn environment(vars: &[(&str, &str)]) -> Result<Environment, EnvironmentError> {
        of_vars(|name| vars.iter().find(|var| var.0 == name).map(|var| var.1.to_owned()))
    }

    #[test]
    fn calls_are_bounded_and_made_once() {
        let config = bounded(Builder::new()).build();
        assert_eq!(config.retry_config().unwrap().max_attempts(), 1);
        let timeouts = config.timeout_config().unwrap();
        assert_eq!(timeouts.operation_timeout(), Some(CALL_TIMEOUT));
        assert_eq!(timeouts.connect_timeout(), Some(CONNECT_TIMEOUT));
    }

    #[tokio::test]
    async fn a_function_is_who_its_environment_says_and_asks_nobody() {
        use aws_sdk_dynamodb::config::ProvideCredentials;

        let Environment { sdk: config, roots } = environment(&PLATFORM).unwrap();
        assert_eq!(roots, TrustRoots::Amazon);
        assert_eq!(config.region(), Some(&Region::from_static("eu-central-1")));
        assert_eq!(config.endpoint_url(), None);
        let credentials = config.credentials_provider().unwrap().provide_credentials().await.unwrap();
        assert_eq!((credentials.access_key_id(), credentials.secret_access_key()), ("key", "secret"));
        assert_eq!((credentials.session_token(), credentials.expiry()), (Some("token"), None));

        let elsewhere = [&PLATFORM[..], &[("AWS_ENDPOINT_URL", "http://127.0.0.1:8000")]].concat();
        assert_eq!(environment(&elsewhere).unwrap().sdk.endpoint_url(), Some("http://127.0.0.1:8000"));
    }

    #[test]
    fn what_the_environment_lacks_is_named() {
        for (index, (name, _)) in PLATFORM.into_iter().enumerate().take(3) {
            let mut vars = PLATFORM.to_vec();
            vars.remove(index);
            assert_eq!(environment(&vars).unwrap_err(), EnvironmentError::Missing(name));
        }
        let roots = |roots| {
            let vars = [&PLATFORM[..], &[("TRUST_ROOTS", roots)]].concat();
            environment(&vars).map(|environment| environment.roots)
        };
        assert_eq!(roots("native"), Ok(TrustRoots::Native));
        assert_eq!(roots("all"), Err(EnvironmentError::TrustRoots));
    }
}
