//! Checks signatures for `jsonwebtoken`, with ring.
//!
//! The crate's own choices are aws-lc-rs, a second cryptographic library beside TLS's, and RustCrypto, whose RSA has an
//! open advisory. The crate accepts another implementation, so this one uses the library that is linked already.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// The algorithms that are accepted: each checks with a public key, and none is weak.
pub(crate) const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA];

static RING: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: |algorithm, key| Ok(Box::new(RingVerifier { algorithm: *algorithm, key: key.clone() })),
    // Only for making keys, which nothing here does.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes `jsonwebtoken` use ring, once in a process.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| RING.install_default().expect("nothing else in the process installs a provider"));
}

/// Checks signatures of one key.
struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl RingVerifier {
    fn check(&self, message: &[u8], signature: &[u8]) -> Option<()> {
        match self.algorithm {
            Algorithm::RS256 => self.check_rsa(&RSA_PKCS1_2048_8192_SHA256, message, signature),
            Algorithm::PS256 => self.check_rsa(&RSA_PSS_2048_8192_SHA256, message, signature),
            Algorithm::ES256 => self.check_bytes(&ECDSA_P256_SHA256_FIXED, message, signature),
            Algorithm::EdDSA => self.check_bytes(&ED25519, message, signature),
            _ => None,
        }
    }

    fn check_rsa(&self, rule: &'static RsaParameters, message: &[u8], signature: &[u8]) -> Option<()> {
        let DecodingKeyKind::RsaModulusExponent { n, e } = self.key.kind() else { return None };
        // Some issuers write a zero byte in front of the numbers, which ring refuses.
        let (n, e) = (without_zeros(n), without_zeros(e));
        RsaPublicKeyComponents { n, e }.verify(rule, message, signature).ok()
    }

    fn check_bytes(
        &self,
        rule: &'static dyn VerificationAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Option<()> {
        let key = self.key.try_get_as_bytes().ok()?;
        UnparsedPublicKey::new(rule, key).verify(message, signature).ok()
    }
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        self.check(message, signature).ok_or_else(Error::new)
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moduli of 1,024 and 2,048 bits, and each key's RS256 signature of `a.b`. They were made with openssl.
    const KEYS: [(&str, &str, bool); 2] = [
        (
            "6Q7CvQZfqc4_1mJUXQmaW1xsQ4481dJWNqXjuvezcj7Lb9mFQsNMmv_NDwGHpJhXEILDKzWk8RHBBuphKLyhUEnnWW9_7rgN\
         -I940mnkfEG7a4nTYUhCS8QiZTjwVWd5iCihq2nHPCqMsboFZ7ugpOvYBvSr5lWFfCWA7-M5YlM",
            "ei8qeOX8zwjwcmDJqP1_nkAQdUw_LY6wORCHooljOGYu5x_A-nlfArrS7wVrozyvLyQw7F5PNNiCIgh52TgY67vEeCgEAKYL\
         afFEkMGWMyD5xmfV6uHsP1K9CTBSkGzrLF1M5MMr_rpvR3QfW6FxfJPcNhY5mNbXKqZOY-VXI4I",
            false,
        ),
        (
            "o7f_TyJ69FpX5SGUkmZ2JW9iOp3qnq465PE5GHohSBlQg5d6TFzBcfHeFJbonWcsYfFrF7iD8eQrG6iwplCws6AaFkv68ERs\
         OtB1PyPbhQL6OltxyQM7ZpntNRLhDdz3VAJNeUhgY0Q1sPYDNiorP99ncxa4-Wjg00-jPNRHYOp0HCsC_8qskrob6yCVhX11\
         LvtD5ro0Sqs6oOphXqrY0toz3F89Y_1u-SsBFRqzikJ4imY207tAUVnjH4aSHKltkVGtCTLKEYGtiY7hyyg4x7-CPuexX9D_\
         MmUN2Jr-Fp5cZsDeG3x_pUOpL6ShVBcJLjRxcvGQ-o9P3xWz5zvZAw",
            "BaTWXefU8bCbuaGowNyT5X0ibchdo8ig3eo7-YTAfeSaehoqpFwysPgnAo2wOBYowV0EFo2U5xKEWr2X3VyvA0b09bN4fTx_\
         oWO1Yh3XM1GFqaW8wwUiVq1qaO5jqZfHxHAnKiuj4FeDOKz5x1uaF5OvCJcQ7ZNaoq2OwD2RIx7W6ARnSjT9Bl7ON4FJ22wH\
         6VutJz0nIWb4IxOLlXuwoJjDfJiESyAm-55xC-mGhllq91ufog1JVmsRAZFx5lck0E-wYzH_APxHVzGh8dx7Jym336tm19BE\
         3MgMrDvxIeZfdoD6adOo8mloqIGsbrbI5H74UgG7apiCxXLHDJnSqg",
            true,
        ),
    ];

    #[test]
    fn an_rsa_key_below_2048_bits_checks_nothing() {
        for (modulus, signature, is_used) in KEYS {
            let key = DecodingKey::from_rsa_components(modulus, "AQAB").unwrap();
            let checked = |algorithm| {
                install();
                jsonwebtoken::crypto::verify(signature, b"a.b", &key, algorithm).unwrap()
            };
            assert_eq!((checked(Algorithm::RS256), checked(Algorithm::PS256)), (is_used, false));
        }
    }

    #[test]
    fn a_number_may_begin_with_zeros() {
        assert_eq!(without_zeros(&[0, 0, 1, 0]), [1, 0]);
        assert!(without_zeros(&[0]).is_empty());
    }
}
