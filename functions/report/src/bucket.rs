//! S3, with the region and the credentials of the environment.
//!
//! The number and the time of retries are set explicitly, without a default. If a call still fails, the next
//! invocation continues the run.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use aws_sdk_dynamodb::config::{Credentials, ProvideCredentials, SharedCredentialsProvider};
use lately_kit::aws::Environment;
use lately_kit::clock;
use object_store::aws::{AmazonS3Builder, AwsCredential};
use object_store::{BackoffConfig, CredentialProvider, Error, ObjectStore, Result, RetryConfig};

use crate::https::Https;
use crate::limits::{BUCKET_CALL_TIMEOUT, BUCKET_RETRIES, BUCKET_RETRY_TIMEOUT, CREDENTIALS_MARGIN};

/// Opens a bucket without calling it yet.
///
/// # Errors
/// If the environment's settings for the bucket are invalid.
pub fn open(name: &str, environment: &Environment) -> Result<Arc<dyn ObjectStore>> {
    let Environment { sdk, roots } = environment;
    let retry = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: BUCKET_RETRIES,
        retry_timeout: BUCKET_RETRY_TIMEOUT,
    };
    let mut bucket = AmazonS3Builder::new().with_bucket_name(name);
    bucket = bucket.with_retry(retry).with_http_connector(Https::new(*roots, BUCKET_CALL_TIMEOUT));
    if let Some(region) = sdk.region() {
        bucket = bucket.with_region(region.as_ref());
    }
    if let Some(provider) = sdk.credentials_provider() {
        bucket = bucket.with_credentials(Arc::new(Renewed { provider, last: Mutex::default() }));
    }
    if let Some(endpoint) = sdk.endpoint_url() {
        bucket = bucket.with_endpoint(endpoint).with_allow_http(endpoint.starts_with("http://"));
    }
    Ok(Arc::new(bucket.build()?))
}

/// The environment's credentials, renewed before they expire: a process may live for hours.
#[derive(Debug)]
struct Renewed {
    provider: SharedCredentialsProvider,
    last: Mutex<Option<Credentials>>,
}

#[async_trait]
impl CredentialProvider for Renewed {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> Result<Arc<AwsCredential>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let credentials = match last.filter(is_good) {
            Some(last) => last,
            None => {
                let refused = |error| Error::Generic { store: "S3", source: Box::new(error) };
                let next = self.provider.provide_credentials().await.map_err(refused)?;
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(next.clone());
                next
            }
        };
        Ok(Arc::new(AwsCredential {
            key_id: credentials.access_key_id().to_owned(),
            secret_key: credentials.secret_access_key().to_owned(),
            token: credentials.session_token().map(str::to_owned),
        }))
    }
}

/// True if credentials are valid long enough for the next call.
fn is_good(credentials: &Credentials) -> bool {
    let until = credentials.expiry().and_then(|expiry| expiry.duration_since(UNIX_EPOCH).ok());
    until.is_none_or(|until| clock::unix_now() + CREDENTIALS_MARGIN < until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The access key that a call gets if the last credentials are valid for `good_for` longer.
    async fn key(good_for: Option<Duration>) -> String {
        let of_key = |key: &str, expiry| Credentials::new(key, "secret", None, expiry, "test");
        let expiry = good_for.map(|time| UNIX_EPOCH + clock::unix_now() + time);
        let provider = SharedCredentialsProvider::new(of_key("new", None));
        let renewed = Renewed { provider, last: Mutex::new(Some(of_key("last", expiry))) };
        let given = renewed.get_credential().await.unwrap();
        assert_eq!(renewed.last.lock().unwrap().as_ref().unwrap().access_key_id(), given.key_id);
        given.key_id.clone()
    }

    #[tokio::test]
    async fn credentials_are_cached_until_shortly_before_they_expire() {
        assert_eq!(key(None).await, "last");
        assert_eq!(key(Some(CREDENTIALS_MARGIN * 2)).await, "last");
        assert_eq!(key(Some(CREDENTIALS_MARGIN)).await, "new");
        assert_eq!(key(Some(Duration::ZERO)).await, "new");
    }
}
