//! The keys of an issuer: fetched for the first JWT, and cached.
//!
//! ```text
//! age of the keys      0 ─────────── 1 h ──────────────────────── 24 h
//! the key is known     use it        fetch; if that fails, use it   fetch, or fail
//! the key is unknown   fetch, at most once a minute; refuse         fetch, or fail
//! ```
//!
//! So a rotation is noticed with the first token of a new key, a withdrawn key ends within an hour, and an issuer that
//! does not respond for a day changes nothing for tokens of known keys. A token is refused only after an answer of the
//! issuer; if the issuer does not respond, the request fails instead, and the gateway does not remember that.
//!
//! One request at a time fetches; the others wait for it. Ages are by the wall clock, because a monotonic clock may
//! stand still while a function is frozen.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey};
use lately_keys::UnixMillis;
use serde::Deserialize;

use crate::address::Scheme;
use crate::fetch::{FetchError, Http};
use crate::key_set::KeySet;
use crate::limits::{FETCH_PAUSE, FIRST_FETCH_PAUSE, KEYS_FRESH, KEYS_STALE};

/// The keys of an issuer cannot be fetched, so its tokens can be neither accepted nor refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the keys of the issuer {issuer} cannot be fetched")]
pub struct KeysUnavailable {
    /// The issuer.
    pub issuer: String,
}

/// An issuer's keys, and how they are fetched.
#[derive(Debug)]
pub(crate) struct IssuerKeys {
    issuer: String,
    /// The address of the keys; if it is not configured, OpenID discovery returns it.
    address: Option<String>,
    scheme: Scheme,
    http: Arc<Http>,
    cache: Mutex<KeyCache>,
    /// Held by the request that fetches.
    fetching: tokio::sync::Mutex<()>,
}

/// The keys of an issuer as they are known now.
#[derive(Clone, Debug, Default)]
struct KeyCache {
    keys: Arc<KeySet>,
    /// When the keys were fetched.
    fetched_at: Option<UnixMillis>,
    /// When a fetch last began, whether it succeeded or not.
    tried_at: Option<UnixMillis>,
    /// True if the last fetch failed.
    is_down: bool,
}

/// The next step for a token.
#[derive(Debug)]
enum Step {
    Use(DecodingKey),
    Refuse,
    Fail,
    Fetch,
}

impl KeyCache {
    /// Decides what to do for a token with this key id and algorithm.
    fn step(&self, id: Option<&str>, algorithm: Algorithm, now: UnixMillis) -> Step {
        let is_within = |at: Option<UnixMillis>, age: Duration| {
            at.is_some_and(|at| Duration::from_millis(now.get().saturating_sub(at.get())) < age)
        };
        let is_usable = is_within(self.fetched_at, KEYS_STALE);
        let key = self.keys.find(id, algorithm).filter(|_| is_usable);
        let pause = if is_usable { FETCH_PAUSE } else { FIRST_FETCH_PAUSE };
        let may_fetch = !is_within(self.tried_at, pause);
        match key {
            Some(key) if is_within(self.fetched_at, KEYS_FRESH) || !may_fetch => Step::Use(key.clone()),
            _ if may_fetch => Step::Fetch,
            _ if is_usable && !self.is_down => Step::Refuse,
            _ => Step::Fail,
        }
    }
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

impl IssuerKeys {
    pub(crate) fn new(issuer: &str, address: Option<String>, scheme: Scheme, http: Arc<Http>) -> Self {
        let (cache, fetching) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { issuer: issuer.to_owned(), address, scheme, http, cache, fetching }
    }

    /// The key for a token; `None` if the issuer has none for it.
    pub(crate) async fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
        now: UnixMillis,
    ) -> Result<Option<DecodingKey>, KeysUnavailable> {
        let mut step = self.cache().step(id, algorithm, now);
        if matches!(step, Step::Fetch) {
            let _fetching = self.fetching.lock().await;
            // Another request may have fetched in the meantime.
            step = self.cache().step(id, algorithm, now);
            if matches!(step, Step::Fetch) {
                self.refresh(now).await;
                step = self.cache().step(id, algorithm, now);
            }
        }
        match step {
            Step::Use(key) => Ok(Some(key)),
            Step::Refuse => Ok(None),
            // A fetch has just been tried, so the pause forbids another.
            Step::Fail | Step::Fetch => Err(KeysUnavailable { issuer: self.issuer.clone() }),
        }
    }

    /// Fetches the keys, and caches them. After a failure the old keys stay cached.
    async fn refresh(&self, now: UnixMillis) {
        let fetched = self.fetch().await;
        if let Err(error) = &fetched {
            tracing::warn!(issuer = self.issuer, %error, "the keys of an issuer cannot be fetched");
        }
        let mut cache = self.lock();
        cache.tried_at = Some(now);
        cache.is_down = fetched.is_err();
        if let Ok(keys) = fetched {
            cache.keys = Arc::new(keys);
            cache.fetched_at = Some(now);
        }
    }

    async fn fetch(&self) -> Result<KeySet, FetchError> {
        let discovered;
        let address = match &self.address {
            Some(address) => address,
            None => {
                discovered = self.discover().await?;
                &discovered
            }
        };
        Ok(KeySet::parse(&self.http.get(address).await?)?)
    }

    /// The address of the keys, by OpenID Connect Discovery 1.0, section 4.
    async fn discover(&self) -> Result<String, FetchError> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let Discovery { issuer, jwks_uri } = serde_json::from_slice(&self.http.get(&url).await?)?;
        if issuer != self.issuer || !self.scheme.allows(&jwks_uri) {
            return Err(FetchError::Foreign);
        }
        Ok(jwks_uri)
    }

    fn cache(&self) -> KeyCache {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, KeyCache> {
        // Every change of the value is a few assignments that cannot panic.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
