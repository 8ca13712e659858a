//! The guard of the local program: it refuses requests from web pages of other origins.
//!
//! Every page that a browser on this machine shows can send requests to a loopback port. A page of another origin is
//! recognised by its `Origin` header, and a page whose host name resolves to loopback (DNS rebinding) by its `Host`
//! header. Both are refused.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use lately_engine::LOOPBACK;
use lately_kit::code::Code;
use lately_kit::log::RequestId;
use lately_kit::problem::Problem;

/// The `Host` values that are allowed for a loopback address.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    hosts: Arc<[String]>,
}

impl Guard {
    pub(crate) fn of(address: SocketAddr) -> Self {
        let port = address.port();
        let with_port = LOOPBACK.iter().map(|name| format!("{name}:{port}"));
        // Browsers leave out port 80.
        let bare = LOOPBACK.iter().filter(|_| port == 80).map(|name| (*name).to_owned());
        Self { hosts: with_port.chain(bare).collect() }
    }

    fn lets_in(&self, headers: &HeaderMap) -> bool {
        let only = |name: HeaderName| {
            let mut values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
            (values.next(), values.next())
        };
        let is_host = |name: &str| self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name));
        let host = matches!(only(HOST), (Some(host), None) if is_host(host));
        let origin = match only(ORIGIN) {
            (None, _) => true,
            (Some(origin), None) => origin.strip_prefix("http://").is_some_and(is_host),
            _ => false,
        };
        host && origin
    }
}

/// Passes on a request for this address that no page of another origin sent. Any other gets 403 `origin-refused`.
pub(crate) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if guard.lets_in(request.headers()) {
        return next.run(request).await;
    }
    let problem = Problem::new(
        Code::OriginRefused,
        "The Host or the Origin is not this program. Use the address that it prints when it starts.",
    );
    // This layer is outside the one that gives requests their ids.
    RequestId::fresh().during(async { problem.into_response() }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lets_in(headers: &[(HeaderName, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().expect("a header's value"));
        }
        Guard::of(([127, 0, 0, 1], 3000).into()).lets_in(&map)
    }

    #[test]
    fn only_the_programs_own_hosts_are_let_in() {
        for host in ["127.0.0.1:3000", "localhost:3000", "LOCALHOST:3000", "[::1]:3000"] {
            assert!(lets_in(&[(HOST, host)]), "{host}");
            let origin = format!("http://{host}");
            assert!(lets_in(&[(HOST, host), (ORIGIN, &origin)]), "{host}");
        }
        for host in [
            "",
            "example.org",
            "example.org:3000",
            "127.0.0.1",
            "127.0.0.1:3001",
            "localhost:3000.example.org",
        ] {
            assert!(!lets_in(&[(HOST, host)]), "{host}");
        }
        assert!(!lets_in(&[]));
        assert!(!lets_in(&[(HOST, "localhost:3000"), (HOST, "example.org")]));
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        for origin in [
            "null",
            "",
            "http://example.org",
            "https://localhost:3000",
            "http://localhost:8000",
            "localhost:3000",
        ] {
            assert!(!lets_in(&[(HOST, "localhost:3000"), (ORIGIN, origin)]), "{origin}");
        }
        let twice =
            [(HOST, "localhost:3000"), (ORIGIN, "http://localhost:3000"), (ORIGIN, "http://example.org")];
        assert!(!lets_in(&twice));
    }
}
