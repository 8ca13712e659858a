//! HTTP/1.1, with TLS: how AWS is talked to.
//!
//! Our own, on hyper and rustls, in place of the SDK's: that brings HTTP/2, proxies and more, which neither DynamoDB nor S3
//! is asked with here, and every cold start loads what is in the program. What must hold:
//!
//! - Nothing is made before the first call; but the system's roots, where those are trusted, which are many.
//! - A connection is kept, and used again by later calls and later invocations. Meanwhile the process may have been
//!   frozen, and its peer gone: a request of which nothing was written goes over another connection. One that may have
//!   arrived is not sent again here. Who made it is told, and knows whether it may be done twice.
//! - A call that is given up takes its connection with it.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::connection::{CaptureSmithyConnection, ConnectionMetadata};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use axum::http::header::{HOST, HeaderValue};
use axum::http::uri::{Authority, PathAndQuery, Scheme};
use axum::http::{Request, Uri};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::client::legacy::connect::HttpConnector as Tcp;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tower::Service;

use crate::clock;
use crate::limits::CONNECTION_KEPT;
use crate::trust::TrustRoots;

/// A way to HTTPS, and to HTTP where an endpoint says so. Its clones share their connections.
#[derive(Clone)]
pub(crate) struct Https(Arc<Shared>);

struct Shared {
    tcp: Tcp,
    roots: TrustRoots,
    tls: OnceLock<TlsConnector>,
    /// As many as were in use at one time, at most.
    kept: Mutex<Vec<Connection>>,
}

/// Where a connection leads.
type Origin = (Scheme, Authority);

/// A connection. It takes one request at a time, and the next when the answer to that has been read.
struct Connection {
    origin: Origin,
    requests: SendRequest<SdkBody>,
    used: Instant,
    /// Whether the SDK thinks that another would serve better: after a failure of the server's.
    is_spoiled: Arc<AtomicBool>,
}

impl Https {
    pub(crate) fn new(roots: TrustRoots) -> Self {
        let https = Self::with(roots, OnceLock::new());
        if roots == TrustRoots::Native {
            // Read while the platform still waits for the process.
            https.tls();
        }
        https
    }

    fn with(roots: TrustRoots, tls: OnceLock<TlsConnector>) -> Self {
        let mut tcp = Tcp::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Self(Arc::new(Shared { tcp, roots, tls, kept: Mutex::default() }))
    }

    /// A connector that bounds how long a connection takes, and how long the beginning of an answer does.
    pub(crate) fn connector(&self, settings: &HttpConnectorSettings) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector { https: self.clone(), settings: settings.clone() })
    }

    fn tls(&self) -> &TlsConnector {
        self.0.tls.get_or_init(|| Arc::new(self.0.roots.tls()).into())
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Connection>> {
        // What is in there is whole at any time.
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn call(
        &self,
        request: HttpRequest,
        connect_timeout: Option<Duration>,
    ) -> Result<HttpResponse, ConnectorError> {
        let is_spoiled = Arc::default();
        tell_how_to_spoil(&request, &is_spoiled);
        let mut request = request.try_into_http1x().map_err(|error| ConnectorError::user(error.into()))?;
        let uri = request.uri().clone();
        let origin = to_origin(&mut request).map_err(ConnectorError::user)?;
        // What came while the process was frozen is looked at first: the ends of connections.
        tokio::task::yield_now().await;
        // Each round but the last uses up a connection that is kept.
        loop {
            let kept = self.take(&origin);
            let is_kept = kept.is_some();
            let mut requests = match kept {
                Some(requests) => requests,
                None => within(connect_timeout, "a connection", self.connect(&uri)).await?,
            };
            match requests.try_send_request(request).await {
                Ok(answer) => {
                    let used = clock::monotonic_now();
                    self.kept().push(Connection { origin, requests, used, is_spoiled });
                    let answer = answer.map(SdkBody::from_body_1_x);
                    return answer
                        .try_into()
                        .map_err(|error| ConnectorError::other(BoxError::from(error), None));
                }
                Err(mut error) => match error.take_message() {
                    Some(unsent) if is_kept => request = unsent,
                    _ => return Err(failed(error.into_error())),
                },
            }
        }
    }

    /// A connection that was used before, can be used now, and is not known to be gone.
    fn take(&self, origin: &Origin) -> Option<SendRequest<SdkBody>> {
        let mut kept = self.kept();
        let now = clock::monotonic_now();
        kept.retain(|connection| connection.is_good(now));
        let free = |connection: &Connection| connection.origin == *origin && connection.requests.is_ready();
        let last = kept.iter().rposition(free)?;
        Some(kept.swap_remove(last).requests)
    }

    async fn connect(&self, uri: &Uri) -> Result<SendRequest<SdkBody>, ConnectorError> {
        let refused = |error| ConnectorError::io(error).never_connected();
        let stream = self.stream(uri).await.map_err(refused)?;
        let (requests, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| refused(error.into()))?;
        // How it ends, its requests are told.
        tokio::spawn(async move { drop(connection.await) });
        Ok(requests)
    }

    async fn stream(&self, uri: &Uri) -> Result<Box<dyn Stream>, BoxError> {
        let tcp = self.0.tcp.clone().call(uri.clone()).await?.into_inner();
        if uri.scheme() != Some(&Scheme::HTTPS) {
            return Ok(Box::new(tcp));
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let name = ServerName::try_from(host)?.to_owned();
        Ok(Box::new(self.tls().connect(name, tcp).await?))
    }
}

impl fmt::Debug for Https {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Https").field("roots", &self.0.roots).finish_non_exhaustive()
    }
}

impl HttpClient for Https {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        self.connector(settings)
    }
}

#[derive(Clone, Debug)]
struct Connector {
    https: Https,
    settings: HttpConnectorSettings,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Self { https, settings } = self.clone();
        HttpConnectorFuture::new(async move {
            let call = https.call(request, settings.connect_timeout());
            within(settings.read_timeout(), "an answer", call).await
        })
    }
}

impl Connection {
    fn is_good(&self, now: Instant) -> bool {
        let is_fresh = now.saturating_duration_since(self.used) < CONNECTION_KEPT;
        is_fresh && !self.requests.is_closed() && !self.is_spoiled.load(Ordering::Relaxed)
    }
}

/// What HTTP can be spoken over.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Lets the SDK say that a connection is not to be used again.
fn tell_how_to_spoil(request: &HttpRequest, is_spoiled: &Arc<AtomicBool>) {
    let Some(capture) = request.extension::<CaptureSmithyConnection>() else { return };
    let is_spoiled = Arc::clone(is_spoiled);
    capture.set_connection_retriever(move || {
        let is_spoiled = Arc::clone(&is_spoiled);
        let spoil = move || is_spoiled.store(true, Ordering::Relaxed);
        Some(ConnectionMetadata::builder().proxied(false).poison_fn(spoil).build())
    });
}

/// Makes a request one for the server at its URI's origin: the host as a header, and no more of the URI than its path and
/// query (RFC 9112, 3.2.1).
fn to_origin(request: &mut Request<SdkBody>) -> Result<Origin, BoxError> {
    let parts = std::mem::take(request.uri_mut()).into_parts();
    let scheme = parts.scheme.ok_or("a URI without a scheme")?;
    let authority = parts.authority.ok_or("a URI without a host")?;
    if !request.headers().contains_key(HOST) {
        // A port that goes without saying is not said: the host is signed, and the signature does not have it.
        let usual = if scheme == Scheme::HTTPS { 443 } else { 80 };
        let is_said = authority.port_u16().is_some_and(|port| port != usual);
        let host = if is_said { authority.as_str() } else { authority.host() };
        let host = HeaderValue::from_str(host)?;
        request.headers_mut().insert(HOST, host);
    }
    *request.uri_mut() = parts.path_and_query.unwrap_or(PathAndQuery::from_static("/")).into();
    Ok((scheme, authority))
}

/// Something did not come in time.
#[derive(Debug, thiserror::Error)]
#[error("{what} took longer than {limit:?}")]
struct TooLong {
    what: &'static str,
    limit: Duration,
}

async fn within<T>(
    limit: Option<Duration>,
    what: &'static str,
    work: impl Future<Output = Result<T, ConnectorError>>,
) -> Result<T, ConnectorError> {
    let Some(limit) = limit else { return work.await };
    let too_long = |_| Err(ConnectorError::timeout(TooLong { what, limit }.into()));
    tokio::time::timeout(limit, work).await.unwrap_or_else(too_long)
}

/// A request that failed on a connection: it may have arrived.
fn failed(error: hyper::Error) -> ConnectorError {
    if error.is_user() { ConnectorError::user(error.into()) } else { ConnectorError::io(error.into()) }
}

#[cfg(test)]
mod tests;
