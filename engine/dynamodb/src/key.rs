//! Key values as text.
//!
//! A key value's text is one letter for its type and then the value, so no two values share one:
//! `Sada`, `N42`, `B00ff`.

use dynoxide::actions::query::QueryRequest;
use dynoxide::types::normalize_dynamo_number;
use dynoxide::{AttributeValue, Item};

use crate::table::Table;

/// A key value's text. Values that cannot be keys have an empty one.
pub(crate) fn text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(s) => format!("S{s}"),
        AttributeValue::N(n) => format!("N{}", normalize_dynamo_number(n)),
        AttributeValue::B(bytes) => {
            use std::fmt::Write as _;
            bytes.iter().fold(String::from("B"), |mut text, byte| {
                write!(text, "{byte:02x}").expect("writing to a string does not fail");
                text
            })
        }
        _ => String::new(),
    }
}

/// An item of a table, named by the text of its key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ItemId {
    pub(crate) partition: String,
    pub(crate) sort: Option<String>,
}

impl ItemId {
    /// Before every other.
    pub(crate) const FIRST: Self = Self { partition: String::new(), sort: None };

    /// The id of an item or key. `None` when a key attribute is missing.
    pub(crate) fn of(table: &Table, item: &Item) -> Option<Self> {
        let sort = match &table.key.sort {
            Some(name) => Some(text(item.get(name)?)),
            None => None,
        };
        Some(Self { partition: table.partition_of(item)?, sort })
    }
}

/// The partition that a query reads, as its key's text: the value its key condition sets the partition
/// key equal to. `None` when the condition is not one this reads; dynoxide refuses what is malformed.
pub(crate) fn queried(table: &Table, query: &QueryRequest) -> Option<String> {
    let key = match &query.index_name {
        Some(index) => &table.index(index)?.key,
        None => &table.key,
    };
    let condition = query.key_condition_expression.as_deref()?;
    let names = query.expression_attribute_names.as_ref();
    let values = query.expression_attribute_values.as_ref()?;
    let tokens = condition.replace('=', " = ").replace(['(', ')'], " ");
    let tokens: Vec<&str> = tokens.split_whitespace().collect();
    tokens.windows(3).find_map(|window| {
        let [name, "=", value] = window else {
            return None;
        };
        let name = names.and_then(|n| n.get(*name)).map_or(*name, |n| n);
        (name == key.partition).then(|| values.get(*value).map(text))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_different_types_have_different_texts() {
        let values =
            [AttributeValue::S("1".into()), AttributeValue::N("1".into()), AttributeValue::B(b"1".to_vec())];
        let texts = values.map(|value| text(&value));
        assert_eq!(texts, ["S1", "N1", "B31"]);
    }

    #[test]
    fn equal_numbers_have_equal_texts() {
        let one = text(&AttributeValue::N("1.0".into()));
        assert_eq!(one, text(&AttributeValue::N("1".into())));
    }
}
