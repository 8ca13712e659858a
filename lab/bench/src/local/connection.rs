//! A client's connection to the program: it sends requests, one after the other.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::Result;

/// A request to the program.
#[derive(Clone, Debug)]
pub(super) struct ApiRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: String,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    address: SocketAddr,
    token: String,
}

impl Connection {
    /// A connection of an admin.
    pub(super) async fn open(address: SocketAddr) -> Result<Self> {
        Self::of(address, "dev").await
    }

    /// A connection of the holder of a token.
    pub(super) async fn of(address: SocketAddr, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // The connection ends when its sender is dropped.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self { sender, address, token: token.to_owned() })
    }

    /// Sends a request, and returns the time until the whole response was there.
    ///
    /// # Errors
    /// If the response is not a success.
    pub(super) async fn send(&mut self, sent: ApiRequest) -> Result<Duration> {
        let started = Instant::now();
        self.begin(sent).await?.into_body().collect().await?;
        Ok(started.elapsed())
    }

    /// Sends a request, and returns when the response begins.
    ///
    /// # Errors
    /// If the response is not a success.
    pub(super) async fn begin(&mut self, sent: ApiRequest) -> Result<Response<Incoming>> {
        let ApiRequest { method, path, body } = sent;
        let request = Request::builder().method(method).uri(&path).header(HOST, self.address.to_string());
        let request =
            request.header(AUTHORIZATION, format!("Bearer {}", self.token)).body(Full::from(body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        if !status.is_success() {
            let body = response.into_body().collect().await?.to_bytes();
            return Err(format!("{path} answered {status}: {}", String::from_utf8_lossy(&body)).into());
        }
        Ok(response)
    }
}
