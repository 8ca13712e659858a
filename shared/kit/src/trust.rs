//! The certificate roots that are trusted to identify AWS.
//!
//! Every endpoint of AWS's own partitions has a certificate of one of Amazon's five roots, which Amazon lists at
//! <https://www.amazontrust.com/repository/>. So a function contains those five as data and no others. The system's
//! hundred and fifty roots would be read and parsed at every start. The first of the five expires at the end of 2037.
//! If something else answers for AWS (China's regions, a proxy that opens TLS, a private endpoint),
//! `TRUST_ROOTS=native` selects the system's roots.
//!
//! `data/amazon-roots.pem` was made from the crate `webpki-root-certs` 1.0.11, which contains Mozilla's roots. A test
//! compares each certificate with the fingerprint that Amazon publishes.

use aws_smithy_http_client::tls::TrustStore;

/// Amazon Root CA 1 to 4, and Starfield Services Root Certificate Authority - G2.
const AMAZON: &[u8] = include_bytes!("../data/amazon-roots.pem");

/// The roots that are trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustRoots {
    /// `amazon`: Amazon's own roots, which are in the program.
    #[default]
    Amazon,
    /// `native`: the system's roots, read when a client is made. `SSL_CERT_FILE` and `SSL_CERT_DIR` say where they are,
    /// if not at the usual paths.
    Native,
}

impl TrustRoots {
    pub(crate) fn store(self) -> TrustStore {
        match self {
            Self::Amazon => TrustStore::empty().with_pem_certificate(AMAZON),
            Self::Native => TrustStore::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use aws_smithy_runtime_api::client::http::HttpConnectorSettings;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::clock;

    /// The fingerprints that Amazon publishes, and the roots' expiry dates.
    const PUBLISHED: [(&str, &str); 5] = [
        ("8ecde6884f3d87b1125ba31ac3fcb13d7016de7f57cc904fe1cb97c6ae98196e", "380117000000Z"),
        ("1ba5b2aa8c65401a82960118f80bec4f62304d83cec4713a19c39c011ea46db4", "400526000000Z"),
        ("18ce6cfe7bf14e60b2e347b8dfe868cb31d02ebb3ada271569f50343b46db3a4", "400526000000Z"),
        ("e35d28419ed02025cfa69038cd623962458da5c695fbdea3c22b0bfb25897092", "400526000000Z"),
        ("568d6905a2c88708a4b3025190edcfedb1974a606a13c6e5290fcb2ae63edab5", "371231235959Z"),
    ];

    /// The certificates as DER.
    fn certificates() -> Vec<Vec<u8>> {
        let text = std::str::from_utf8(AMAZON).unwrap();
        let blocks = text.split("-----BEGIN CERTIFICATE-----").skip(1);
        let bodies = blocks.map(|block| block.split_once("-----END CERTIFICATE-----").unwrap().0);
        bodies.map(|body| STANDARD.decode(body.replace('\n', "")).unwrap()).collect()
    }

    /// The content of the first DER element, and the bytes behind the element.
    fn element(der: &[u8]) -> (&[u8], &[u8]) {
        let (length, head) = match der[1] {
            short if short < 0x80 => (usize::from(short), 2),
            0x81 => (usize::from(der[2]), 3),
            0x82 => (usize::from(u16::from_be_bytes([der[2], der[3]])), 4),
            _ => panic!("longer than any root"),
        };
        der[head..].split_at(length)
    }

    /// `notAfter` of RFC 5280, 4.1.2.5: it follows version, serial number, signature algorithm, issuer and `notBefore`.
    fn expiry(certificate: &[u8]) -> &str {
        let signed = element(element(certificate).0).0;
        let validity = (0..4).fold(signed, |rest, _| element(rest).1);
        std::str::from_utf8(element(element(element(validity).0).1).0).unwrap()
    }

    #[test]
    fn the_roots_are_those_that_amazon_publishes() {
        let certificates = certificates();
        let found: Vec<_> = certificates
            .iter()
            .map(|der| {
                let digest: String = Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect();
                (digest, expiry(der))
            })
            .collect();
        assert_eq!(found, PUBLISHED.map(|(digest, expiry)| (digest.to_owned(), expiry)));
    }

    #[test]
    fn no_root_expires_within_five_years() {
        let year = 1970 + clock::unix_now().as_secs() / 31_556_952;
        for der in certificates() {
            // A UTCTime has the year's last two digits. They stand for 2000 to 2049.
            let expiry = 2000 + expiry(&der)[..2].parse::<u64>().unwrap();
            assert!(expiry > year + 5, "{expiry}: see {}", "https://www.amazontrust.com/repository/");
        }
    }

    #[test]
    fn both_kinds_of_roots_can_be_read() {
        for roots in [TrustRoots::Amazon, TrustRoots::Native] {
            // Making a connector panics if the roots cannot be read as certificates.
            drop(crate::aws::connector(roots, HttpConnectorSettings::default()));
        }
    }
}
