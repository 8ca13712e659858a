//! Items: attributes read as what they must be, or the item is corrupt.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::{Key, Place, UnixMillis};

pub(crate) type Item = HashMap<String, AttributeValue>;

/// An item that is not what its key says it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{item} is corrupt: {what}")]
pub struct Corrupt {
    item: String,
    what: &'static str,
}

impl Corrupt {
    /// An item of Lately's table. The error is logged, so it has the family of the item and not its key: keys hold names
    /// that clients sent.
    pub(crate) fn new(pk: &str, what: &'static str) -> Self {
        let family =
            pk.split('#').next().filter(|family| family.bytes().all(|byte| byte.is_ascii_uppercase()));
        Self { item: format!("an item of {}", family.unwrap_or("?")), what }
    }

    /// An item of a table that an operator reads with a command, which names the item.
    pub(crate) fn named(key: impl Display, what: &'static str) -> Self {
        Self { item: format!("the item under {key}"), what }
    }
}

/// An item with its key's attributes.
pub(crate) fn keyed(place: Place, key: Key) -> Item {
    HashMap::from([(place.pk().to_owned(), text(key.pk)), (place.sk().to_owned(), text(key.sk))])
}

pub(crate) fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub(crate) fn number(value: impl Into<u64>) -> AttributeValue {
    AttributeValue::N(value.into().to_string())
}

/// An item being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a Item);

impl<'a> Fields<'a> {
    pub(crate) fn corrupt(self, what: &'static str) -> Corrupt {
        let pk = self.0.get("pk").and_then(|pk| pk.as_s().ok()).map_or("?", String::as_str);
        Corrupt::new(pk, what)
    }

    /// The item's key in the table.
    pub(crate) fn key(self) -> Result<Key, Corrupt> {
        Ok(Key { pk: self.text("pk")?.to_owned(), sk: self.text("sk")?.to_owned() })
    }

    /// A flag that is set; absent means not.
    pub(crate) fn flag(self, name: &str) -> bool {
        matches!(self.0.get(name), Some(AttributeValue::Bool(true)))
    }

    pub(crate) fn text(self, name: &'static str) -> Result<&'a str, Corrupt> {
        self.optional_text(name)?.ok_or_else(|| self.corrupt(name))
    }

    pub(crate) fn optional_text(self, name: &'static str) -> Result<Option<&'a str>, Corrupt> {
        let value = self.0.get(name).map(AttributeValue::as_s).transpose();
        Ok(value.map_err(|_| self.corrupt(name))?.map(String::as_str))
    }

    pub(crate) fn parsed<T: FromStr>(self, name: &'static str) -> Result<T, Corrupt> {
        self.text(name)?.parse().map_err(|_| self.corrupt(name))
    }

    pub(crate) fn optional_parsed<T: FromStr>(self, name: &'static str) -> Result<Option<T>, Corrupt> {
        self.optional_text(name)?.map(str::parse).transpose().map_err(|_| self.corrupt(name))
    }

    pub(crate) fn number<T: FromStr>(self, name: &'static str) -> Result<T, Corrupt> {
        self.optional_number(name)?.ok_or_else(|| self.corrupt(name))
    }

    pub(crate) fn optional_number<T: FromStr>(self, name: &'static str) -> Result<Option<T>, Corrupt> {
        let value = self.0.get(name).map(AttributeValue::as_n).transpose();
        let number = value.map_err(|_| self.corrupt(name))?;
        number.map(|number| number.parse()).transpose().map_err(|_| self.corrupt(name))
    }

    /// A time in milliseconds.
    pub(crate) fn millis(self, name: &'static str) -> Result<UnixMillis, Corrupt> {
        UnixMillis::new(self.number(name)?).map_err(|_| self.corrupt(name))
    }

    pub(crate) fn bytes(self, name: &'static str) -> Result<&'a [u8], Corrupt> {
        let value = self.0.get(name).and_then(|value| value.as_b().ok());
        value.map(AsRef::as_ref).ok_or_else(|| self.corrupt(name))
    }

    pub(crate) fn texts(self, name: &'static str) -> Result<Option<&'a [String]>, Corrupt> {
        let value = self.0.get(name).map(AttributeValue::as_ss).transpose();
        Ok(value.map_err(|_| self.corrupt(name))?.map(Vec::as_slice))
    }

    /// A list; absent means an empty one.
    pub(crate) fn list(self, name: &'static str) -> Result<&'a [AttributeValue], Corrupt> {
        let value = self.0.get(name).map(AttributeValue::as_l).transpose();
        Ok(value.map_err(|_| self.corrupt(name))?.map(Vec::as_slice).unwrap_or_default())
    }

    pub(crate) fn numbers(self, name: &'static str) -> Result<Option<&'a [String]>, Corrupt> {
        let value = self.0.get(name).map(AttributeValue::as_ns).transpose();
        Ok(value.map_err(|_| self.corrupt(name))?.map(Vec::as_slice))
    }

    /// The item's size as DynamoDB counts it, for attributes of the types that events and entries have.
    pub(crate) fn stored_bytes(self) -> usize {
        let value_bytes = |value: &AttributeValue| match value {
            AttributeValue::S(text) => text.len(),
            AttributeValue::N(digits) => digits.len().div_ceil(2) + 1,
            _ => 1,
        };
        self.0.iter().map(|(name, value)| name.len() + value_bytes(value)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrupt_item_is_told_without_the_names_in_its_key() {
        for (pk, family) in
            [("IDEMPOTENCY#user:ada#posts#secret", "IDEMPOTENCY"), ("TOPIC#posts", "TOPIC"), ("ada", "?")]
        {
            let item = Item::from([("pk".to_owned(), text(pk))]);
            let told = Fields(&item).corrupt("ids").to_string();
            assert_eq!(told, format!("an item of {family} is corrupt: ids"));
            assert!(!format!("{:?}", Fields(&item).corrupt("ids")).contains("ada"));
        }
    }
}
