//! The fields of a JSON object or of a query string.
//!
//! These readers are not derived, because a derived reader stops at the first fault and returns the last of two fields
//! with one name. Here all faults are reported at once, values retain their text, and nothing is read twice: one pass
//! over the text sorts it into fields, and each field is then parsed on its own.

use std::fmt;
use std::str::FromStr;

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::fault::{FaultList, Pointer};
use crate::limits::{NAMED_FIELD_BYTES, NAMED_FIELDS};

/// Sorts the members or parameters that a client sent into the known fields.
pub(crate) struct Fields<'f, V, const N: usize> {
    at: &'f Pointer,
    names: [&'static str; N],
    values: [Option<V>; N],
    refused: Vec<(Pointer, &'static str)>,
    unnamed: usize,
}

impl<'f, V, const N: usize> Fields<'f, V, N> {
    pub(crate) fn new(at: &'f Pointer, names: [&'static str; N]) -> Self {
        Self { at, names, values: std::array::from_fn(|_| None), refused: Vec::new(), unnamed: 0 }
    }

    /// Takes one field.
    pub(crate) fn offer(&mut self, name: &str, value: V) {
        let Some(index) = self.names.iter().position(|known| *known == name) else {
            return self.refuse(name, "is not a known field");
        };
        if self.values[index].is_some() {
            return self.refuse(name, "must be given only once");
        }
        self.values[index] = Some(value);
    }

    fn refuse(&mut self, name: &str, message: &'static str) {
        if name.len() > NAMED_FIELD_BYTES {
            self.unnamed += 1;
            return;
        }
        let refused = (self.at.child(name), message);
        if self.refused.contains(&refused) {
            return;
        }
        if self.refused.len() < NAMED_FIELDS {
            self.refused.push(refused);
        } else {
            self.unnamed += 1;
        }
    }

    /// All fields, in the order of `names`. A field that was not sent is empty.
    pub(crate) fn finish(self, found: &mut FaultList) -> [Field<V>; N] {
        for (path, message) in &self.refused {
            found.add(path, message);
        }
        if self.unnamed > 0 {
            let count = self.unnamed;
            found.add(self.at, format_args!("has {count} more unknown, repeated or overlong fields"));
        }
        let mut names = self.names.into_iter();
        self.values.map(|value| {
            let name = names.next().expect("there are as many names as values");
            Field { path: self.at.child(name), value }
        })
    }
}

/// The fields of a JSON object; none, with a fault, if the JSON is not an object.
pub(crate) fn of_object<'a, const N: usize>(
    json: &'a RawValue,
    at: &Pointer,
    names: [&'static str; N],
    found: &mut FaultList,
) -> Option<[Field<&'a RawValue>; N]> {
    let mut reader = serde_json::Deserializer::from_str(json.get());
    let Ok(fields) = reader.deserialize_map(Members(Fields::new(at, names))) else {
        found.add(at, "must be a JSON object");
        return None;
    };
    Some(fields.finish(found))
}

struct Members<'f, 'a, const N: usize>(Fields<'f, &'a RawValue, N>);

impl<'f, 'a, const N: usize> Visitor<'a> for Members<'f, 'a, N> {
    type Value = Fields<'f, &'a RawValue, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut members: A) -> Result<Self::Value, A::Error> {
        while let Some((name, value)) = members.next_entry::<String, &RawValue>()? {
            self.0.offer(&name, value);
        }
        Ok(self.0)
    }
}

/// One field and its path.
pub(crate) struct Field<V> {
    path: Pointer,
    pub(crate) value: Option<V>,
}

impl<V> Field<V> {
    pub(crate) fn fault(&self, found: &mut FaultList, message: impl fmt::Display) {
        found.add(&self.path, message);
    }

    /// The field itself, with a fault if it was not sent.
    pub(crate) fn required(self, found: &mut FaultList) -> Self {
        if self.value.is_none() {
            self.fault(found, "must be given");
        }
        self
    }
}

impl<'a> Field<&'a RawValue> {
    /// The field's value as a type that serde knows; none, with this fault, if serde refuses it.
    pub(crate) fn json<T: serde::Deserialize<'a>>(
        &self,
        refused: impl fmt::Display,
        found: &mut FaultList,
    ) -> Option<T> {
        serde_json::from_str(self.value?.get()).map_err(|_| self.fault(found, refused)).ok()
    }

    /// The field's string, parsed; none, with a fault, if it is refused.
    pub(crate) fn text<T: FromStr<Err: fmt::Display>>(&self, found: &mut FaultList) -> Option<T> {
        let text: String = self.json("must be a string", found)?;
        text.parse().map_err(|refused| self.fault(found, refused)).ok()
    }

    /// The field's array as elements with their paths; none, with a fault, if it is not an array.
    pub(crate) fn elements(&self, found: &mut FaultList) -> Option<Vec<Self>> {
        let elements: Vec<&'a RawValue> = self.json("must be an array", found)?;
        let element = |(index, value)| Self { path: self.path.child(index), value: Some(value) };
        Some(elements.into_iter().enumerate().map(element).collect())
    }

    /// True if the client sent `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.value.is_some_and(|json| json.get() == "null")
    }
}

impl Field<String> {
    /// The parameter's text, parsed; none, with a fault, if it is refused.
    pub(crate) fn text<T: FromStr<Err: fmt::Display>>(&self, found: &mut FaultList) -> Option<T> {
        self.parsed(found, str::parse)
    }

    /// As [`Field::text`], with this parser.
    pub(crate) fn parsed<T, E: fmt::Display>(
        &self,
        found: &mut FaultList,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        parse(self.value.as_deref()?).map_err(|refused| self.fault(found, refused)).ok()
    }
}
