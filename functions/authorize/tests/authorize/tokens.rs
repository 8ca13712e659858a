//! Keys, and tokens signed with them. The signatures are ring's, and everything around them is made here by hand, so
//! that a test can make any token. `scripts/jwt` has the tokens of another library.
//!
//! `rsa.der` was made with openssl, for these tests alone.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
    RsaKeyPair,
};
use serde_json::{Value, json};

/// A key of an issuer.
pub(crate) enum Signer {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

pub(crate) fn base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Signer {
    pub(crate) fn rsa() -> Self {
        Self::Rsa(RsaKeyPair::from_der(include_bytes!("rsa.der")).unwrap())
    }

    pub(crate) fn ec() -> Self {
        let (rule, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(rule, &random).unwrap();
        Self::Ec(EcdsaKeyPair::from_pkcs8(rule, document.as_ref(), &random).unwrap())
    }

    pub(crate) fn ed() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    /// The algorithms of the key.
    pub(crate) fn algorithms(&self) -> &'static [&'static str] {
        match self {
            Self::Rsa(_) => &["RS256", "PS256"],
            Self::Ec(_) => &["ES256"],
            Self::Ed(_) => &["EdDSA"],
        }
    }

    /// The key as its issuer publishes it.
    pub(crate) fn jwk(&self, id: &str) -> Value {
        match self {
            Self::Rsa(key) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({"kty": "RSA", "use": "sig", "kid": id, "n": base64url(n), "e": base64url(e)})
            }
            Self::Ec(key) => {
                let [x, y] = [1..33, 33..65].map(|range| base64url(&key.public_key().as_ref()[range]));
                json!({"kty": "EC", "crv": "P-256", "use": "sig", "kid": id, "x": x, "y": y})
            }
            Self::Ed(key) => {
                json!({"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": id, "x": base64url(key.public_key())})
            }
        }
    }

    fn signature(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                let padding: &'static dyn ring::signature::RsaEncoding = match algorithm {
                    "PS256" => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                key.sign(padding, &random, message, &mut signature).unwrap();
                signature
            }
            Self::Ec(key) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Ed(key) => key.sign(message).as_ref().to_vec(),
        }
    }

    /// A token whose claims are this text.
    pub(crate) fn token_of(&self, header: &Value, claims: &str) -> String {
        let signed = format!("{}.{}", base64url(header.to_string()), base64url(claims));
        let algorithm = header["alg"].as_str().unwrap_or_default();
        format!("{signed}.{}", base64url(self.signature(algorithm, signed.as_bytes())))
    }

    /// A token with the key's first algorithm.
    pub(crate) fn token(&self, id: &str, claims: &Value) -> String {
        let header = json!({"typ": "JWT", "alg": self.algorithms()[0], "kid": id});
        self.token_of(&header, &claims.to_string())
    }
}
