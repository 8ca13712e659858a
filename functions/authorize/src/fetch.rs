//! Documents of issuers, over HTTP.
//!
//! Issuers are not AWS, so their certificates are checked with the system's roots. The connector, which reads those
//! roots, is made for the first request: a function without issuers, or without a JWT, never makes it. Redirects are not
//! followed, so an issuer cannot send a function to another address. Time and size are bounded.

use std::sync::OnceLock;

use aws_smithy_runtime_api::client::http::{HttpConnector as _, HttpConnectorSettings, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use http_body_util::{BodyExt, Limited};
use lately_kit::aws;
use lately_kit::trust::TrustRoots;
use tokio::time::timeout;

use crate::limits::{DOCUMENT_BYTES, FETCH_TIMEOUT};

/// Why a document could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("its address is not one that can be requested")]
    Address,
    #[error("no answer within {FETCH_TIMEOUT:?}")]
    TooSlow,
    #[error("no connection: {0}")]
    Connection(#[from] ConnectorError),
    #[error("the answer has the status {0}")]
    Status(u16),
    #[error("the answer broke off, or is longer than {DOCUMENT_BYTES} bytes")]
    Body,
    #[error("the answer is not the expected document: {0}")]
    Document(#[from] serde_json::Error),
    #[error("the document names another issuer, or no address of keys that may be used")]
    Foreign,
}

/// An HTTP client for issuers.
#[derive(Debug, Default)]
pub(crate) struct Http(OnceLock<SharedHttpConnector>);

impl Http {
    /// A document, whole.
    pub(crate) async fn get(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        timeout(FETCH_TIMEOUT, self.get_in_time(url)).await.map_err(|_| FetchError::TooSlow)?
    }

    async fn get_in_time(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        let mut request = HttpRequest::new(SdkBody::empty());
        request.set_uri(url).map_err(|_| FetchError::Address)?;
        let headers = request.headers_mut();
        headers.insert("accept", "application/json");
        // Some issuers refuse requests without it.
        headers.insert("user-agent", "lately");
        let answer = self.connector().call(request).await?;
        match answer.status().as_u16() {
            200 => {}
            status => return Err(FetchError::Status(status)),
        }
        let body = Limited::new(answer.into_body(), DOCUMENT_BYTES).collect().await;
        Ok(body.map_err(|_| FetchError::Body)?.to_bytes().into())
    }

    fn connector(&self) -> &SharedHttpConnector {
        self.0.get_or_init(|| {
            let times = HttpConnectorSettings::builder().connect_timeout(FETCH_TIMEOUT).build();
            aws::connector(TrustRoots::Native, times)
        })
    }
}
