//! HTTP for S3 through the same client as for DynamoDB, so that the program contains one TLS implementation and one set
//! of trusted roots.
//!
//! The caller decides about retries, by the kind of the failure.

use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use aws_smithy_runtime_api::client::http::{HttpConnector as _, HttpConnectorSettings, SharedHttpConnector};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use lately_kit::aws;
use lately_kit::trust::TrustRoots;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::{ClientOptions, Result};
use tokio::time::{Instant, timeout_at};

use crate::limits::BUCKET_CONNECT_TIMEOUT;

/// An HTTPS client with a timeout for each call, from the first byte sent to the last byte received. The connector is
/// made for the first call.
#[derive(Clone, Debug)]
pub(crate) struct Https {
    roots: TrustRoots,
    call_timeout: Duration,
    connector: OnceLock<SharedHttpConnector>,
}

impl Https {
    pub(crate) const fn new(roots: TrustRoots, call_timeout: Duration) -> Self {
        Self { roots, call_timeout, connector: OnceLock::new() }
    }
}

/// A call took too long.
#[derive(Debug, thiserror::Error)]
#[error("a call took longer than {0:?}")]
struct CallTooLong(Duration);

impl HttpConnector for Https {
    fn connect(&self, _: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Https {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let end = Instant::now() + self.call_timeout;
        let request = request.map(SdkBody::from_body_1_x).try_into();
        let request = request.map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        let call_timeout = self.call_timeout;
        let too_long = move || HttpError::new(HttpErrorKind::Timeout, CallTooLong(call_timeout));
        let connector = self.connector.get_or_init(|| {
            let times = HttpConnectorSettings::builder().connect_timeout(BUCKET_CONNECT_TIMEOUT).build();
            aws::connector(self.roots, times)
        });
        let answer = timeout_at(end, connector.call(request)).await.map_err(|_| too_long())?;
        let answer = answer.map_err(|error| HttpError::new(kind(&error), error))?;
        let answer =
            answer.try_into_http1x().map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        // The body fails if it does not end before the timeout.
        let frames = |body| {
            stream::try_unfold(body, move |mut body: SdkBody| async move {
                let frame = timeout_at(end, body.frame()).await.map_err(|_| too_long())?;
                let interrupted = |error| HttpError::new_boxed(HttpErrorKind::Interrupted, error);
                Ok(frame.transpose().map_err(interrupted)?.map(|frame| (frame, body)))
            })
        };
        Ok(answer.map(|body| HttpResponseBody::new(StreamBody::new(frames(body)))))
    }
}

/// The kind of a failure, which decides whether a retry is allowed.
fn kind(error: &ConnectorError) -> HttpErrorKind {
    if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_user() {
        HttpErrorKind::Unknown
    } else {
        // The request may have arrived, so only idempotent requests are retried.
        HttpErrorKind::Interrupted
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::sync::Arc;
    use std::thread::JoinHandle;

    use aws_sdk_dynamodb::config::{Credentials, Region, SharedCredentialsProvider};
    use aws_types::SdkConfig;
    use lately_kit::aws::Environment;
    use object_store::client::HttpRequestBody;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};

    use super::*;
    use crate::bucket;

    const PUT: &str = "HTTP/1.1 200 OK\r\netag: \"1\"\r\ncontent-length: 0\r\n\r\n";
    const GET: &str = "HTTP/1.1 200 OK\r\netag: \"1\"\r\nlast-modified: Sat, 21 Nov 2026 07:00:00 GMT\r\n\
                       content-length: 5\r\n\r\nhello";

    /// A server that answers each connection's first request with the next of `answers` and then closes the connection.
    /// It returns the requests.
    fn server(answers: &'static [&'static str]) -> (SocketAddr, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let serve = move |answer: &&str| {
            let (mut connection, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(connection.try_clone().unwrap());
            let (mut request, mut length) = (String::new(), 0);
            while !request.ends_with("\r\n\r\n") {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
                request += &line;
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            connection.write_all(answer.as_bytes()).unwrap();
            request + str::from_utf8(&body).unwrap()
        };
        (address, std::thread::spawn(move || answers.iter().map(serve).collect()))
    }

    fn bucket(address: SocketAddr) -> Arc<dyn ObjectStore> {
        let credentials = Credentials::new("key", "secret", Some("token".to_owned()), None, "test");
        let sdk = SdkConfig::builder()
            .region(Region::from_static("eu-central-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .endpoint_url(format!("http://{address}"))
            .build();
        bucket::open("reports", &Environment { sdk, roots: TrustRoots::Amazon }).unwrap()
    }

    #[tokio::test]
    async fn a_read_that_was_cut_off_is_retried() {
        let (address, asked) = server(&[PUT, "", GET]);
        let (bucket, name) = (bucket(address), Path::from("a/b"));
        bucket.put(&name, "hello".into()).await.unwrap();
        assert_eq!(bucket.get(&name).await.unwrap().bytes().await.unwrap(), "hello");
        let asked = asked.join().unwrap();
        assert!(asked[0].starts_with("PUT /reports/a/b HTTP/1.1\r\n") && asked[0].ends_with("\r\n\r\nhello"));
        assert!(asked[0].contains("authorization: AWS4-HMAC-SHA256 Credential=key/"), "{}", asked[0]);
        assert!(asked[0].contains("x-amz-security-token: token\r\n"), "{}", asked[0]);
        assert!(asked[1..].iter().all(|request| request.starts_with("GET /reports/a/b ")), "{asked:?}");
    }

    #[tokio::test]
    async fn a_call_times_out_before_and_within_its_response() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let call = async |time| {
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.uri_mut() = url.parse().unwrap();
            Https::new(TrustRoots::Amazon, time).call(request).await
        };
        let nothing = call(Duration::from_millis(300)).await;
        assert_eq!(nothing.unwrap_err().kind(), HttpErrorKind::Timeout);

        let half = std::thread::spawn(move || {
            // The first connection is from the call that got no response.
            let mut connections = [listener.accept().unwrap().0, listener.accept().unwrap().0];
            connections[1].read_exact(&mut [0]).unwrap();
            connections[1].write_all(GET.trim_end_matches("lo").as_bytes()).unwrap();
            connections
        });
        // The time is long enough for the bytes that do come.
        let answer = call(Duration::from_secs(5)).await.unwrap();
        assert_eq!(answer.into_body().bytes().await.unwrap_err().kind(), HttpErrorKind::Timeout);
        drop(half.join().unwrap());
    }
}
