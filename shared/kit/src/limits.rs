//! Every cap of this crate, each with its reason.

use std::time::Duration;

use lately_store::limits::PAGE_BYTES;

/// Smallest body that is compressed: a smaller one fits a packet as it is.
pub const COMPRESSED_BYTES: u64 = 1024;

/// Largest answer that Lambda takes from a function, with the body as a JSON string in it.
pub const ANSWER_BYTES: usize = 6 * 1024 * 1024;

/// Room in an answer for everything but the page: its status, its headers, and the page's cursor.
pub const ANSWER_HEAD_BYTES: usize = 16 * 1024;

/// How long a connection to DynamoDB may take: a handshake in the same region takes a few milliseconds, so
/// one that took a second is better tried again.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How long DynamoDB may take to begin its answer. It takes milliseconds, or something is wrong.
pub const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// How long an idle connection is kept. DynamoDB closes one after some minutes, and what is in between may forget it without
/// a word: then the next call would wait in vain.
pub const CONNECTION_KEPT: Duration = Duration::from_secs(90);

/// How long one call may take, from its first byte out to its last byte in: 16 MB of a batch too.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(6);

/// How long an operation of the store may take, with all its attempts: within the functions' 15 s.
pub const OPERATION_BUDGET: Duration = Duration::from_secs(10);

/// How long before its deadline a function that handles batches stops: a call under way ends, and the answer is sent.
pub const TIME_TO_ANSWER: Duration = Duration::from_secs(8);

/// Longest message of a panic in the log, in characters; it is cut there.
pub const PANIC_MESSAGE_CHARS: usize = 1024;

const _: () = {
    // A string of JSON is at most twice as long as the JSON that it holds: a quote, a backslash and white space take two
    // bytes in place of one, and JSON holds no other control characters.
    assert!(2 * PAGE_BYTES + ANSWER_HEAD_BYTES <= ANSWER_BYTES);
    assert!(CONNECT_TIMEOUT.as_millis() < READ_TIMEOUT.as_millis());
    // Within the functions' 15 s, a call that timed out can still be tried again.
    assert!(CALL_TIMEOUT.as_millis() * 2 < 15_000);
    assert!(TIME_TO_ANSWER.as_millis() > CALL_TIMEOUT.as_millis());
    assert!(OPERATION_BUDGET.as_millis() + CALL_TIMEOUT.as_millis() / 2 < 15_000);
};
