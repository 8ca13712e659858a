//! Connections: HTTP/1 on a port, with bounds, so that clients that are slow, silent or many use up nothing else.
//!
//! A connection that sends no whole request head in time is closed, also between two requests. At the bound of
//! connections, further clients wait in the system's queue until a connection ends.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::limits;

/// The bounds of a port.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionBounds {
    /// The most connections at once.
    pub connections: usize,
    /// The time in which a connection must send the head of its next request.
    pub head: Duration,
}

impl Default for ConnectionBounds {
    fn default() -> Self {
        Self { connections: limits::CONNECTIONS, head: limits::REQUEST_HEAD }
    }
}

/// Answers HTTP requests with a service until `stop` resolves. It then accepts no further connection, answers the
/// requests under way, and drops the connections that do not end within 5 s.
pub async fn serve<S, B>(
    listener: TcpListener,
    service: S,
    bounds: ConnectionBounds,
    stop: impl Future<Output = ()>,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let connections = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(bounds.connections));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(bounds.head);
    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            let permit = Arc::clone(&room).acquire_owned().await.expect("nobody closes the semaphore");
            (permit, listener.accept().await)
        };
        let (permit, socket) = tokio::select! {
            biased;
            () = &mut stop => break,
            (permit, accepted) = accepted => match accepted {
                Ok((socket, _)) => (permit, socket),
                // Such an error affects only the connection that was being accepted.
                Err(error) if matches!(
                    error.kind(),
                    ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted
                ) => continue,
                // The process has no more files, for example. Connections that end close files.
                Err(error) => {
                    tracing::error!(%error, "no connection can be accepted");
                    sleep(limits::ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        let connection = connections.watch(http.serve_connection(TokioIo::new(socket), service.clone()));
        tokio::spawn(async move {
            // A connection fails if its client goes away, or sends no request in time. No other one is affected.
            drop(connection.await);
            drop(permit);
        });
    }
    tokio::select! {
        () = connections.shutdown() => {}
        () = sleep(limits::SHUTDOWN) => {}
    }
}
