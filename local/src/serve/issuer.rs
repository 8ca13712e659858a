//! The local program's own issuer, for trying JWTs without an account at any other.
//!
//! It is an issuer like any other: it publishes its discovery document and its key, the authorizer fetches both over
//! HTTP, and then checks tokens as on AWS. The key is made at each start, so tokens end with the program. Only an admin
//! gets a token, because a token may have any user and any scope.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lately_authorize::{Issuers, IssuersError, Scheme};
use lately_keys::UnixMillis;
use lately_kit::answer::Json;
use lately_kit::body::Body;
use lately_kit::entropy::{self, EntropyError};
use lately_kit::problem::Problem;
use lately_model::{NewSession, RateLimits, Scope};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Map, Value, json};

use crate::serve::console::ConsoleState;
use crate::serve::console::refusal::refused;

/// The path of the issuer's name, below which its documents are.
pub(crate) const PATH: &str = "/local/issuer";

/// The audience of its tokens.
const AUDIENCE: &str = "lately";

/// The value of the claim `topics` of a token that is not limited to topics.
const ALL_TOPICS: &str = "*";

/// The issuer of a running program. Clones share its key.
#[derive(Clone, Debug)]
pub struct LocalIssuer {
    /// Its name, which is the address of its documents.
    name: String,
    key: Arc<Ed25519KeyPair>,
}

impl LocalIssuer {
    /// An issuer with a new key, for a program whose API listens at this address.
    ///
    /// # Errors
    /// If the system has no random bits to give.
    ///
    /// # Panics
    /// Never: any 32 bytes are the seed of a key.
    pub fn new(api: SocketAddr) -> Result<Self, EntropyError> {
        let host = match api.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            host => host,
        };
        let key = Ed25519KeyPair::from_seed_unchecked(&entropy::secret()?).expect("any seed makes a key");
        let name = format!("http://{}{PATH}", SocketAddr::new(host, api.port()));
        Ok(Self { name, key: Arc::new(key) })
    }

    /// This issuer, for the authorizer.
    ///
    /// # Errors
    /// Never: the settings are valid.
    pub(crate) fn issuers(&self) -> Result<Issuers, IssuersError> {
        let scopes: Map<_, _> =
            Scope::ALL.map(|scope| (scope.to_string(), json!([scope.as_str()]))).into_iter().collect();
        let settings = json!([{
            "issuer": self.name, "audience": AUDIENCE, "topics": "topics",
            "scopes": {"claim": "scope", "map": scopes},
        }]);
        Issuers::parse(&settings.to_string(), Scheme::Http)
    }

    /// The documents that anyone may read.
    pub(crate) fn documents(&self) -> Router {
        let discovery = json!({
            "issuer": self.name, "jwks_uri": format!("{}/keys", self.name),
            "id_token_signing_alg_values_supported": ["EdDSA"],
        });
        let keys = json!({"keys": [{
            "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": self.key_id(),
            "x": URL_SAFE_NO_PAD.encode(self.key.public_key()),
        }]});
        let document = |document: Value| get(async move || Json(document));
        Router::new()
            .route(&format!("{PATH}/.well-known/openid-configuration"), document(discovery))
            .route(&format!("{PATH}/keys"), document(keys))
    }

    fn key_id(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.key.public_key().as_ref()[..6])
    }

    /// A token, with its end, for a session's user, scopes, topics and time. A JWT needs a user; `None` if there is none.
    fn token(&self, new: &NewSession, now: UnixMillis) -> Option<Value> {
        let now = now.get() / 1000;
        let end = now + u64::from(new.ttl_seconds.get());
        let topics = new.topics.as_ref().map_or_else(|| json!(ALL_TOPICS), |topics| json!(topics));
        let header = json!({"typ": "JWT", "alg": "EdDSA", "kid": self.key_id()});
        let claims = json!({
            "iss": self.name, "aud": AUDIENCE, "sub": new.user.as_ref()?, "scope": new.scopes.to_string(),
            "topics": topics, "iat": now, "nbf": now, "exp": end,
        });
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(signed.as_bytes()));
        let expires_at = UnixMillis::new(end * 1000).unwrap_or(UnixMillis::MAX);
        Some(json!({ "token": format!("{signed}.{signature}"), "expires_at": expires_at }))
    }
}

/// The path at which the issuer makes tokens.
pub(crate) const TOKENS: &str = "/local/issuer/tokens";

/// Makes a token: `POST` of [`TOKENS`], with the body of `POST /sessions`.
pub(crate) async fn post(
    State(shared): State<ConsoleState>,
    Body(new): Body<NewSession>,
) -> Result<impl IntoResponse, Problem> {
    if new.limits != RateLimits::default() {
        return Err(refused(
            "",
            "a JWT has the limits of its issuer's rule, and this issuer's rule has none",
        ));
    }
    let token = shared.parts.issuer.token(&new, shared.parts.system.store.now());
    let token = token.ok_or_else(|| refused("/user", "is required: a JWT has a user"))?;
    Ok((StatusCode::CREATED, Json(token)))
}
