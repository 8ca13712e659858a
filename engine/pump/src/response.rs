//! Reads a function's response to a batch.
//!
//! Lambda's rules: without `ReportBatchItemFailures` any response is success. With it, a response without a failure (no
//! list, an empty list, null) is success. Otherwise the batch failed from the lowest sequence number that the response
//! names. A failure whose `itemIdentifier` is missing, empty, null or of no record of the batch fails the whole batch.
//! A response that is not JSON, or whose `batchItemFailures` is not a list, fails the whole batch too, so no record is
//! lost.

use serde_json::Value;

use lately_engine::stream::SequenceNumber;

/// The result of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All records are done.
    Success,
    /// Only the records before position `from` in the batch are done.
    Failure { from: usize, cause: Cause },
}

/// The way in which the function failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The function returned an error, or died.
    Error,
    /// The function's response reported failures.
    Reported,
}

/// Reads the response of a function that reports failures. `batch` has the sequence numbers of the batch.
pub(crate) fn read(answer: &str, batch: &[SequenceNumber]) -> Verdict {
    let failed_from = |from| Verdict::Failure { from, cause: Cause::Reported };
    if answer.is_empty() {
        return Verdict::Success;
    }
    let Ok(answer) = serde_json::from_str::<Value>(answer) else { return failed_from(0) };
    let failures = match answer.get("batchItemFailures") {
        None | Some(Value::Null) => return Verdict::Success,
        Some(Value::Array(failures)) => failures,
        Some(_) => return failed_from(0),
    };
    let index = |failure: &Value| {
        let sequence = failure.get("itemIdentifier")?.as_str()?.parse().ok()?;
        batch.binary_search(&sequence).ok()
    };
    let lowest = failures.iter().map(|failure| index(failure).unwrap_or(0)).min();
    lowest.map_or(Verdict::Success, failed_from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(answer: &str) -> Verdict {
        read(answer, &[3, 5, 9].map(SequenceNumber))
    }

    fn failed(from: usize) -> Verdict {
        Verdict::Failure { from, cause: Cause::Reported }
    }

    fn naming(failures: &str) -> Verdict {
        verdict(&format!(r#"{{"batchItemFailures":[{failures}]}}"#))
    }

    fn of(sequence: u64) -> String {
        format!(r#"{{"itemIdentifier":"{}"}}"#, SequenceNumber(sequence))
    }

    #[test]
    fn a_response_without_failures_is_success() {
        for answer in
            ["", "null", "{}", r#"{"batchItemFailures":[]}"#, r#"{"batchItemFailures":null}"#, r#""done""#]
        {
            assert_eq!(verdict(answer), Verdict::Success, "{answer}");
        }
    }

    #[test]
    fn a_batch_fails_from_the_lowest_reported_sequence_number() {
        assert_eq!(naming(&of(9)), failed(2));
        assert_eq!(naming(&format!("{},{}", of(9), of(5))), failed(1));
        assert_eq!(naming(&of(3)), failed(0));
    }

    #[test]
    fn a_failure_outside_the_batch_fails_the_whole_batch() {
        for failure in [
            r#"{"itemIdentifier":""}"#,
            r#"{"itemIdentifier":null}"#,
            r#"{"sequenceNumber":"100000000000000000009"}"#,
            r#"{"itemIdentifier":"4"}"#,
            "null",
            &of(4),
        ] {
            assert_eq!(naming(&format!("{},{failure}", of(9))), failed(0), "{failure}");
        }
        assert_eq!(verdict(r#"{"batchItemFailures":"all"}"#), failed(0));
        assert_eq!(verdict("done"), failed(0));
    }
}
