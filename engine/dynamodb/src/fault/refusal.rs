//! DynamoDB's error for a call with an injected fault.

use dynoxide::streams;

use crate::api_error::{ApiError, ThrottlingReason};
use crate::fault::plan::TouchedPartition;
use crate::fault::rules::{Target, Throttle};
use crate::operation::Operation;

pub(super) fn throttled(
    operation: Operation,
    throttle: &Throttle,
    touches: &[TouchedPartition],
    target: &Target,
) -> ApiError {
    if operation.is_transaction() {
        return cancelled(
            "ThrottlingError",
            "Throughput exceeds the current capacity of your table or index.",
            touches,
            target,
        );
    }
    let kind = if operation.is_write() { "Write" } else { "Read" };
    let touch = touches.iter().find(|touch| target.covers(touch));
    let table = touch.or(touches.first()).map_or("", |touch| &touch.table);
    let reason = |limit: &str| ThrottlingReason {
        reason: format!("Table{kind}{limit}Exceeded"),
        resource: streams::table_arn(table),
    };
    match throttle {
        Throttle::TableKeyRange => ApiError::throttled(&[ThrottlingReason::key_range(kind, table, None)]),
        Throttle::IndexKeyRange(index) => {
            ApiError::throttled(&[ThrottlingReason::key_range(kind, table, Some(index))])
        }
        Throttle::OnDemandMaximum => ApiError::throttled(&[reason("MaxOnDemandThroughput")]),
        Throttle::Account => ApiError::request_limit(&[reason("AccountLimit")]),
        Throttle::Provisioned => ApiError::provisioned_throughput(&[reason("ProvisionedThroughput")]),
    }
}

/// The code of a cancelled transaction's item, and its message. A single write has the exception of that name.
pub(super) const CONFLICT: (&str, &str) = ("TransactionConflict", "Transaction is ongoing for the item");
pub(super) const CONDITION: (&str, &str) = ("ConditionalCheckFailed", "The conditional request failed");

pub(super) fn refused(
    operation: Operation,
    (code, message): (&str, &str),
    touches: &[TouchedPartition],
    target: &Target,
) -> ApiError {
    if operation.is_transaction() {
        return cancelled(code, message, touches, target);
    }
    ApiError::exception(&format!("{code}Exception"), message)
}

/// A cancelled transaction. At fault is the first of its items that the target covers.
fn cancelled(code: &str, message: &str, touches: &[TouchedPartition], target: &Target) -> ApiError {
    let guilty = touches.iter().position(|touch| target.covers(touch));
    let codes: Vec<_> =
        (0..touches.len()).map(|i| if Some(i) == guilty { (code, message) } else { ("None", "") }).collect();
    ApiError::transaction_cancelled(&codes)
}
