//! Items: attributes by their names.
//!
//! A reader names the type that an attribute must have (`attribute.rs`). If the attribute is missing or has another form,
//! the item is [`Corrupt`]: another program wrote it, or it was damaged.

use std::collections::HashMap;
use std::fmt::Display;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::{EventId, Key, Place, TableKey, UnixMillis};

use crate::attribute::{Attribute, Value};

/// The attribute that holds an item's revision.
pub const REVISION: &str = "revision";

/// The attribute that holds the incarnation of the consumer that an item belongs to.
pub const INCARNATION: &str = "incarnation";

/// The attribute that holds the second in which an item expires. DynamoDB deletes it some time later.
pub const EXPIRES_AT: &str = "expires_at";

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

    /// The same error, with the item's key.
    pub(crate) fn under(self, key: &Key) -> Self {
        Self::named(format!("{} / {}", key.pk, key.sk), self.what)
    }
}

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

    /// An item that only says that something holds until it expires, in unix seconds.
    pub fn mark<K: TableKey>(key: &K, expires_at: u64) -> Self {
        Self::at(key).with(EXPIRES_AT, expires_at)
    }

    /// The item with the attributes of one more key, in an index.
    pub fn also_at<K: TableKey>(self, key: &K) -> Self {
        self.with_key(K::PLACE, key.encode())
    }

    fn with_key(self, place: Place, Key { pk, sk }: Key) -> Self {
        let [pk_name, sk_name] = place.attributes();
        self.with(pk_name, pk).with(sk_name, sk)
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
        self.0.insert(name.into(), value.into().into_attribute());
    }

    /// Removes an attribute, and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).map(Value)
    }

    /// The value of an attribute, whatever its type.
    pub fn value(&self, name: &str) -> Option<Value> {
        self.0.get(name).cloned().map(Value)
    }

    /// The value of an attribute.
    ///
    /// # Errors
    /// If the attribute is missing, or has another form.
    pub fn get<T: Attribute>(&self, name: &'static str) -> Result<T, Corrupt> {
        self.optional(name)?.ok_or_else(|| self.corrupt(name))
    }

    /// The value of an attribute, if the attribute is there.
    ///
    /// # Errors
    /// If the attribute has another form.
    pub fn optional<T: Attribute>(&self, name: &'static str) -> Result<Option<T>, Corrupt> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        T::read(value).map(Some).ok_or_else(|| self.corrupt(name))
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
        let [pk, sk] = K::PLACE.attributes();
        K::decode(self.text(pk)?, self.text(sk)?).ok_or_else(|| self.corrupt(sk))
    }

    /// True if a flag is set. A flag that is not stored is not set.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(AttributeValue::Bool(true)))
    }

    /// A text, not copied.
    ///
    /// # Errors
    /// If the attribute is missing, or of another type.
    pub fn text(&self, name: &'static str) -> Result<&str, Corrupt> {
        let text = self.0.get(name).and_then(|value| value.as_s().ok());
        text.map(String::as_str).ok_or_else(|| self.corrupt(name))
    }

    /// True if the item has expired. TTL may not have removed it yet.
    ///
    /// # Errors
    /// If the expiry is no number.
    pub fn is_over(&self, now: UnixMillis) -> Result<bool, Corrupt> {
        let expires_at: Option<u64> = self.optional(EXPIRES_AT)?;
        Ok(expires_at.is_some_and(|seconds| seconds <= now.get() / 1000))
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

/// The id of an item of a timeline, whose sort key is the inverted id.
///
/// # Errors
/// If the sort key is another.
pub fn id_of_sort_key(item: &Item) -> Result<EventId, Corrupt> {
    EventId::of_sort_key(item.text("sk")?).ok_or_else(|| item.corrupt("sk"))
}

impl From<HashMap<String, AttributeValue>> for Item {
    fn from(attributes: HashMap<String, AttributeValue>) -> Self {
        Self(attributes)
    }
}

/// An item with these attributes.
impl<N: Into<String>, V: Into<Value>, const COUNT: usize> From<[(N, V); COUNT]> for Item {
    fn from(attributes: [(N, V); COUNT]) -> Self {
        attributes.into_iter().fold(Self::new(), |item, (name, value)| item.with(name, value))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lately_keys::{EventType, Shard};

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
        assert_eq!((item.text("text"), item.get("number")), (Ok("a"), Ok(u64::MAX)));
        assert_eq!(item.get("bytes"), Ok(vec![1_u8, 2]));
        assert_eq!(
            item.get("texts"),
            Ok(BTreeSet::from(["b", "c"].map(|text| text.parse::<EventType>().unwrap())))
        );
        assert_eq!(item.get("numbers"), Ok(BTreeSet::from([3, 4].map(Shard::from))));
        assert_eq!(item.get("list"), Ok(vec![5_u64, 6]));
        assert_eq!(item.value("maps"), Some(Value::list([map])));
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
        assert_eq!(item.get::<u64>("a"), Err(item.corrupt("a")));
        assert_eq!(item.get::<Vec<u64>>("a"), Err(item.corrupt("a")));
        assert_eq!(item.optional::<u64>("a"), Err(item.corrupt("a")));
        assert_eq!(item.text("b"), Err(item.corrupt("b")));
        assert_eq!(item.optional::<String>("b"), Ok(None));
    }
}
