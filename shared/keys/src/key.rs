//! Keys: the texts of a partition key and a sort key, and the attributes that hold them.

/// A key as DynamoDB stores it: two texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The partition key.
    pub pk: String,
    /// The sort key.
    pub sk: String,
}

/// The place of a key: the table or one of its indexes.
///
/// ```
/// use lately_keys::Place;
///
/// assert_eq!(Place::Gsi1.index(), Some("gsi1"));
/// assert_eq!(Place::Gsi1.attributes(), ["gsi1pk", "gsi1sk"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The table itself.
    Table,
    /// The first index.
    Gsi1,
    /// The second index.
    Gsi2,
}

impl Place {
    /// The index's name; `None` for the table.
    pub const fn index(self) -> Option<&'static str> {
        match self {
            Self::Table => None,
            Self::Gsi1 => Some("gsi1"),
            Self::Gsi2 => Some("gsi2"),
        }
    }

    /// The attributes that hold the partition key and the sort key.
    pub const fn attributes(self) -> [&'static str; 2] {
        match self {
            Self::Table => ["pk", "sk"],
            Self::Gsi1 => ["gsi1pk", "gsi1sk"],
            Self::Gsi2 => ["gsi2pk", "gsi2sk"],
        }
    }
}

/// A kind of key with its layout: one row of the table's design.
///
/// Encoding never fails, and decoding is its exact inverse: text that decodes encodes to the same text. Each family
/// refuses the texts of all other families in the same place.
pub trait TableKey: Sized {
    /// The place of the keys of this family.
    const PLACE: Place;

    /// The key's two texts.
    fn encode(&self) -> Key;

    /// Decodes the two texts; `None` if they are not a key of this family.
    ///
    /// A key of another family is not an error. A reader of a stream or of a mixed partition tries each family in turn
    /// (`AnyKey` of `lately-items`). A reader that expects this family decides what `None` means.
    fn decode(pk: &str, sk: &str) -> Option<Self>;
}
