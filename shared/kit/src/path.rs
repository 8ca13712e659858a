//! The parts of a path: `/topics/{topic}/events/{id}`.
//!
//! A part is percent-decoded exactly once, then parsed. API Gateway decodes the whole path of a request
//! before it chooses a route, and hands it on decoded; [`encoded`] puts the escapes back, so that what is
//! decoded here is what the gateway saw. Elsewhere the path arrives as it was sent. Either way a `%2F`, a
//! `%00` and bytes that are no text are outside every part's alphabet: a 400.

use std::str::FromStr;

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::request::Parts;
use lately_keys::table::{IssueNumber, SessionId};
use lately_keys::{Actor, App, Consumer, EventId, Owner, Repo, Source, Subject, Topic, User};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::problem::Problem;

/// One part of the path, parsed. Refused with 400 `invalid-name` or `invalid-id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<T>(pub T);

/// What a part of a path may stand for.
pub trait PathPart: FromStr<Err: Into<Problem>> {
    /// What stands in braces for it in a route.
    const NAME: &str;
}

impl PathPart for Topic {
    const NAME: &str = "topic";
}

impl PathPart for Consumer {
    const NAME: &str = "name";
}

impl PathPart for EventId {
    const NAME: &str = "id";
}

impl PathPart for SessionId {
    const NAME: &str = "id";
}

impl PathPart for User {
    const NAME: &str = "user";
}

impl PathPart for App {
    const NAME: &str = "app";
}

impl PathPart for Actor {
    const NAME: &str = "actor";
}

impl PathPart for Subject {
    const NAME: &str = "subject";
}

impl PathPart for Source {
    const NAME: &str = "source";
}

impl PathPart for Owner {
    const NAME: &str = "owner";
}

impl PathPart for Repo {
    const NAME: &str = "repo";
}

impl PathPart for IssueNumber {
    const NAME: &str = "number";
}

impl<T: PathPart, S: Sync> FromRequestParts<S> for Part<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let sent = part(route, parts.uri.path(), T::NAME).expect("a handler's parts are in its route");
        // Bytes that are no UTF-8 become U+FFFD, which no part may hold.
        let text = percent_decode_str(sent).decode_utf8_lossy();
        text.parse().map(Self).map_err(Into::into)
    }
}

/// The part of a path that stands where a route has a name in braces.
fn part<'a>(route: &str, path: &'a str, name: &str) -> Option<&'a str> {
    let in_braces = |part: &str| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) == Some(name);
    route.split('/').zip(path.split('/')).find(|(template, _)| in_braces(template)).map(|(_, part)| part)
}

/// What is escaped in a path: all but what RFC 3986 calls unreserved, and the slash.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A path that was decoded, as it may stand in a URI.
///
/// ```
/// use lately_kit::path::encoded;
///
/// assert_eq!(encoded("/topics/a#b c"), "/topics/a%23b%20c");
/// ```
#[must_use]
pub fn encoded(decoded: &str) -> String {
    let slash = if decoded.starts_with('/') { "" } else { "/" };
    format!("{slash}{}", utf8_percent_encode(decoded, ESCAPED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_path_may_stand_in_a_uri_and_decodes_to_itself(path in "/\\PC{0,40}") {
            let uri: axum::http::Uri = encoded(&path).parse().unwrap();
            prop_assert_eq!(percent_encoding::percent_decode_str(uri.path()).decode_utf8().unwrap(), path);
            prop_assert_eq!(uri.query(), None);
        }
    }
}
