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
//! The keys are also in the table, so that a process that starts while the issuer does not respond has them. Their age is
//! that of their fetch, wherever they come from.
//!
//! One request at a time fetches; the others wait for it. Ages are by the wall clock, because a monotonic clock may
//! stand still while a function is frozen.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey};
use lately_keys::UnixMillis;
use lately_store::{IssuerKeysHandle, Op, Store, StoredKeys, TableError};
use serde::Deserialize;
use tokio::time::timeout;

use crate::address::Scheme;
use crate::fetch::{FetchError, Http};
use crate::key_set::KeySet;
use crate::limits::{FETCH_PAUSE, FIRST_FETCH_PAUSE, KEYS_FRESH, KEYS_STALE, STORE_TIMEOUT};

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
#[derive(Debug, Default)]
struct KeyCache {
    keys: KeySet,
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

/// The outcome of a call for stored keys, if it succeeds in time. A request must not fail because of the copy.
async fn in_time<T>(call: impl Future<Output = Result<T, TableError>>) -> Option<T> {
    let done = timeout(STORE_TIMEOUT, call).await;
    let done = done.unwrap_or_else(|_| Err(TableError::unavailable("no answer in time")));
    done.inspect_err(|error| tracing::warn!(%error, "the stored keys of an issuer cannot be used")).ok()
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
        store: &Store,
    ) -> Result<Option<DecodingKey>, KeysUnavailable> {
        let now = store.now();
        let mut step = self.lock().step(id, algorithm, now);
        if matches!(step, Step::Fetch) {
            let _fetching = self.fetching.lock().await;
            // Another request may have fetched in the meantime.
            step = self.lock().step(id, algorithm, now);
            if matches!(step, Step::Fetch) {
                // Boxed: the store's futures are many layers deep.
                Box::pin(self.refresh(&store.op())).await;
                step = self.lock().step(id, algorithm, now);
            }
        }
        match step {
            Step::Use(key) => Ok(Some(key)),
            Step::Refuse => Ok(None),
            // A fetch has just been tried, so the pause forbids another.
            Step::Fail | Step::Fetch => Err(KeysUnavailable { issuer: self.issuer.clone() }),
        }
    }

    /// Fetches the keys, caches them, and stores them. After a failure the newest of the cached and the stored keys stay
    /// cached.
    async fn refresh(&self, op: &Op) {
        let now = op.now();
        // The read does not delay the fetch: it is for the case that the fetch fails.
        let (fetched, stored) = tokio::join!(self.fetch(), in_time(self.stored(op).get()));
        let stored = stored.flatten();
        self.lock().tried_at = Some(now);
        self.lock().is_down = fetched.is_err();
        match fetched {
            Ok((keys, document)) => {
                self.cache_keys(keys, now);
                let is_current = |it: StoredKeys| {
                    it.document == document && it.fetched_at.get() + KEYS_FRESH.as_secs() * 1000 > now.get()
                };
                if !stored.is_some_and(is_current) {
                    in_time(self.stored(op).put(&StoredKeys { document, fetched_at: now })).await;
                }
            }
            Err(error) => {
                tracing::warn!(issuer = self.issuer, %error, "the keys of an issuer cannot be fetched");
                let newer = stored.filter(|it| Some(it.fetched_at) > self.lock().fetched_at);
                if let Some(StoredKeys { document, fetched_at }) = newer
                    && let Ok(keys) = KeySet::parse(document.as_bytes())
                {
                    self.cache_keys(keys, fetched_at);
                }
            }
        }
    }

    /// The keys in the table. The configured issuer and address name them.
    fn stored<'a>(&'a self, op: &'a Op) -> IssuerKeysHandle<'a> {
        op.issuer_keys(&self.issuer, self.address.as_deref())
    }

    fn cache_keys(&self, keys: KeySet, fetched_at: UnixMillis) {
        let mut cache = self.lock();
        cache.keys = keys;
        cache.fetched_at = Some(fetched_at);
    }

    /// The keys, and the document with them.
    async fn fetch(&self) -> Result<(KeySet, String), FetchError> {
        let address = match &self.address {
            Some(address) => address.clone(),
            None => self.discover().await?,
        };
        let document = self.http.get(&address).await?;
        let keys = KeySet::parse(&document)?;
        Ok((keys, String::from_utf8_lossy(&document).into_owned()))
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

    fn lock(&self) -> std::sync::MutexGuard<'_, KeyCache> {
        // Every change of the value is a few assignments that cannot panic.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
