//! An error in DynamoDB's wire format: a status, a `__type` and a message.

use dynoxide::errors::CancellationReason;
use dynoxide::{DynoxideError, streams};
use serde::Serialize;
use serde_json::json;

/// The namespace of DynamoDB's own errors.
const DYNAMODB: &str = "com.amazonaws.dynamodb.v20120810#";
/// The namespace of the request-validation errors.
const VALIDATE: &str = "com.amazon.coral.validate#";
/// The namespace of the errors that the service raises before it knows the operation.
const SERVICE: &str = "com.amazon.coral.service#";

/// The response to a call that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// One entry of `ThrottlingReasons`: the limit that a request exceeded, and the resource that has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ThrottlingReason {
    pub(crate) reason: String,
    pub(crate) resource: String,
}

impl ThrottlingReason {
    /// The throughput of a key range of a table, or of its index. DynamoDB gives an on-demand table without a configured
    /// maximum this reason, whether its key, its partition or the whole table is short. `kind` is `Read` or `Write`.
    pub(crate) fn key_range(kind: &str, table: &str, index: Option<&str>) -> Self {
        let (part, resource) = match index {
            None => ("Table", streams::table_arn(table)),
            Some(index) => ("Index", streams::index_arn(table, index)),
        };
        Self { reason: format!("{part}{kind}KeyRangeThroughputExceeded"), resource }
    }
}

impl ApiError {
    fn new(status: u16, kind: String, message: &str) -> Self {
        let body = json!({"__type": kind, "message": message}).to_string();
        Self { status, body }
    }

    pub(crate) fn validation(message: &str) -> Self {
        Self::new(400, format!("{VALIDATE}ValidationException"), message)
    }

    pub(crate) fn serialization(message: &str) -> Self {
        Self::new(400, format!("{SERVICE}SerializationException"), message)
    }

    pub(crate) fn unknown_operation() -> Self {
        let kind = format!("{SERVICE}UnknownOperationException");
        let body = json!({ "__type": kind }).to_string();
        Self { status: 400, body }
    }

    pub(crate) fn internal() -> Self {
        let message = "The request processing has failed because of an unknown error, exception or failure.";
        DynoxideError::InternalServerError(message.to_owned()).into()
    }

    /// An exception of DynamoDB's own that has only a message.
    pub(crate) fn exception(name: &str, message: &str) -> Self {
        Self::new(400, format!("{DYNAMODB}{name}"), message)
    }

    pub(crate) fn unavailable() -> Self {
        Self::new(
            503,
            format!("{SERVICE}ServiceUnavailableException"),
            "The service is temporarily unavailable.",
        )
    }

    /// The `ThrottlingException` of on-demand tables, with the reasons that name the resource.
    pub(crate) fn throttled(reasons: &[ThrottlingReason]) -> Self {
        Self::throttling(
            "ThrottlingException",
            "throttlingReasons",
            "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly.",
            reasons,
        )
    }

    /// The `ProvisionedThroughputExceededException` of provisioned tables.
    pub(crate) fn provisioned_throughput(reasons: &[ThrottlingReason]) -> Self {
        Self::throttling(
            "ProvisionedThroughputExceededException",
            "ThrottlingReasons",
            "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API.",
            reasons,
        )
    }

    /// `RequestLimitExceeded`: the account's quota is used up.
    pub(crate) fn request_limit(reasons: &[ThrottlingReason]) -> Self {
        Self::throttling(
            "RequestLimitExceeded",
            "ThrottlingReasons",
            "Throughput exceeds the current throughput limit for your account.",
            reasons,
        )
    }

    /// The name of the list of reasons has another case in each error, as in the service's model.
    fn throttling(name: &str, member: &str, message: &str, reasons: &[ThrottlingReason]) -> Self {
        let body = json!({
            "__type": format!("{DYNAMODB}{name}"),
            "message": message,
            member: reasons,
        });
        Self { status: 400, body: body.to_string() }
    }

    /// A cancelled transaction. Each of its actions has a code, which is `None` unless the action was at fault.
    pub(crate) fn transaction_cancelled(codes: &[(&str, &str)]) -> Self {
        let names: Vec<&str> = codes.iter().map(|(code, _)| *code).collect();
        let names = names.join(", ");
        let message = format!(
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{names}]"
        );
        let reasons = codes.iter().map(|(code, message)| CancellationReason {
            code: (*code).to_owned(),
            message: Some((*message).to_owned()).filter(|message| !message.is_empty()),
            item: None,
        });
        DynoxideError::TransactionCanceledException(message, reasons.collect()).into()
    }
}

impl From<DynoxideError> for ApiError {
    fn from(error: DynoxideError) -> Self {
        Self { status: error.status_code(), body: error.to_json() }
    }
}
