//! Every stable code of an answer that is not 2xx. Clients act on them, so one that was published stays.

use axum::http::StatusCode;

macro_rules! codes {
    ($($name:ident = $status:ident $text:literal $title:literal;)*) => {
        /// What kind of problem it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = concat!("`", $text, "`: ", $title, ".")] $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The code as clients see it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The status that it is answered with.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            /// What it means, in a few words that are always the same.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

codes! {
    InvalidName = BAD_REQUEST "invalid-name" "A name is outside its alphabet";
    InvalidId = BAD_REQUEST "invalid-id" "An id is ill-formed";
    InvalidQuery = BAD_REQUEST "invalid-query" "The query string is ill-formed";
    InvalidCursor = BAD_REQUEST "invalid-cursor" "The cursor is ill-formed, or of another query";
    InvalidIdempotencyKey = BAD_REQUEST "invalid-idempotency-key" "The idempotency key is ill-formed";
    InvalidPrecondition = BAD_REQUEST "invalid-precondition" "A precondition is ill-formed";
    MalformedJson = BAD_REQUEST "malformed-json" "The body is not JSON";
    MissingToken = UNAUTHORIZED "missing-token" "The request carries no token";
    InvalidToken = FORBIDDEN "invalid-token" "The token is unknown, expired or revoked";
    Forbidden = FORBIDDEN "forbidden" "The caller may not do this";
    OriginRefused = FORBIDDEN "origin-refused" "The request comes from somewhere else";
    RouteNotFound = NOT_FOUND "route-not-found" "There is no such route";
    TopicNotFound = NOT_FOUND "topic-not-found" "There is no such topic";
    EventNotFound = NOT_FOUND "event-not-found" "There is no such event";
    NotFound = NOT_FOUND "not-found" "There is no such thing";
    StaleBatch = CONFLICT "stale-batch" "The batch is not the outstanding one";
    HasRuns = CONFLICT "has-runs" "The consumer reports, and is not polled";
    BucketIsFixed = CONFLICT "bucket-is-fixed" "A topic's bucket width cannot change";
    TooManyPullSources = CONFLICT "too-many-pull-sources" "The user follows too many large sources";
    TooManyConsumers = CONFLICT "too-many-consumers" "The topic has too many consumers";
    TooManyIssues = CONFLICT "too-many-issues" "The repository has no number left";
    RevisionMismatch = PRECONDITION_FAILED "revision-mismatch" "What is there is of another revision";
    TooLarge = PAYLOAD_TOO_LARGE "too-large" "The request is too large";
    InvalidBody = UNPROCESSABLE_ENTITY "invalid-body" "The body is not what it should be";
    InvalidEvent = UNPROCESSABLE_ENTITY "invalid-event" "The events are not what they should be";
    TooManyEvents = UNPROCESSABLE_ENTITY "too-many-events" "The batch has too many events";
    InvalidTopic = UNPROCESSABLE_ENTITY "invalid-topic" "The topic's settings are not what they should be";
    IdempotencyKeyReused = UNPROCESSABLE_ENTITY "idempotency-key-reused" "The idempotency key came with another body";
    RevisionRequired = PRECONDITION_REQUIRED "revision-required" "What is there is replaced by its revision only";
    PartiallyAccepted = SERVICE_UNAVAILABLE "partially-accepted" "Only a part was written";
    NotYetVisible = GATEWAY_TIMEOUT "not-yet-visible" "What was waited for does not show yet";
    Unavailable = SERVICE_UNAVAILABLE "unavailable" "The service cannot answer now";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_codes_read_the_same() {
        let texts: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
        assert!(
            Code::ALL.iter().all(|code| code.status().is_client_error() || code.status().is_server_error())
        );
    }
}
