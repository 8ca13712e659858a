//! The parts of a path: `/topics/{topic}/events/{id}`.
//!
//! A part is percent-decoded exactly once, then parsed. API Gateway decodes a request's whole path before it chooses a
//! route, and passes it on decoded. [`encoded`] puts the escapes back, so that decoding here gives what the gateway
//! decoded. Elsewhere the path arrives as the client sent it. Either way `%2F`, `%00` and bytes that are not UTF-8 are
//! outside every part's alphabet: the response is 400.

use std::str::FromStr;

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::request::Parts;
use lately_keys::{
    Actor, App, Consumer, ErasureId, EventId, IssueNumber, Owner, Repo, SessionId, Source, Subject, Topic,
    User,
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::problem::Problem;

/// One part of the path, parsed. Refused with 400 `invalid-name` or `invalid-id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<T>(pub T);

/// A type that the model parses from a part of a path.
pub trait PathPart: FromStr<Err: Into<Problem>> {
    /// The part's name in the braces of a route.
    const NAME: &str;
}

macro_rules! path_parts {
    ($($part:ty = $name:literal),*) => {$(
        impl PathPart for $part {
            const NAME: &str = $name;
        }
    )*};
}

path_parts!(
    Topic = "topic",
    Consumer = "name",
    EventId = "id",
    SessionId = "id",
    ErasureId = "id",
    User = "user"
);
path_parts!(
    App = "app",
    Actor = "actor",
    Subject = "subject",
    Source = "source",
    Owner = "owner",
    Repo = "repo"
);
path_parts!(IssueNumber = "number");

impl<T: PathPart, S: Sync> FromRequestParts<S> for Part<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let sent = part(route, parts.uri.path(), T::NAME).expect("a handler's parts are in its route");
        // Bytes that are not UTF-8 become U+FFFD, which no part may contain.
        let text = percent_decode_str(sent).decode_utf8_lossy();
        text.parse().map(Self).map_err(Into::into)
    }
}

/// The part of a path at the position of a name in braces in the route.
fn part<'a>(route: &str, path: &'a str, name: &str) -> Option<&'a str> {
    let in_braces = |part: &str| part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) == Some(name);
    route.split('/').zip(path.split('/')).find(|(template, _)| in_braces(template)).map(|(_, part)| part)
}

/// The characters that are escaped in a path: all except the slash and RFC 3986's unreserved characters.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A decoded path, encoded for a URI.
///
/// ```
/// use lately_kit::path::encoded;
///
/// assert_eq!(encoded("/topics/a#b c"), "/topics/a%23b%20c");
/// ```
pub fn encoded(decoded: &str) -> String {
    escaped(decoded, ESCAPED)
}

/// A path with these characters escaped, and with a slash at its beginning.
pub(crate) fn escaped(path: &str, characters: &'static AsciiSet) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("{slash}{}", utf8_percent_encode(path, characters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_encoded_path_decodes_to_itself(path in "/\\PC{0,40}") {
            let uri: axum::http::Uri = encoded(&path).parse().unwrap();
            prop_assert_eq!(percent_encoding::percent_decode_str(uri.path()).decode_utf8().unwrap(), path);
            prop_assert_eq!(uri.query(), None);
        }
    }
}
