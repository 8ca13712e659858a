//! An update that makes one item of another: it sets and removes what differs and leaves all else alone, and is done only
//! if what it was made from is still so. Pure.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;

use crate::item::Item;

/// The update, in DynamoDB's words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edit {
    pub(super) update: String,
    pub(super) condition: String,
    /// Every name is given as a placeholder: some are reserved words.
    pub(super) names: HashMap<String, String>,
    pub(super) values: HashMap<String, AttributeValue>,
}

impl Edit {
    /// What makes `after` of `before`, under the condition that the attributes of `basis` are still as they are in
    /// `before`; `None` if nothing differs.
    pub(super) fn between(before: &Item, after: &Item, basis: &[&str]) -> Option<Self> {
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differing: Vec<_> =
            names.into_iter().filter(|name| before.get(*name) != after.get(*name)).collect();
        if differing.is_empty() {
            return None;
        }
        let mut edit = Self {
            update: String::new(),
            condition: String::new(),
            names: HashMap::new(),
            values: HashMap::new(),
        };
        let (mut set, mut removed, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for name in differing {
            let place = edit.name(name);
            match after.get(name) {
                Some(value) => set.push(format!("{place} = {}", edit.value("new", name, value))),
                None => removed.push(place),
            }
        }
        for name in basis {
            let place = edit.name(name);
            held.push(match before.get(*name) {
                Some(value) => format!("{place} = {}", edit.value("old", name, value)),
                None => format!("attribute_not_exists({place})"),
            });
        }
        let clause = |word: &str, parts: &[String]| match parts {
            [] => String::new(),
            parts => format!("{word} {} ", parts.join(", ")),
        };
        edit.update = clause("SET", &set) + &clause("REMOVE", &removed);
        edit.condition = held.join(" AND ");
        Some(edit)
    }

    fn name(&mut self, name: &str) -> String {
        let place = format!("#{name}");
        self.names.insert(place.clone(), name.to_owned());
        place
    }

    fn value(&mut self, which: &str, name: &str, value: &AttributeValue) -> String {
        let place = format!(":{which}_{name}");
        self.values.insert(place.clone(), value.clone());
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{number, text};

    fn item(attributes: &[(&str, AttributeValue)]) -> Item {
        attributes.iter().cloned().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn what_differs_is_set_or_removed_and_the_basis_must_hold() {
        let before =
            item(&[("a", text("x")), ("b", text("y")), ("c", text("z")), ("revision", number(7_u64))]);
        let after =
            item(&[("b", text("Y")), ("c", text("z")), ("d", text("new")), ("revision", number(8_u64))]);
        let edit = Edit::between(&before, &after, &["revision", "schema"]).unwrap();
        assert_eq!(edit.update, "SET #b = :new_b, #d = :new_d, #revision = :new_revision REMOVE #a ");
        assert_eq!(edit.condition, "#revision = :old_revision AND attribute_not_exists(#schema)");
        let names: BTreeSet<_> = edit.names.values().map(String::as_str).collect();
        assert_eq!(names, BTreeSet::from(["a", "b", "d", "revision", "schema"]));
        assert_eq!(edit.values[":old_revision"], number(7_u64));
        assert_eq!(edit.values.len(), 4);
        assert_eq!(Edit::between(&before, &before, &["revision"]), None);
    }
}
