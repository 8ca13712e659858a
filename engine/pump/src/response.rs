//! The reading of a function's response: the verdict on its batch.
//!
//! Lambda's rules: without `ReportBatchItemFailures` any answer is success. With it, an answer that names
//! no failure (no list, an empty one, null) is success; the lowest sequence number named is where the batch
//! failed; a name that is missing, empty, null or of no record of the batch fails all of it. An answer
//! that is no JSON, or whose `batchItemFailures` is no list, fails all of it too: no record is lost by it.

use serde_json::Value;

use lately_engine::stream::SequenceNumber;

/// The result of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All of it is done.
    Success,
    /// Only the records before that place in the batch are done.
    Failure { from: usize, cause: Cause },
}

/// The way in which the function failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// By an error, or by dying.
    Error,
    /// By an answer.
    Reported,
}

/// Reads the answer to a batch of those sequence numbers, of a function that reports failures.
pub(crate) fn read(answer: &str, batch: &[SequenceNumber]) -> Verdict {
    let failed_from = |from| Verdict::Failure { from, cause: Cause::Reported };
    if answer.is_empty() {
        return Verdict::Success;
    }
    let Ok(answer) = serde_json::from_str::<Value>(answer) else {
        return failed_from(0);
    };
    let failures = match answer.get("batchItemFailures") {
        None | Some(Value::Null) => return Verdict::Success,
        Some(Value::Array(failures)) => failures,
        Some(_) => return failed_from(0),
    };
    let place = |failure: &Value| {
        let sequence = failure.get("itemIdentifier")?.as_str()?.parse().ok()?;
        batch.binary_search(&sequence).ok()
    };
    let lowest = failures.iter().map(|failure| place(failure).unwrap_or(0)).min();
    lowest.map_or(Verdict::Success, failed_from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(answer: &str) -> Verdict {
        read(answer, &[3, 5, 9].map(SequenceNumber::new))
    }

    fn failed(from: usize) -> Verdict {
        Verdict::Failure { from, cause: Cause::Reported }
    }

    fn naming(failures: &str) -> Verdict {
        verdict(&format!(r#"{{"batchItemFailures":[{failures}]}}"#))
    }

    fn of(sequence: u64) -> String {
        format!(r#"{{"itemIdentifier":"{}"}}"#, SequenceNumber::new(sequence))
    }

    #[test]
    fn an_answer_that_names_no_failure_is_success() {
        for answer in
            ["", "null", "{}", r#"{"batchItemFailures":[]}"#, r#"{"batchItemFailures":null}"#, r#""done""#]
        {
            assert_eq!(verdict(answer), Verdict::Success, "{answer}");
        }
    }

    #[test]
    fn the_lowest_sequence_number_named_is_where_the_batch_failed() {
        assert_eq!(naming(&of(9)), failed(2));
        assert_eq!(naming(&format!("{},{}", of(9), of(5))), failed(1));
        assert_eq!(naming(&of(3)), failed(0));
    }

    #[test]
    fn a_failure_of_no_record_of_the_batch_fails_all_of_it() {
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
