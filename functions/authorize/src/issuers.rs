//! The issuers whose JWTs a stack accepts: the variable `ISSUERS`, a JSON list.
//!
//! ```json
//! [{"issuer": "https://id.example.org/", "audience": "lately", "user": "sub",
//!   "scopes": {"claim": "scope", "map": {"posts:read": ["read"], "posts:write": ["read", "write"]}}}]
//! ```

use std::sync::Arc;

use lately_model::{RateLimits, RequestsPerMinute};
use serde::Deserialize;

use crate::address::Scheme;
use crate::claims::{ClaimRules, ScopeRule};
use crate::fetch::Http;
use crate::keys::IssuerKeys;
use crate::limits::ISSUERS;

/// The issuers that a stack trusts, with the keys that were fetched from them.
#[derive(Clone, Debug, Default)]
pub struct Issuers(Vec<Arc<Issuer>>);

/// An issuer that the stack trusts.
#[derive(Debug)]
pub(crate) struct Issuer {
    /// The claim `iss` of its tokens.
    pub(crate) name: String,
    /// The values of the claim `aud` of which a token must have one.
    pub(crate) audience: Vec<String>,
    pub(crate) rules: ClaimRules,
    pub(crate) keys: IssuerKeys,
}

/// Why the list of issuers is invalid.
#[derive(Debug, thiserror::Error)]
pub enum IssuersError {
    /// It is not JSON, or a member is missing, unknown or of another type.
    #[error("issuers: not a list of issuers: {0}")]
    Json(#[from] serde_json::Error),
    /// The list is too long.
    #[error("issuers: at most {ISSUERS} issuers")]
    TooMany,
    /// A value is invalid.
    #[error("issuers: {field} of issuer {number} {rule}")]
    Value {
        /// The issuer's position in the list, from 1.
        number: usize,
        /// The field.
        field: &'static str,
        /// The rule that the value breaks.
        rule: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IssuerSettings {
    issuer: String,
    audience: Audience,
    jwks_uri: Option<String>,
    #[serde(default = "subject")]
    user: String,
    scopes: Option<ScopeRule>,
    topics: Option<String>,
    writes_per_minute: Option<u32>,
    reads_per_minute: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "audience must be a text or a list of texts")]
enum Audience {
    One(String),
    Some(Vec<String>),
}

fn subject() -> String {
    "sub".to_owned()
}

impl Issuers {
    /// Reads the list. An empty text is an empty list.
    pub fn parse(text: &str, scheme: Scheme) -> Result<Self, IssuersError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let listed: Vec<IssuerSettings> = serde_json::from_str(text)?;
        if listed.len() > ISSUERS {
            return Err(IssuersError::TooMany);
        }
        let http = Arc::new(Http::default());
        let mut issuers: Vec<Arc<Issuer>> = Vec::new();
        for (index, settings) in listed.into_iter().enumerate() {
            let issuer = settings.issuer(index + 1, scheme, &http)?;
            if issuers.iter().any(|other| other.name == issuer.name) {
                return Err(fault(index + 1, "issuer", "is also that of another issuer"));
            }
            issuers.push(Arc::new(issuer));
        }
        Ok(Self(issuers))
    }

    /// These issuers, and those of another list. If both lists have an issuer of the same name, the first counts.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The issuer of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Issuer> {
        self.0.iter().find(|issuer| issuer.name == name).map(AsRef::as_ref)
    }
}

fn fault(number: usize, field: &'static str, rule: &'static str) -> IssuersError {
    IssuersError::Value { number, field, rule }
}

impl IssuerSettings {
    fn issuer(self, number: usize, scheme: Scheme, http: &Arc<Http>) -> Result<Issuer, IssuersError> {
        let Self { issuer: name, audience, jwks_uri, user, scopes, topics, .. } = self;
        let fault = |field, rule| Err(fault(number, field, rule));
        let address = match scheme {
            Scheme::Https => "must be an https address without user, query and fragment",
            Scheme::HttpNearby | Scheme::Http => {
                "must be an https address, or http to a private one, without user, query and fragment"
            }
        };
        if !scheme.allows(&name) {
            return fault("issuer", address);
        }
        if jwks_uri.as_deref().is_some_and(|uri| !scheme.allows(uri)) {
            return fault("jwks_uri", address);
        }
        let audience = match audience {
            Audience::One(audience) => vec![audience],
            Audience::Some(audiences) => audiences,
        };
        if audience.is_empty() || audience.iter().any(String::is_empty) {
            return fault("audience", "must name at least one audience");
        }
        if user.is_empty() || topics.as_deref() == Some("") {
            return fault("user or topics", "must name a claim");
        }
        if scopes.as_ref().is_some_and(|rule| rule.claim.is_empty() || rule.map.is_empty()) {
            return fault("scopes", "must name a claim, and scopes for at least one of its values");
        }
        let limit = |limit: Option<u32>| limit.map(RequestsPerMinute::new).transpose();
        let (Ok(writes_per_minute), Ok(reads_per_minute)) =
            (limit(self.writes_per_minute), limit(self.reads_per_minute))
        else {
            return fault("writes_per_minute or reads_per_minute", "must be from 1 to 100000");
        };
        let limits = RateLimits { writes_per_minute, reads_per_minute };
        let keys = IssuerKeys::new(&name, jwks_uri, scheme, Arc::clone(http));
        Ok(Issuer { name, audience, rules: ClaimRules { user, scopes, topics, limits }, keys })
    }
}
