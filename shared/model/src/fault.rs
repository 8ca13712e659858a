//! Faults: the errors in a request, each with its path.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One error to correct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Fault {
    /// A JSON Pointer into the body, as `/1/type`, or the name of a query parameter, as `/limit`.
    pub path: String,
    /// The rule that must hold. It never repeats text that the client sent.
    pub message: String,
}

/// All faults, in the order in which they were found; at least one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// A list of faults; none if `faults` is empty.
    pub fn new(faults: Vec<Fault>) -> Option<Self> {
        (!faults.is_empty()).then_some(Self(faults))
    }

    /// The faults, one by one.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.0.iter()
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

/// The faults found so far.
#[derive(Debug, Default)]
pub(crate) struct FaultList(Vec<Fault>);

impl FaultList {
    pub(crate) fn add(&mut self, path: &Pointer, message: impl fmt::Display) {
        self.0.push(Fault { path: path.0.clone(), message: message.to_string() });
    }

    /// The value, if it was parsed and there are no faults.
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

/// A JSON Pointer into a JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pointer(String);

impl Pointer {
    /// The whole text.
    pub(crate) fn root() -> Self {
        Self::default()
    }

    /// The pointer to a member or an element of this value.
    pub(crate) fn child(&self, name: impl fmt::Display) -> Self {
        let name = name.to_string().replace('~', "~0").replace('/', "~1");
        Self(format!("{}/{name}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_escapes_slashes_and_tildes() {
        let pointer = Pointer::root().child(3).child("a/b~c").child("");
        assert_eq!(pointer.0, "/3/a~1b~0c/");
    }

    #[test]
    fn faults_are_listed_in_order() {
        let mut found = FaultList::default();
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
