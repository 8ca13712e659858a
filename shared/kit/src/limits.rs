//! All caps of this crate, each with its reason.

use std::time::Duration;

use lately_store::limits::PAGE_BYTES;

/// Smallest body that is compressed: a smaller body fits into one packet uncompressed.
pub const COMPRESSED_BYTES: u64 = 1024;

/// Largest response that Lambda accepts from a function, with the body as a JSON string in it.
pub const ANSWER_BYTES: usize = 6 * 1024 * 1024;

/// Room in a response for everything except the page: its status, its headers and the page's cursor.
pub const ANSWER_HEAD_BYTES: usize = 16 * 1024;

/// Timeout of connecting to DynamoDB. A handshake in the same region takes a few milliseconds, so after a second it is
/// better to try again.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Timeout for the start of DynamoDB's response. It takes milliseconds unless something is wrong.
pub const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// The time that an idle connection stays open. DynamoDB closes idle connections after some minutes, and devices on the
/// way may forget them silently: then the next call would wait in vain.
pub const CONNECTION_KEPT: Duration = Duration::from_secs(90);

/// Timeout of one call, from its first byte sent to its last byte received. It is enough for a batch of 16 MB.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(6);

/// Time for an operation of the store with all its attempts: within the functions' 15 s.
pub const OPERATION_BUDGET: Duration = Duration::from_secs(10);

/// Time before its deadline at which a function that handles batches stops, so that a call under way can end and the
/// response can be sent.
pub const TIME_TO_ANSWER: Duration = Duration::from_secs(8);

/// Time after its end for which a token may still be accepted: the clocks of an issuer, the gateway and a function differ.
pub const TOKEN_LEEWAY: Duration = Duration::from_secs(60);

/// Read units that count as one read of a caller: 128 KB, or half of it if the read is consistent. A page of 50 events
/// counts once; a count or a search that reads as much of a partition as it may counts four times.
pub const READ_UNITS: u64 = 16;

/// Longest panic message in the log, in characters; a longer message is cut.
pub const PANIC_MESSAGE_CHARS: usize = 1024;

const _: () = {
    // A JSON string is at most twice as long as the JSON that it holds: a quote, a backslash and white space take two
    // bytes each, and JSON holds no other control characters.
    assert!(2 * PAGE_BYTES + ANSWER_HEAD_BYTES <= ANSWER_BYTES);
    assert!(CONNECT_TIMEOUT.as_millis() < READ_TIMEOUT.as_millis());
    // A call that timed out can be tried again within the functions' 15 s.
    assert!(CALL_TIMEOUT.as_millis() * 2 < 15_000);
    assert!(TIME_TO_ANSWER.as_millis() > CALL_TIMEOUT.as_millis());
    assert!(OPERATION_BUDGET.as_millis() + CALL_TIMEOUT.as_millis() / 2 < 15_000);
};
