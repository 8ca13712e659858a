//! The guard of the local program: it refuses requests from web pages of other origins.
//!
//! Every page that a browser on this machine shows can send requests to a loopback port. A page of another origin is
//! recognised by its `Origin` header, and a page whose host name resolves to loopback (DNS rebinding) by its `Host`
//! header. Both are refused, because the literal tokens are published. `--allow-origin` lets in pages of the origins
//! that it names. Without literal tokens any `Host` is allowed: such a page knows no token.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use lately_kit::code::Code;
use lately_kit::log::RequestId;
use lately_kit::problem::Problem;
use serde_json::Value;
use tower_http::cors::CorsLayer;

use crate::serve::options::ServeOptions;
use crate::serve::system::{BUILT_IN, DEPLOYED};

/// The methods of the API for pages of allowed origins: the template's, with HEAD.
const METHODS: [Method; 6] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];

/// The time for which a browser need not ask again.
const PREFLIGHT: Duration = Duration::from_secs(3600);

/// The most characters of a refused header that a response shows.
const SHOWN: usize = 100;

/// The `Host` and `Origin` values that are allowed.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// The address of the API. `None`: any `Host` is allowed.
    address: Option<SocketAddr>,
    allowed_origins: Arc<[String]>,
}

impl Guard {
    pub(crate) fn of(address: SocketAddr, options: &ServeOptions) -> Self {
        Self {
            address: (!options.no_literal_tokens).then_some(address),
            allowed_origins: options.allowed_origins.clone().into(),
        }
    }

    /// The detail of the refusal, if the request is refused.
    fn refusal(&self, headers: &HeaderMap) -> Option<String> {
        let only = |name: HeaderName| {
            let mut values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default());
            (values.next(), values.next())
        };
        let (Some(host), None) = only(HOST) else {
            return Some("The request needs exactly one Host header.".to_owned());
        };
        let shown = |value: &str| value.chars().take(SHOWN).collect::<String>();
        if self.address.is_some_and(|address| !is_host(host, address)) {
            let host = shown(host);
            return Some(format!(
                "The Host header is {host:?}. Use the address that the program printed at its start."
            ));
        }
        match only(ORIGIN) {
            (None, _) => None,
            (Some(origin), None) if self.lets_in(origin, host) => None,
            (Some(origin), _) => {
                let origin = shown(origin);
                Some(format!(
                    "The Origin header is {origin:?}. Start the program with --allow-origin and this origin to let its \
                     pages call the API."
                ))
            }
        }
    }

    /// True for pages of this host, and for pages of an allowed origin.
    fn lets_in(&self, origin: &str, host: &str) -> bool {
        let page = origin.strip_prefix("http://");
        let is_own = match self.address {
            // The host may also have another name.
            Some(address) => page.is_some_and(|page| is_host(page, address) && port(page) == port(host)),
            None => page.or_else(|| origin.strip_prefix("https://")) == Some(host),
        };
        is_own || self.allowed_origins.iter().any(|allowed| allowed == origin)
    }
}

/// True if a `Host` value names the address, or loopback with any port: a tunnel or a proxy on this machine has a port
/// of its own, and no page of another host can send a loopback name.
fn is_host(host: &str, address: SocketAddr) -> bool {
    let port = port(host);
    let name = port.map_or(host, |port| &host[..host.len() - port.len() - 1]);
    let ip = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_loopback = ip == Ok(Ipv4Addr::LOCALHOST.into()) || ip == Ok(Ipv6Addr::LOCALHOST.into());
    // Browsers leave out port 80.
    let is_port = || port.unwrap_or("80") == address.port().to_string();
    name.eq_ignore_ascii_case("localhost") || is_loopback || ip == Ok(address.ip()) && is_port()
}

/// The digits of the port, if the value has one.
fn port(host: &str) -> Option<&str> {
    let (_, port) = host.rsplit_once(':')?;
    (!port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())).then_some(port)
}

/// Passes on a request that the guard lets in. Any other gets 403 `origin-refused`.
pub(crate) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let Some(detail) = guard.refusal(request.headers()) else {
        return next.run(request).await;
    };
    let problem = Problem::new(Code::OriginRefused, detail);
    // This layer is outside the one that gives requests their ids.
    RequestId::fresh().during(async { problem.into_response() }).await
}

/// The headers in a list of the template, for pages of allowed origins. On AWS, live streams have a URL of their own.
fn headers(list: &str) -> Vec<HeaderName> {
    let api = &DEPLOYED.resources["Api"].properties["CorsConfiguration"];
    let live = &DEPLOYED.resources["LiveFunction"].properties["FunctionUrlConfig"]["Cors"];
    let names = [api, live].into_iter().filter_map(|cors| cors[list].as_array()).flatten();
    let names: BTreeSet<_> = names.filter_map(Value::as_str).collect();
    names.into_iter().map(|name| name.parse().expect(BUILT_IN)).collect()
}

/// The layer that answers the preflight requests of the allowed origins, as the gateway does. `None` without origins.
pub(crate) fn cors(options: &ServeOptions) -> Option<CorsLayer> {
    let origins = options.allowed_origins.iter();
    let origins: Vec<HeaderValue> =
        origins.map(|origin| origin.parse().expect("the option's parser has checked the origin")).collect();
    (!origins.is_empty()).then(|| {
        CorsLayer::new()
            .allow_origin(origins)
            .allow_methods(METHODS)
            .allow_headers(headers("AllowHeaders"))
            .expose_headers(headers("ExposeHeaders"))
            .allow_private_network(true)
            .max_age(PREFLIGHT)
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use lately_template::Template;

    use super::*;
    use crate::command_line::Lately;
    use crate::serve::system::TEMPLATE;

    fn lets_in(arguments: &[&str], headers: &[(HeaderName, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value.parse().expect("a header's value"));
        }
        let options = Lately::try_parse_from(["lately"].iter().chain(arguments)).expect("valid").options;
        let host = options.host.address().expect("the host is given");
        Guard::of((host, 3000).into(), &options).refusal(&map).is_none()
    }

    #[test]
    fn only_the_programs_own_hosts_are_let_in() {
        for host in [
            "127.0.0.1:3000",
            "localhost:3000",
            "LOCALHOST:3000",
            "[::1]:3000",
            "127.0.0.1:9999",
            "localhost",
        ] {
            assert!(lets_in(&[], &[(HOST, host)]), "{host}");
            let origin = format!("http://{host}");
            assert!(lets_in(&[], &[(HOST, host), (ORIGIN, &origin)]), "{host}");
        }
        for host in [
            "",
            "example.org",
            "example.org:3000",
            "10.0.0.7:3000",
            "localhost:3000.example.org",
            "127.0.0.2",
        ] {
            assert!(!lets_in(&[], &[(HOST, host)]), "{host}");
        }
        assert!(!lets_in(&[], &[]));
        assert!(!lets_in(&[], &[(HOST, "localhost:3000"), (HOST, "example.org")]));
        let private = ["--host", "10.0.0.7"];
        assert!(lets_in(&private, &[(HOST, "10.0.0.7:3000"), (ORIGIN, "http://10.0.0.7:3000")]));
        assert!(!lets_in(&private, &[(HOST, "10.0.0.7:3001")]));
        assert!(!lets_in(&private, &[(HOST, "example.org:3000")]));
    }

    #[test]
    fn without_literal_tokens_any_host_is_let_in_with_its_own_pages() {
        let open = ["--host", "0.0.0.0", "--no-literal-tokens"];
        let host = (HOST, "lately.example.org");
        assert!(lets_in(&open, std::slice::from_ref(&host)));
        assert!(lets_in(&open, &[host.clone(), (ORIGIN, "https://lately.example.org")]));
        assert!(!lets_in(&open, &[host, (ORIGIN, "https://example.org")]));
    }

    #[test]
    fn pages_may_send_and_read_the_same_here_as_behind_the_gateway() {
        let template = Template::parse(TEMPLATE).expect("it is what was built");
        let configured = &template.resources["Api"].properties["CorsConfiguration"];
        let methods: Vec<_> = METHODS.iter().map(Method::as_str).filter(|method| *method != "HEAD").collect();
        assert_eq!(configured["AllowMethods"], serde_json::json!(methods));
        let live = &template.resources["LiveFunction"].properties["FunctionUrlConfig"]["Cors"];
        let has_all = |list: &str| {
            let headers = headers(list);
            let declared = [configured, live].map(|cors| cors[list].as_array().expect("a list")).into_iter();
            declared.flatten().all(|name| headers.iter().any(|header| name == header.as_str()))
        };
        assert!(has_all("AllowHeaders") && has_all("ExposeHeaders"));
        assert_eq!((headers("AllowHeaders").len(), headers("ExposeHeaders").len()), (7, 8));
        assert!(live["ExposeHeaders"].as_array().expect("a list").contains(&"retry-after".into()));
        assert_eq!(configured["MaxAge"], PREFLIGHT.as_secs());
    }
}
