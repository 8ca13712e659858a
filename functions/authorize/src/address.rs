//! The addresses of issuers and of their keys.

use std::net::IpAddr;

use axum::http::Uri;

/// The schemes of addresses that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `https` alone: on AWS. There, loopback is the platform's own interface.
    Https,
    /// Also `http` to loopback and to private networks: for the local program and tests.
    HttpNearby,
    /// Also `http` to any host: for the local program's own issuer, which is at the program's address.
    Http,
}

impl Scheme {
    /// True if the text is an address that may be used: with a host, and without user, query and fragment.
    pub(crate) fn allows(self, address: &str) -> bool {
        let Ok(uri) = address.parse::<Uri>() else { return false };
        let Some(authority) = uri.authority() else { return false };
        let is_plain = !authority.as_str().contains('@') && uri.query().is_none() && !address.contains('#');
        let is_allowed = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => match self {
                Self::Https => false,
                Self::HttpNearby => is_nearby(authority.host()),
                Self::Http => true,
            },
            _ => false,
        };
        is_plain && is_allowed && !authority.host().is_empty()
    }
}

fn is_nearby(host: &str) -> bool {
    match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private(),
        Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        Err(_) => host == "localhost",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_allowed_only_nearby() {
        for address in ["https://id.example.org", "https://id.example.org:8443/realms/a/"] {
            assert!(Scheme::Https.allows(address) && Scheme::HttpNearby.allows(address), "{address}");
        }
        for address in
            ["http://127.0.0.1:3000/a", "http://[::1]:3000", "http://localhost/a", "http://10.1.2.3/"]
        {
            assert!(!Scheme::Https.allows(address) && Scheme::HttpNearby.allows(address), "{address}");
        }
        for address in [
            "",
            "id.example.org",
            "/keys",
            "ftp://id.example.org",
            "file:///etc/passwd",
            "http://169.254.169.254/",
            "http://id.example.org",
            "http://127.0.0.1.example.org/",
            "https://ada@id.example.org/",
            "https://id.example.org/?a",
            "https://id.example.org/#a",
            "https://",
            "https://a b/",
        ] {
            assert!(!Scheme::HttpNearby.allows(address), "{address}");
        }
    }
}
