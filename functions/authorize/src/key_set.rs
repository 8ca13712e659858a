//! An issuer's public keys (RFC 7517), as far as they can check a signature that is accepted here.
//!
//! A set may have keys of other kinds and for other uses, and keys that this release does not know. They are skipped,
//! one by one, so that they never make the others unusable. A token never carries its own key: `jwk`, `jku`, `x5c` and
//! `x5u` in its header are not read.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::signature::ALGORITHMS;

/// A key that can check signatures.
#[derive(Clone, Debug)]
struct SignatureKey {
    id: Option<String>,
    /// The algorithms that the key may be used with.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// An issuer's keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeySet(Vec<SignatureKey>);

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    keys: Vec<&'a RawValue>,
}

impl KeySet {
    /// Reads a set.
    ///
    /// # Errors
    /// If the document is not a set of keys.
    pub(crate) fn parse(document: &[u8]) -> serde_json::Result<Self> {
        let Document { keys } = serde_json::from_slice(document)?;
        let known = keys.iter().filter_map(|key| serde_json::from_str::<Jwk>(key.get()).ok());
        Ok(Self(known.filter_map(|key| SignatureKey::of(&key)).collect()))
    }

    /// The key for a token: the one with the token's key id, or the only one that fits if the token has no key id. The
    /// id is compared and used for nothing else.
    pub(crate) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&DecodingKey> {
        let mut fitting = self.0.iter().filter(|key| {
            key.algorithms.contains(&algorithm) && id.is_none_or(|id| key.id.as_deref() == Some(id))
        });
        match (fitting.next(), id, fitting.next()) {
            (Some(key), Some(_), _) | (Some(key), None, None) => Some(&key.key),
            _ => None,
        }
    }
}

impl SignatureKey {
    fn of(jwk: &Jwk) -> Option<Self> {
        let is_for_signatures =
            jwk.common.public_key_use.as_ref().is_none_or(|it| *it == PublicKeyUse::Signature);
        let operations = jwk.common.key_operations.as_ref();
        let may_verify = operations.is_none_or(|all| all.contains(&KeyOperations::Verify));
        let of_its_kind = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => &[Algorithm::RS256, Algorithm::PS256][..],
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
                &[Algorithm::ES256]
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                &[Algorithm::EdDSA]
            }
            _ => return None,
        };
        let may_use =
            |it: &&Algorithm| jwk.common.key_algorithm.is_none_or(|only| only == KeyAlgorithm::from(**it));
        let algorithms: Vec<_> = of_its_kind.iter().filter(may_use).copied().collect();
        debug_assert!(algorithms.iter().all(|algorithm| ALGORITHMS.contains(algorithm)));
        let id = jwk.common.key_id.clone();
        (is_for_signatures && may_verify && !algorithms.is_empty())
            .then(|| DecodingKey::from_jwk(jwk).ok())
            .flatten()
            .map(|key| Self { id, algorithms, key })
    }
}
