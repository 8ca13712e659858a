//! Cursors: the positions from which walks through timelines and lists continue.
//!
//! ```text
//!   1 byte   version (1)
//!   1 byte   direction: 0 newest first, 1 oldest first
//!   8 bytes  fingerprint of the query
//!   1 byte   kind of position
//!   n bytes  position: an id, a name, a number
//!   4 bytes  checksum: the first of SHA-256 over all before
//! ```
//!
//! The text is base64url without padding: 42 characters for a position in a timeline, never more than 256.
//!
//! All sources of a page share one total order, so one position resumes all of them, whatever the number of shards is
//! by then. The server stores nothing and nothing expires. A cursor grants nothing: the request that carries it must be
//! authorised. The checksum detects accidents (a cut or mistyped cursor), and the fingerprint detects use with another
//! query. Neither protects against malice.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::fingerprint::Fingerprint;
use crate::id::EventId;
use crate::issue::IssueNumber;
use crate::limits::{CURSOR_TEXT_BYTES, NAME_BYTES, SOURCE_BYTES};
use crate::name::{Topic, User};
use crate::public_id::{ErasureId, SessionId};
use crate::shard::Shard;
use crate::source::Source;
use crate::time::Order;

const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 4;
const HEAD_BYTES: usize = 1 + 1 + Fingerprint::BYTES + 1;
const BYTES_MAX: usize = HEAD_BYTES + SOURCE_BYTES + CHECKSUM_BYTES;

const _: () = {
    assert!(SOURCE_BYTES > NAME_BYTES, "a source is the longest position");
    assert!(BYTES_MAX.div_ceil(3) * 4 <= CURSOR_TEXT_BYTES);
};

/// A position in a walk, for one query and one direction.
///
/// ```
/// use lately_keys::{Cursor, CursorError, Fingerprint, Order, Position};
///
/// let query = Fingerprint::of("topic events").text("posts").finish();
/// let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
/// let cursor = Cursor { query, order: Order::NewestFirst, position: Position::Event(id) };
///
/// let text = cursor.to_string();
/// assert_eq!(Cursor::decode(&text, query), Ok(cursor));
///
/// let other = Fingerprint::of("topic events").text("billing").finish();
/// assert_eq!(Cursor::decode(&text, other), Err(CursorError::Foreign));
/// assert!(matches!(Cursor::decode("nonsense", query), Err(CursorError::Malformed(_))));
/// # Ok::<(), lately_keys::IdError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The query that the cursor belongs to.
    pub query: Fingerprint,
    /// The direction of the walk.
    pub order: Order,
    /// The walk continues just after this position, in its order.
    pub position: Position,
}

/// The last returned entry. The walk continues after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// No entry was returned yet: the walk is at its start.
    Start,
    /// An event in a timeline, or the end of a report run.
    Event(EventId),
    /// A topic in the list of topics.
    Topic(Topic),
    /// A source in the list of a user's followed sources.
    Source(Source),
    /// A user in one shard of a source's followers.
    Follower(Shard, User),
    /// An issue in a list of issues.
    Issue(IssueNumber),
    /// A session in a list of sessions.
    Session(SessionId),
    /// An erasure in the list of erasures.
    Erasure(ErasureId),
}

/// The reason why a cursor was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// The text is not a cursor, or only part of one.
    #[error("cursor: {0}; send a cursor as a response returned it")]
    Malformed(Malformed),
    /// The cursor belongs to another query.
    #[error("cursor: belongs to another query; send it with the query that returned it")]
    Foreign,
}

/// The reason why a text is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The text is longer than any cursor.
    #[error("is longer than {CURSOR_TEXT_BYTES} characters")]
    TooLong,
    /// The text is not base64url without padding.
    #[error("is not base64url without padding")]
    Encoding,
    /// The text is shorter than any cursor.
    #[error("is too short")]
    TooShort,
    /// The checksum is wrong: the text was damaged.
    #[error("has a wrong checksum")]
    Checksum,
    /// A release with another layout made the cursor.
    #[error("has an unknown version")]
    Version,
    /// The cursor is well-formed, but its position is not valid.
    #[error("has no valid position")]
    Position,
}

impl Cursor {
    /// Decodes a cursor that a client sent with a query. The cursor of a subject that was deleted and created again since
    /// becomes one at the start: nothing of the new subject was returned yet.
    ///
    /// # Errors
    /// [`CursorError::Malformed`] if the text is not a cursor; [`CursorError::Foreign`] if it is a cursor of another
    /// query.
    pub fn decode(text: &str, query: Fingerprint) -> Result<Self, CursorError> {
        let cursor = Self::parse(text).map_err(CursorError::Malformed)?;
        match cursor.query {
            known if known == query => Ok(cursor),
            known if known.differs_in_creation(&query) => {
                Ok(Self { query, position: Position::Start, ..cursor })
            }
            _ => Err(CursorError::Foreign),
        }
    }

    fn parse(text: &str) -> Result<Self, Malformed> {
        if text.len() > CURSOR_TEXT_BYTES {
            return Err(Malformed::TooLong);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| Malformed::Encoding)?;
        let (body, check) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(Malformed::TooShort)?;
        let Some((&[version, order, ref rest @ ..], position)) = body.split_first_chunk::<HEAD_BYTES>()
        else {
            return Err(Malformed::TooShort);
        };
        if *check != checksum(body) {
            return Err(Malformed::Checksum);
        }
        if version != VERSION {
            return Err(Malformed::Version);
        }
        let [query @ .., kind] = *rest;
        let order = Order::ALL.get(usize::from(order)).copied();
        Ok(Self {
            query: Fingerprint::from_bytes(query),
            order: order.ok_or(Malformed::Position)?,
            position: Position::decode(kind, position).ok_or(Malformed::Position)?,
        })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut bytes = Vec::with_capacity(BYTES_MAX);
        let (kind, position) = self.position.encode();
        bytes.extend([VERSION, u8::from(self.order == Order::OldestFirst)]);
        bytes.extend(self.query.as_bytes());
        bytes.push(kind);
        bytes.extend(position);
        bytes.extend(checksum(&bytes));
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

impl Position {
    /// The position's kind, and its bytes.
    fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Start => (0, Vec::new()),
            Self::Event(id) => (1, id.as_uuid().as_bytes().to_vec()),
            Self::Topic(topic) => (2, topic.as_str().into()),
            Self::Source(source) => (3, source.to_string().into()),
            Self::Follower(shard, user) => (4, [&[shard.get()], user.as_str().as_bytes()].concat()),
            Self::Issue(number) => (5, number.get().to_be_bytes().to_vec()),
            Self::Session(id) => (6, id.as_bytes().to_vec()),
            Self::Erasure(id) => (7, id.as_bytes().to_vec()),
        }
    }

    fn decode(kind: u8, bytes: &[u8]) -> Option<Self> {
        Some(match kind {
            0 => bytes.is_empty().then_some(Self::Start)?,
            1 => Self::Event(EventId::from_slice(bytes)?),
            2 => Self::Topic(parse(bytes)?),
            3 => Self::Source(parse(bytes)?),
            4 => {
                let (&shard, user) = bytes.split_first()?;
                Self::Follower(shard.into(), parse(user)?)
            }
            5 => Self::Issue(u32::from_be_bytes(bytes.try_into().ok()?).try_into().ok()?),
            6 => Self::Session(SessionId::from_slice(bytes)?),
            7 => Self::Erasure(ErasureId::from_slice(bytes)?),
            _ => return None,
        })
    }
}

/// Declares the types of the positions of walks and lists: each is in one kind of position.
macro_rules! position_types {
    ($($type:ty = $kind:ident($($value:ident),*);)*) => {$(
        impl TryFrom<Position> for $type {
            type Error = CursorError;

            fn try_from(position: Position) -> Result<Self, CursorError> {
                match position {
                    Position::$kind($($value),*) => Ok(($($value),*)),
                    _ => Err(CursorError::Foreign),
                }
            }
        }
    )*};
}

position_types! {
    EventId = Event(id);
    Topic = Topic(topic);
    Source = Source(source);
    (Shard, User) = Follower(shard, user);
    IssueNumber = Issue(number);
    SessionId = Session(id);
    ErasureId = Erasure(id);
}

fn parse<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    str::from_utf8(bytes).ok()?.parse().ok()
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let [a, b, c, d, ..] = Sha256::digest(bytes).0;
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary;
    use proptest::prelude::*;

    fn position() -> impl Strategy<Value = Position> {
        prop_oneof![
            Just(Position::Start),
            arbitrary::id().prop_map(Position::Event),
            arbitrary::topic().prop_map(Position::Topic),
            arbitrary::source().prop_map(Position::Source),
            (arbitrary::shard(), arbitrary::user()).prop_map(|(shard, user)| Position::Follower(shard, user)),
            (1..=99_999_999_u32).prop_map(|number| Position::Issue(number.try_into().unwrap())),
            arbitrary::session_id().prop_map(Position::Session),
            arbitrary::id().prop_map(|id| Position::Erasure(ErasureId::new(id.at(), 7))),
        ]
    }

    fn cursor() -> impl Strategy<Value = Cursor> {
        let order = prop_oneof![Just(Order::NewestFirst), Just(Order::OldestFirst)];
        (any::<[u8; 8]>(), order, position()).prop_map(|(query, order, position)| Cursor {
            query: Fingerprint::from_bytes(query),
            order,
            position,
        })
    }

    /// Any bytes as a cursor's text, with the right checksum.
    fn seal(body: &[u8]) -> String {
        let mut bytes = body.to_vec();
        bytes.extend(checksum(body));
        URL_SAFE_NO_PAD.encode(bytes)
    }

    #[test]
    fn golden_bytes() {
        let query = Fingerprint::of("topic events").text("posts").finish();
        let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752";
        let bob = "bob".parse().unwrap();
        for (position, text) in [
            (Position::Event(id.parse().unwrap()), "AQCvuF7EkKclBgEBkKTN0-dyIp-Z_bdP7udSwdW7QQ"),
            (Position::Topic("posts".parse().unwrap()), "AQCvuF7EkKclBgJwb3N0c5FiG3o"),
            (Position::Source("actor:ada".parse().unwrap()), "AQCvuF7EkKclBgNhY3RvcjphZGFroziK"),
            (Position::Follower(7.into(), bob), "AQCvuF7EkKclBgQHYm9iG7WBtw"),
            (Position::Issue(42.try_into().unwrap()), "AQCvuF7EkKclBgUAAAAqiVIYzg"),
            (Position::Session(id.parse().unwrap()), "AQCvuF7EkKclBgYBkKTN0-dyIp-Z_bdP7udS6_IhjA"),
        ] {
            assert_eq!(Cursor { query, order: Order::NewestFirst, position }.to_string(), text);
        }
        let start = Cursor { query, order: Order::OldestFirst, position: Position::Start };
        assert_eq!(start.to_string(), "AQGvuF7EkKclBgDfLKL0");
    }

    #[test]
    fn every_malformation_has_its_own_error() {
        let query = Fingerprint::from_bytes([7; 8]);
        let fault = |text: &str| match Cursor::decode(text, query) {
            Err(CursorError::Malformed(fault)) => Some(fault),
            _ => None,
        };
        let head = |version, order, kind| [&[version, order][..], &[7; 8], &[kind]].concat();
        assert!(Cursor::decode(&seal(&head(1, 0, 0)), query).is_ok());
        assert_eq!(fault(&"A".repeat(257)), Some(Malformed::TooLong));
        assert_eq!(fault("***"), Some(Malformed::Encoding));
        assert_eq!(fault("AQ=="), Some(Malformed::Encoding));
        assert_eq!(fault(""), Some(Malformed::TooShort));
        assert_eq!(fault("AQID"), Some(Malformed::TooShort));
        assert_eq!(fault(&seal(&[1, 0, 7])), Some(Malformed::TooShort));
        assert_eq!(fault(&URL_SAFE_NO_PAD.encode([1; 40])), Some(Malformed::Checksum));
        assert_eq!(fault(&seal(&head(2, 0, 0))), Some(Malformed::Version));
        assert_eq!(fault(&seal(&head(1, 2, 0))), Some(Malformed::Position));
        assert_eq!(fault(&seal(&head(1, 0, 6))), Some(Malformed::Position));
        let positioned = |kind, position: &[u8]| seal(&[&head(1, 0, kind), position].concat());
        assert_eq!(fault(&positioned(0, b"x")), Some(Malformed::Position));
        assert_eq!(fault(&positioned(1, &[0xff; 16])), Some(Malformed::Position));
        assert_eq!(fault(&positioned(1, &[0; 15])), Some(Malformed::Position));
        assert_eq!(fault(&positioned(2, b"a#b")), Some(Malformed::Position));
        assert_eq!(fault(&positioned(2, &[0xc3, 0x28])), Some(Malformed::Position));
        assert_eq!(fault(&positioned(4, b"")), Some(Malformed::Position));
        assert_eq!(fault(&positioned(5, &[0; 4])), Some(Malformed::Position));
    }

    #[test]
    fn a_cursor_of_an_earlier_subject_of_the_name_is_at_the_start() {
        let posts = Fingerprint::of("topic events").text("posts").finish();
        let created = |millis| posts.created_at(crate::UnixMillis::new(millis).unwrap());
        let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap();
        let cursor = Cursor { query: created(1), order: Order::OldestFirst, position: Position::Event(id) };
        assert_eq!(Cursor::decode(&cursor.to_string(), created(1)), Ok(cursor.clone()));
        let again = Cursor { query: created(2), position: Position::Start, ..cursor.clone() };
        assert_eq!(Cursor::decode(&cursor.to_string(), created(2)), Ok(again));
    }

    proptest! {
        #[test]
        fn every_cursor_round_trips_within_the_cap(cursor in cursor()) {
            let text = cursor.to_string();
            prop_assert!(text.len() <= CURSOR_TEXT_BYTES);
            prop_assert_eq!(Cursor::decode(&text, cursor.query), Ok(cursor));
        }

        #[test]
        fn a_cursor_of_another_query_is_foreign(cursor in cursor(), other: [u8; 8]) {
            let other = Fingerprint::from_bytes(other);
            prop_assume!(other != cursor.query);
            prop_assert_eq!(Cursor::decode(&cursor.to_string(), other), Err(CursorError::Foreign));
        }

        #[test]
        fn a_changed_or_cut_cursor_is_malformed(cursor in cursor(), at: prop::sample::Index, to in "[A-Za-z0-9_-]") {
            let text = cursor.to_string();
            let at = at.index(text.len());
            let mut changed = text.clone();
            changed.replace_range(at..=at, &to);
            prop_assume!(changed != text);
            for text in [&changed, &text[..at]] {
                prop_assert!(matches!(Cursor::decode(text, cursor.query), Err(CursorError::Malformed(_))));
            }
        }

        #[test]
        fn any_bytes_are_a_cursor_or_an_error(
            text in "\\PC{0,300}",
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            kind in 0..7_u8,
        ) {
            let head = [&[1, 0][..], &[7; 8], &[kind], &bytes].concat();
            for text in [text, URL_SAFE_NO_PAD.encode(&bytes), seal(&bytes), seal(&head)] {
                if let Ok(cursor) = Cursor::parse(&text) {
                    prop_assert_eq!(cursor.to_string(), text);
                }
            }
        }
    }
}
