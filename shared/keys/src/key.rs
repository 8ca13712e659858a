//! What a key is: the texts of a partition key and a sort key, and the attributes that hold them.

/// A key as DynamoDB stores it: two texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The partition key.
    pub pk: String,
    /// The sort key.
    pub sk: String,
}

impl Key {
    /// A key whose partition holds one item: the same text twice.
    pub(crate) fn same(text: String) -> Self {
        Self { pk: text.clone(), sk: text }
    }
}

/// Where a key is looked up: in the table or in one of its indexes.
///
/// ```
/// use lately_keys::Place;
///
/// assert_eq!((Place::Gsi1.index(), Place::Gsi1.pk()), (Some("gsi1"), "gsi1pk"));
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
    #[must_use]
    pub const fn index(self) -> Option<&'static str> {
        match self {
            Self::Table => None,
            Self::Gsi1 => Some("gsi1"),
            Self::Gsi2 => Some("gsi2"),
        }
    }

    /// The attribute that holds the partition key.
    #[must_use]
    pub const fn pk(self) -> &'static str {
        match self {
            Self::Table => "pk",
            Self::Gsi1 => "gsi1pk",
            Self::Gsi2 => "gsi2pk",
        }
    }

    /// The attribute that holds the sort key.
    #[must_use]
    pub const fn sk(self) -> &'static str {
        match self {
            Self::Table => "sk",
            Self::Gsi1 => "gsi1sk",
            Self::Gsi2 => "gsi2sk",
        }
    }
}

/// One row of the table's design: a kind of key with its layout.
///
/// Encoding is total, decoding is its exact inverse: text that decodes encodes to the same text, and text
/// of one family is refused by every other of the same place.
pub trait TableKey: Sized {
    /// Where keys of this family are looked up.
    const PLACE: Place;

    /// The key's two texts.
    fn encode(&self) -> Key;

    /// Reads the two texts back; `None` if they are not of this family.
    ///
    /// A stranger's key is no error here: whoever reads a stream or a mixed partition asks each family in
    /// turn ([`AnyKey`](crate::table::AnyKey)), and whoever knows the family decides what a `None` means.
    fn decode(pk: &str, sk: &str) -> Option<Self>;
}
