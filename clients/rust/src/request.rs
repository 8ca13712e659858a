//! A request as data: the handles build requests, the transport sends them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

use crate::problem::Problem;

/// The characters of a path or a query that need no encoding, like those of `encodeURIComponent`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A request to the API.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Vec<u8>>,
    /// The problem with which the request fails instead of being sent.
    pub(crate) fault: Option<Box<Problem>>,
}

impl Request {
    /// A request for a path that is encoded already, with its query if it has one.
    pub fn new(method: Method, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), headers: Vec::new(), body: None, fault: None }
    }

    /// A request for the path that these parts make; each part is percent-encoded.
    pub fn to<'a>(method: Method, parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut request = Self::new(method, String::new());
        for part in parts {
            // A URL cannot contain these parts: they would be removed, and the request would ask another route.
            if ["", ".", ".."].contains(&part) {
                request = request.faulty("invalid-name", format!("\"{part}\" cannot be a part of a path"));
            }
            request.target.push('/');
            request.target.extend(utf8_percent_encode(part, ENCODED));
        }
        request
    }

    /// The same request with one more parameter, if it has a value.
    pub fn parameter(mut self, name: &str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.target.push(if self.target.contains('?') { '&' } else { '?' });
            self.target.extend([name, "="]);
            self.target.extend(utf8_percent_encode(value, ENCODED));
        }
        self
    }

    /// The same request with the fields of a struct as parameters; those that are null are omitted.
    pub fn query(self, query: &impl Serialize) -> Self {
        let fields = match serde_json::to_value(query) {
            Ok(Value::Object(fields)) => fields,
            _ => return self.faulty("invalid-query", "A query must be an object."),
        };
        fields.into_iter().fold(self, |request, (name, value)| match value {
            Value::Null => request,
            Value::String(text) => request.parameter(&name, Some(&text)),
            value => request.parameter(&name, Some(&value.to_string())),
        })
    }

    /// The same request with a body.
    pub fn json(self, body: &(impl Serialize + ?Sized)) -> Self {
        match serde_json::to_vec(body) {
            Ok(body) => self.body("application/json", body),
            Err(error) => self.faulty("invalid-body", error.to_string()),
        }
    }

    /// The same request with a body of another type.
    pub fn body(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: Some(body.into()), ..self.header("content-type", content_type) }
    }

    /// The same request with one more header.
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same request under an idempotency key: it takes effect once, however often it is sent.
    pub fn key(self, key: &str) -> Self {
        if key.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
            self.header("idempotency-key", key)
        } else {
            self.faulty("invalid-idempotency-key", "Use printable ASCII characters.")
        }
    }

    /// The same request, for a record that has this revision.
    pub fn if_match(self, revision: &str) -> Self {
        self.header("if-match", format!("\"{revision}\""))
    }

    fn faulty(self, code: &str, detail: impl Into<String>) -> Self {
        Self { fault: Some(Box::new(Problem::new(400, code, detail))), ..self }
    }

    /// The path, with its query if it has one.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// True if sending the request twice ends like sending it once.
    pub fn is_repeatable(&self) -> bool {
        let has = |name| self.headers.iter().any(|(header, _)| *header == name);
        if has("idempotency-key") {
            return true;
        }
        // The first sending raises the revision, so the second would be refused.
        if has("if-match") || has("if-none-match") {
            return false;
        }
        let path = self.target.split('?').next().unwrap_or_default();
        [Method::GET, Method::PUT, Method::DELETE].contains(&self.method)
            || ["/poll", "/commit", "/seek", "/erasures"].iter().any(|end| path.ends_with(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Order, PageQuery};

    #[test]
    fn parts_and_parameters_are_percent_encoded() {
        let request = Request::to(Method::GET, ["subjects", "a/b c?d", "events"]);
        assert_eq!(request.target(), "/subjects/a%2Fb%20c%3Fd/events");
        let query = PageQuery {
            limit: Some(5),
            order: Some(Order::OldestFirst),
            event_type: Some("a&b=ü".to_owned()),
            consistent: Some(true),
            ..PageQuery::default()
        };
        let target = Request::new(Method::GET, "/x").query(&query).target;
        assert_eq!(target, "/x?consistent=true&limit=5&order=asc&type=a%26b%3D%C3%BC");
        assert!(Request::to(Method::GET, ["topics", ".."]).fault.is_some());
    }

    #[test]
    fn a_request_is_repeatable_if_a_second_sending_changes_nothing() {
        let at = |method| Request::new(method, "/x");
        assert!(at(Method::GET).is_repeatable() && at(Method::DELETE).is_repeatable());
        assert!(!at(Method::POST).is_repeatable() && at(Method::POST).key("k").is_repeatable());
        assert!(!at(Method::PUT).if_match("7").is_repeatable());
        for path in ["/topics/a/consumers/b/poll", "/erasures"] {
            assert!(Request::new(Method::POST, path).is_repeatable(), "{path}");
        }
    }
}
