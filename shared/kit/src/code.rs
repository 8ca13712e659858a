//! The stable codes of all error responses. Clients act on them, so a published code never changes.

use axum::http::StatusCode;

macro_rules! codes {
    ($($name:ident = $status:ident $text:literal $title:literal;)*) => {
        /// The kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = concat!("`", $text, "`: ", $title, ".")] $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The code as clients see it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The HTTP status of responses with this code.
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status,)* }
            }

            /// The code's meaning in a few words, the same in every response.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }
        }
    };
}

codes! {
    InvalidName = BAD_REQUEST "invalid-name" "Invalid name";
    InvalidId = BAD_REQUEST "invalid-id" "Invalid id";
    InvalidQuery = BAD_REQUEST "invalid-query" "Invalid query string";
    InvalidCursor = BAD_REQUEST "invalid-cursor" "Invalid cursor";
    InvalidIdempotencyKey = BAD_REQUEST "invalid-idempotency-key" "Invalid Idempotency-Key";
    InvalidPrecondition = BAD_REQUEST "invalid-precondition" "Invalid If-Match or If-None-Match";
    MalformedJson = BAD_REQUEST "malformed-json" "The body is not valid JSON";
    MissingToken = UNAUTHORIZED "missing-token" "Missing token";
    InvalidToken = FORBIDDEN "invalid-token" "Invalid token";
    Forbidden = FORBIDDEN "forbidden" "Forbidden";
    OriginRefused = FORBIDDEN "origin-refused" "The origin of the request is not allowed";
    RouteNotFound = NOT_FOUND "route-not-found" "Route not found";
    MethodNotAllowed = METHOD_NOT_ALLOWED "method-not-allowed" "Method not allowed";
    TopicNotFound = NOT_FOUND "topic-not-found" "Topic not found";
    EventNotFound = NOT_FOUND "event-not-found" "Event not found";
    NotFound = NOT_FOUND "not-found" "Not found";
    StaleBatch = CONFLICT "stale-batch" "The batch is not outstanding";
    HasRuns = CONFLICT "has-runs" "The consumer produces reports and cannot be polled";
    TopicIsBeingDeleted = CONFLICT "topic-is-being-deleted" "The topic is being deleted";
    ActorIsBeingErased = CONFLICT "actor-is-being-erased" "The actor is being erased";
    BucketIsFixed = CONFLICT "bucket-is-fixed" "A topic's bucket width cannot change";
    TooManyPullSources = CONFLICT "too-many-pull-sources" "The user follows too many large sources";
    TooManyConsumers = CONFLICT "too-many-consumers" "The topic has too many consumers";
    TooManyIssues = CONFLICT "too-many-issues" "The repository has no issue numbers left";
    RevisionMismatch = PRECONDITION_FAILED "revision-mismatch" "The revision does not match";
    TooLarge = PAYLOAD_TOO_LARGE "too-large" "The request is too large";
    UnsupportedEncoding = UNSUPPORTED_MEDIA_TYPE "unsupported-encoding" "The body's encoding is not supported";
    InvalidBody = UNPROCESSABLE_ENTITY "invalid-body" "The request body is invalid";
    InvalidEvent = UNPROCESSABLE_ENTITY "invalid-event" "The request contains invalid events";
    TooManyEvents = UNPROCESSABLE_ENTITY "too-many-events" "The batch has too many events";
    InvalidTopic = UNPROCESSABLE_ENTITY "invalid-topic" "The topic's settings are invalid";
    IdempotencyKeyReused = UNPROCESSABLE_ENTITY "idempotency-key-reused" "Idempotency-Key used with another body";
    RateLimited = TOO_MANY_REQUESTS "rate-limited" "Too many requests";
    RevisionRequired = PRECONDITION_REQUIRED "revision-required" "If-Match is required to change this resource";
    PartiallyAccepted = SERVICE_UNAVAILABLE "partially-accepted" "Only some of the events were written";
    NotYetVisible = GATEWAY_TIMEOUT "not-yet-visible" "The awaited write is not visible yet";
    Unavailable = SERVICE_UNAVAILABLE "unavailable" "Service unavailable";
}

lately_keys::schema!(Code, "Code", words(Code::ALL.iter().map(|code| code.as_str())));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_have_error_statuses() {
        let texts: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
        assert!(
            Code::ALL.iter().all(|code| code.status().is_client_error() || code.status().is_server_error())
        );
    }

    #[test]
    fn the_documentation_lists_every_code_with_its_status() {
        let page = include_str!("../../../docs/api.md");
        let table = page.split_once("| status | codes | do |").unwrap().1.split_once("\n\n").unwrap().0;
        for code in Code::ALL {
            let (start, name) = (format!("| {} |", code.status().as_u16()), format!("`{}`", code.as_str()));
            let is_listed = |row: &str| row.starts_with(&start) && row.contains(&name);
            assert!(table.lines().any(is_listed), "{start} {name}");
        }
    }
}
