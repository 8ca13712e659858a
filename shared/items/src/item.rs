//! Items: attributes by their names, written and read as plain values.
//!
//! A reader names the type that an attribute must have. If the attribute is missing or has another type, the item is
//! [`Corrupt`]: another program wrote it, or it was damaged.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::{EventId, Key, Place, ShardCount, TableKey, UnixMillis};
use lately_model::{RetentionDays, Revision};

/// The attribute that holds an item's revision.
pub const REVISION: &str = "revision";

/// The attribute with the time at which an item expires, in unix seconds.
pub const EXPIRES_AT: &str = "expires_at";

/// The revision of an item.
///
/// # Errors
/// If the item has no revision.
pub fn revision_of(item: &Item) -> Result<Revision, Corrupt> {
    item.number(REVISION).map(Revision::new)
}

/// An item that does not have the form that its key promises.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{item} is corrupt: {what}")]
pub struct Corrupt {
    item: String,
    what: &'static str,
}

impl Corrupt {
    /// The error of an item of Lately's table. The error is logged, so it names the family of the item and not its key:
    /// keys hold names that clients sent.
    pub fn new(pk: &str, what: &'static str) -> Self {
        let family =
            pk.split('#').next().filter(|family| family.bytes().all(|byte| byte.is_ascii_uppercase()));
        Self { item: format!("an item of {}", family.unwrap_or("?")), what }
    }

    /// The error of an item of a table that an operator reads with a command. It names the item's key.
    pub fn named(key: impl Display, what: &'static str) -> Self {
        Self { item: format!("the item under {key}"), what }
    }
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub struct Value(AttributeValue);

impl Value {
    /// A set of texts, which must not be empty.
    pub fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(AttributeValue::Ss(texts.into_iter().map(Into::into).collect()))
    }

    /// A set of numbers, which must not be empty.
    pub fn numbers(numbers: impl IntoIterator<Item = impl Display>) -> Self {
        Self(AttributeValue::Ns(numbers.into_iter().map(|number| number.to_string()).collect()))
    }

    /// A list.
    pub fn list(values: impl IntoIterator<Item = impl Into<Self>>) -> Self {
        Self(AttributeValue::L(values.into_iter().map(|value| value.into().0).collect()))
    }

    /// Bytes.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(AttributeValue::B(Blob::new(bytes)))
    }

    /// Ids: 16 bytes each.
    pub fn ids(ids: &[EventId]) -> Self {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| id.as_uuid().into_bytes()).collect();
        Self::bytes(bytes)
    }

    /// The value in the SDK's form.
    pub fn into_attribute(self) -> AttributeValue {
        self.0
    }

    /// The text, if the value is a text.
    pub fn as_text(&self) -> Option<&str> {
        self.0.as_s().ok().map(String::as_str)
    }

    /// The digits of the number, if the value is a number.
    pub fn as_number(&self) -> Option<&str> {
        self.0.as_n().ok().map(String::as_str)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(AttributeValue::S(text.to_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self(AttributeValue::S(text))
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self(AttributeValue::Bool(flag))
    }
}

/// A map: an item within an item.
impl From<Item> for Value {
    fn from(map: Item) -> Self {
        Self(AttributeValue::M(map.0))
    }
}

impl From<AttributeValue> for Value {
    fn from(value: AttributeValue) -> Self {
        Self(value)
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Self(AttributeValue::N(number.to_string()))
            }
        })*
    };
}

numbers!(u8, u16, u32, u64, i64);

/// An item, or a part of one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item(HashMap<String, AttributeValue>);

impl Item {
    /// An item without attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// An item with the attributes of its key.
    pub fn at<K: TableKey>(key: &K) -> Self {
        Self::new().also_at(key)
    }

    /// An item with the attributes of its key in the table.
    pub fn under(key: Key) -> Self {
        Self::new().with_key(Place::Table, key)
    }

    /// The item with the attributes of one more key, in an index.
    pub fn also_at<K: TableKey>(self, key: &K) -> Self {
        self.with_key(K::PLACE, key.encode())
    }

    fn with_key(self, place: Place, Key { pk, sk }: Key) -> Self {
        self.with(place.pk(), pk).with(place.sk(), sk)
    }

    /// The item with one more attribute.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// The item with one more attribute, if there is a value.
    pub fn with_some(self, name: impl Into<String>, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The item with a flag. A flag that is not set is not stored.
    pub fn with_flag(self, name: &str, flag: bool) -> Self {
        self.with_some(name, flag.then_some(true))
    }

    /// Sets an attribute.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into().0);
    }

    /// Removes an attribute, and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).map(Value)
    }

    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.0.get(name).cloned().map(Value)
    }

    /// True if the attribute exists.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The names of the attributes, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The attributes in the SDK's form.
    pub fn into_attributes(self) -> HashMap<String, AttributeValue> {
        self.0
    }

    /// The attributes in the SDK's form.
    pub const fn attributes(&self) -> &HashMap<String, AttributeValue> {
        &self.0
    }

    /// The error that says that this item is corrupt.
    pub fn corrupt(&self, what: &'static str) -> Corrupt {
        let pk = self.0.get("pk").and_then(|pk| pk.as_s().ok()).map_or("?", String::as_str);
        Corrupt::new(pk, what)
    }

    /// The item's key in the table.
    ///
    /// # Errors
    /// If the key's attributes are missing, or no texts.
    pub fn key(&self) -> Result<Key, Corrupt> {
        Ok(Key { pk: self.text("pk")?.to_owned(), sk: self.text("sk")?.to_owned() })
    }

    /// The item's key, as a key of one family.
    ///
    /// # Errors
    /// If the key's attributes are missing, no texts, or not of that family.
    pub fn key_as<K: TableKey>(&self) -> Result<K, Corrupt> {
        let (pk, sk) = (K::PLACE.pk(), K::PLACE.sk());
        K::decode(self.text(pk)?, self.text(sk)?).ok_or_else(|| self.corrupt(sk))
    }

    /// True if a flag is set. A flag that is not stored is not set.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(AttributeValue::Bool(true)))
    }

    /// A text.
    ///
    /// # Errors
    /// If the attribute is missing, or of another type.
    pub fn text(&self, name: &'static str) -> Result<&str, Corrupt> {
        self.optional_text(name)?.ok_or_else(|| self.corrupt(name))
    }

    /// A text, if the attribute is there.
    ///
    /// # Errors
    /// If the attribute is of another type.
    pub fn optional_text(&self, name: &'static str) -> Result<Option<&str>, Corrupt> {
        self.typed(name, AttributeValue::as_s).map(|text| text.map(String::as_str))
    }

    /// A text, parsed.
    ///
    /// # Errors
    /// If the attribute is missing, of another type, or cannot be parsed.
    pub fn parsed<T: FromStr>(&self, name: &'static str) -> Result<T, Corrupt> {
        self.text(name)?.parse().map_err(|_| self.corrupt(name))
    }

    /// A text, parsed, if the attribute is there.
    ///
    /// # Errors
    /// If the attribute is of another type, or cannot be parsed.
    pub fn optional_parsed<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, Corrupt> {
        self.optional_text(name)?.map(str::parse).transpose().map_err(|_| self.corrupt(name))
    }

    /// A number.
    ///
    /// # Errors
    /// If the attribute is missing, of another type, or not a number of this kind.
    pub fn number<T: FromStr>(&self, name: &'static str) -> Result<T, Corrupt> {
        self.optional_number(name)?.ok_or_else(|| self.corrupt(name))
    }

    /// A number, if the attribute is there.
    ///
    /// # Errors
    /// If the attribute is of another type, or not a number of this kind.
    pub fn optional_number<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, Corrupt> {
        let number = self.typed(name, AttributeValue::as_n)?;
        number.map(|number| number.parse()).transpose().map_err(|_| self.corrupt(name))
    }

    /// A time in milliseconds.
    ///
    /// # Errors
    /// If the attribute is missing, no number, or no such time.
    pub fn millis(&self, name: &'static str) -> Result<UnixMillis, Corrupt> {
        UnixMillis::new(self.number(name)?).map_err(|_| self.corrupt(name))
    }

    /// A time in milliseconds that may be missing.
    ///
    /// # Errors
    /// If the attribute is of another type, or no such time.
    pub fn optional_millis(&self, name: &'static str) -> Result<Option<UnixMillis>, Corrupt> {
        self.has(name).then(|| self.millis(name)).transpose()
    }

    /// Bytes.
    ///
    /// # Errors
    /// If the attribute is missing, or of another type.
    pub fn bytes(&self, name: &'static str) -> Result<&[u8], Corrupt> {
        let bytes = self.typed(name, AttributeValue::as_b)?;
        bytes.map(AsRef::as_ref).ok_or_else(|| self.corrupt(name))
    }

    /// The ids that [`Value::ids`] wrote.
    ///
    /// # Errors
    /// If the attribute is missing, of another type, or not made of ids.
    pub fn ids(&self, name: &'static str) -> Result<Vec<EventId>, Corrupt> {
        let ids = self.bytes(name)?.chunks(16).map(EventId::from_slice).collect::<Option<_>>();
        ids.ok_or_else(|| self.corrupt(name))
    }

    /// The incarnation of the consumer that the item belongs to.
    ///
    /// # Errors
    /// If the attribute is missing, or no number.
    pub fn incarnation(&self) -> Result<Revision, Corrupt> {
        self.number("incarnation").map(Revision::new)
    }

    /// A number of shards.
    pub(crate) fn shard_count(&self, name: &'static str) -> Result<ShardCount, Corrupt> {
        ShardCount::new(self.number(name)?).map_err(|_| self.corrupt(name))
    }

    /// A retention, if there is one.
    pub(crate) fn retention_days(&self, name: &'static str) -> Result<Option<RetentionDays>, Corrupt> {
        let days = self.optional_number(name)?;
        days.map(RetentionDays::new).transpose().map_err(|_| self.corrupt(name))
    }

    /// True if the item has expired. TTL may not have removed it yet.
    ///
    /// # Errors
    /// If the expiry is no number.
    pub fn is_over(&self, now: UnixMillis) -> Result<bool, Corrupt> {
        let expires_at: Option<u64> = self.optional_number(EXPIRES_AT)?;
        Ok(expires_at.is_some_and(|seconds| seconds <= now.get() / 1000))
    }

    /// A set of texts, if the attribute is there.
    ///
    /// # Errors
    /// If the attribute is of another type.
    pub fn texts(&self, name: &'static str) -> Result<Option<&[String]>, Corrupt> {
        self.typed(name, AttributeValue::as_ss).map(|texts| texts.map(Vec::as_slice))
    }

    /// A set of numbers, parsed. An attribute that is missing is an empty set.
    ///
    /// # Errors
    /// If the attribute is of another type, or holds anything but numbers of this kind.
    pub fn numbers<T: FromStr, C: FromIterator<T>>(&self, name: &'static str) -> Result<C, Corrupt> {
        let numbers = self.typed(name, AttributeValue::as_ns)?.into_iter().flatten();
        numbers.map(|number| number.parse().map_err(|_| self.corrupt(name))).collect()
    }

    /// A list of numbers, parsed. An attribute that is missing is an empty list.
    ///
    /// # Errors
    /// If the attribute is of another type, or holds anything but numbers of this kind.
    pub fn number_list<T: FromStr>(&self, name: &'static str) -> Result<Vec<T>, Corrupt> {
        let number = |value: &AttributeValue| value.as_n().ok().and_then(|number| number.parse().ok());
        self.list(name, number)
    }

    /// A list of texts. An attribute that is missing is an empty list.
    ///
    /// # Errors
    /// If the attribute is of another type, or holds anything but texts.
    pub fn text_list(&self, name: &'static str) -> Result<Vec<&str>, Corrupt> {
        self.list(name, |value| value.as_s().ok().map(String::as_str))
    }

    /// A list of maps. An attribute that is missing is an empty list.
    ///
    /// # Errors
    /// If the attribute is of another type, or holds anything but maps.
    pub fn map_list(&self, name: &'static str) -> Result<Vec<Self>, Corrupt> {
        self.list(name, |value| value.as_m().ok().cloned().map(Self))
    }

    fn list<'a, T>(
        &'a self,
        name: &'static str,
        read: impl Fn(&'a AttributeValue) -> Option<T>,
    ) -> Result<Vec<T>, Corrupt> {
        let values = self.typed(name, AttributeValue::as_l)?.into_iter().flatten();
        values.map(|value| read(value).ok_or_else(|| self.corrupt(name))).collect()
    }

    fn typed<'a, T: ?Sized>(
        &'a self,
        name: &'static str,
        read: impl Fn(&'a AttributeValue) -> Result<&'a T, &'a AttributeValue>,
    ) -> Result<Option<&'a T>, Corrupt> {
        self.0.get(name).map(read).transpose().map_err(|_| self.corrupt(name))
    }

    /// The item's size as DynamoDB counts it, for attributes of the types that events and entries have.
    pub fn stored_bytes(&self) -> usize {
        let value_bytes = |value: &AttributeValue| match value {
            AttributeValue::S(text) => text.len(),
            AttributeValue::N(digits) => digits.len().div_ceil(2) + 1,
            _ => 1,
        };
        self.0.iter().map(|(name, value)| name.len() + value_bytes(value)).sum()
    }
}

impl From<HashMap<String, AttributeValue>> for Item {
    fn from(attributes: HashMap<String, AttributeValue>) -> Self {
        Self(attributes)
    }
}

/// An item with only its key in the table.
impl From<Key> for Item {
    fn from(key: Key) -> Self {
        Self::under(key)
    }
}

/// An item with these attributes.
impl<N: Into<String>, V: Into<Value>, const COUNT: usize> From<[(N, V); COUNT]> for Item {
    fn from(attributes: [(N, V); COUNT]) -> Self {
        attributes.into_iter().collect()
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Item {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(attributes: I) -> Self {
        Self(attributes.into_iter().map(|(name, value)| (name.into(), value.into().0)).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::{FeedEntryKey, SeenMarkKey};

    use super::*;

    #[test]
    fn the_error_of_a_corrupt_item_hides_names_in_its_key() {
        for (pk, family) in
            [("IDEMPOTENCY#user:ada#posts#secret", "IDEMPOTENCY"), ("TOPIC#posts", "TOPIC"), ("ada", "?")]
        {
            let error = Item::new().with("pk", pk).corrupt("ids");
            assert_eq!(error.to_string(), format!("an item of {family} is corrupt: ids"));
            assert!(!format!("{error:?}").contains("ada"));
        }
    }

    #[test]
    fn every_type_is_read_as_it_was_written() {
        let map = Item::new().with("n", 7_u8);
        let item = Item::new()
            .with("text", "a")
            .with("number", u64::MAX)
            .with("bytes", Value::bytes([1, 2]))
            .with("texts", Value::texts(["b", "c"]))
            .with("numbers", Value::numbers([3, 4]))
            .with("list", Value::list([5_u64, 6]))
            .with("maps", Value::list([map.clone()]))
            .with_flag("set", true)
            .with_flag("unset", false)
            .with_some("none", None::<u64>);
        assert_eq!((item.text("text"), item.number("number")), (Ok("a"), Ok(u64::MAX)));
        assert_eq!(item.bytes("bytes"), Ok(&[1, 2][..]));
        assert_eq!(item.texts("texts"), Ok(Some(&["b".to_owned(), "c".to_owned()][..])));
        assert_eq!(item.numbers("numbers"), Ok(vec![3, 4]));
        assert_eq!(item.number_list("list"), Ok(vec![5, 6]));
        assert_eq!(item.map_list("maps"), Ok(vec![map]));
        assert!(item.flag("set") && !item.has("unset") && !item.has("none"));
    }

    #[test]
    fn a_key_of_another_family_is_corrupt() {
        let key = FeedEntryKey {
            user: "bob".parse().unwrap(),
            id: "0190868b-57e7-7000-80c0-0dd011ec70b5".parse().unwrap(),
        };
        let item = Item::at(&key);
        assert_eq!(item.key_as(), Ok(key));
        assert_eq!(item.key_as::<SeenMarkKey>(), Err(item.corrupt("sk")));
        assert_eq!(Item::new().key_as::<SeenMarkKey>(), Err(Item::new().corrupt("pk")));
    }

    #[test]
    fn wrong_types_and_missing_required_attributes_are_corrupt() {
        let item = Item::new().with("a", "x");
        assert_eq!(item.number::<u64>("a"), Err(item.corrupt("a")));
        assert_eq!(item.number_list::<u64>("a"), Err(item.corrupt("a")));
        assert_eq!(item.optional_number::<u64>("a"), Err(item.corrupt("a")));
        assert_eq!(item.text("b"), Err(item.corrupt("b")));
        assert_eq!(item.optional_text("b"), Ok(None));
        assert_eq!(item.number_list::<u64>("b"), Ok(vec![]));
        assert_eq!(item.numbers::<u64, Vec<_>>("b"), Ok(vec![]));
    }
}
