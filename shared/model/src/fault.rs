//! What is wrong with what a client sent, by place.

use std::fmt;

use serde::Serialize;

/// One thing to mend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Where it is: a JSON Pointer (RFC 6901) into the body, `/1/type`; of a query string, `/limit`.
    pub path: String,
    /// What must be so. It never repeats what the client sent.
    pub message: String,
}

/// All that is wrong, in the order in which it was found; at least one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// A list of faults; none if it is empty.
    #[must_use]
    pub fn new(faults: Vec<Fault>) -> Option<Self> {
        (!faults.is_empty()).then_some(Self(faults))
    }

    /// The faults, one by one.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a Faults {
    type Item = &'a Fault;
    type IntoIter = std::slice::Iter<'a, Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Fault { path, message }) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{path}: {message}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// Faults as they are found.
#[derive(Debug, Default)]
pub(crate) struct Found(Vec<Fault>);

impl Found {
    pub(crate) fn add(&mut self, path: &Pointer, message: impl fmt::Display) {
        self.0.push(Fault { path: path.0.clone(), message: message.to_string() });
    }

    /// The value, if it was read and nothing is wrong.
    pub(crate) fn or<T>(self, value: Option<T>) -> Result<T, Faults> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => {
                debug_assert!(!self.0.is_empty(), "what could not be read has a fault");
                Err(Faults(self.0))
            }
        }
    }
}

/// A place in a JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pointer(String);

impl Pointer {
    /// The whole text.
    pub(crate) fn root() -> Self {
        Self::default()
    }

    /// The member of a name, or the element of a number, of what this points at.
    pub(crate) fn child(&self, name: impl fmt::Display) -> Self {
        let name = name.to_string().replace('~', "~0").replace('/', "~1");
        Self(format!("{}/{name}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_escapes_what_would_point_elsewhere() {
        let place = Pointer::root().child(3).child("a/b~c").child("");
        assert_eq!(place.0, "/3/a~1b~0c/");
    }

    #[test]
    fn all_faults_are_told_in_order() {
        let mut found = Found::default();
        found.add(&Pointer::root().child("type"), "must be given");
        found.add(&Pointer::root(), "must be less");
        let faults = found.or(Some(())).unwrap_err();
        assert_eq!(faults.to_string(), "/type: must be given; : must be less");
        assert_eq!(
            serde_json::to_string(&faults).unwrap(),
            r#"[{"path":"/type","message":"must be given"},{"path":"","message":"must be less"}]"#
        );
    }
}
