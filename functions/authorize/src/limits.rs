//! All caps of this crate, each with its reason.

use std::time::Duration;

use lately_kit::limits::READ_TIMEOUT;

/// Time for the look-up of a session with all its attempts. The gateway waits 10 s for the authorizer, and Lambda ends the
/// function then: an error after this time is better, because the process stays for the next token.
pub const LOOKUP_TIME: Duration = Duration::from_secs(7);

/// Longest JWT that is looked at, in bytes. The gateway accepts 10,240 bytes of headers in all.
pub const JWT_BYTES: usize = 8 * 1024;

/// Largest document that is read from an issuer, in bytes. A set of ten RSA keys with their certificates takes 30 KB.
pub const DOCUMENT_BYTES: usize = 256 * 1024;

/// Timeout of one request to an issuer, from its first byte sent to its last byte received.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(2);

/// Timeout of a read or a write of the stored keys of an issuer. Nobody depends on it while the issuer responds.
pub const STORE_TIMEOUT: Duration = Duration::from_secs(1);

/// Age of an issuer's keys at which they are fetched again, so that a key which the issuer has withdrawn ends. Stored
/// keys of this age are stored again, so that they serve for almost a day after the last fetch.
pub const KEYS_FRESH: Duration = Duration::from_secs(60 * 60);

/// Age up to which keys are used while the issuer does not respond.
pub const KEYS_STALE: Duration = Duration::from_secs(lately_items::limits::ISSUER_KEYS_SECONDS);

/// Pause between two fetches while there are keys to use. Anyone can send tokens with unknown keys, so their number
/// must not matter to the issuer.
pub const FETCH_PAUSE: Duration = Duration::from_secs(60);

/// Pause between two fetches while there are no keys, so that no JWT can be accepted.
pub const FIRST_FETCH_PAUSE: Duration = Duration::from_secs(1);

/// The most issuers of a stack. Lambda accepts 4 KB of environment, which fewer fill.
pub const ISSUERS: usize = 20;

const _: () = {
    // The gateway waits 10 s for the authorizer, and the first JWT makes two requests: discovery, and the keys.
    // Beside them it reads the stored keys, and then it may store the keys.
    assert!(FETCH_TIMEOUT.as_secs() * 2 + STORE_TIMEOUT.as_secs() < 10);
    assert!(STORE_TIMEOUT.as_secs() <= FETCH_TIMEOUT.as_secs());
    // A call that begins at the end of the time waits for its answer.
    assert!(LOOKUP_TIME.as_secs() + READ_TIMEOUT.as_secs() <= 10);
    assert!(FETCH_PAUSE.as_secs() < KEYS_FRESH.as_secs() && KEYS_FRESH.as_secs() < KEYS_STALE.as_secs());
};
