//! Inverted UUID: all events of a day in one partition, by UUIDv7 with every bit flipped.
//!
//! ```text
//! pk (N)  −(unix seconds of the day's start, at a fixed offset)    sk (S)  {inverted UUIDv7}
//! ```
//!
//! Strengths: newest first within the day, keys that never collide, an id that contains its time, and days that begin
//! in the business's time zone.
//!
//! Weaknesses: *a hot partition*: every write of the day goes to one partition. The negated partition key makes newer
//! days smaller, but that gives no order: Scan does *not* return partitions in key order, so newest first over days
//! needs the walk. The offset is fixed: with daylight saving time, the day is off by an hour for half of the year. Ids
//! of one millisecond are in the order of their random bits, unless the generator keeps a counter there.

use jiff::Timestamp;
use jiff::tz::Offset;
use uuid::{Uuid, Variant, Version};

use super::days::Day;
use super::ticks::{NANOS_PER_MILLI, ticks};
use super::{KeyType, KeyTypes, KeyValue, PublishedError, SortKeys, Window, WriteKey};
use lately_keys::{EventId, UnixMillis};

/// The key of an event.
///
/// ```
/// use jiff::tz::Offset;
/// use lately_designs::InvertedUuid;
///
/// let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
/// let key = InvertedUuid::new(id, Offset::UTC)?.write_key();
/// assert_eq!(key.pk.to_string(), "-1720742400");
/// assert_eq!(key.sk.to_string(), "fe6f5b32-2c18-8ddd-6066-0248b01118ad");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InvertedUuid {
    id: Uuid,
    offset: Offset,
}

impl InvertedUuid {
    /// The types of the key attributes.
    pub const KEY_TYPES: KeyTypes = KeyTypes { pk: KeyType::N, sk: KeyType::S };

    /// The key of the event with an id, for days that begin at midnight at an offset from UTC.
    ///
    /// # Errors
    /// [`PublishedError::Key`] if the id is not a UUIDv7; [`PublishedError::Range`] if its time has no date.
    pub fn new(id: Uuid, offset: Offset) -> Result<Self, PublishedError> {
        time_of_uuid(id).map(|_| Self { id, offset })
    }

    /// The key under which the event is written.
    pub fn write_key(&self) -> WriteKey {
        let at = time_of_uuid(self.id).expect("checked when the key was made");
        WriteKey {
            pk: partition(Day::containing(at, self.offset)),
            sk: KeyValue::S(invert(self.id).hyphenated().to_string()),
        }
    }

    /// The partitions with all events of a time range, oldest day first.
    pub fn partitions(
        first: Timestamp,
        last: Timestamp,
        offset: Offset,
    ) -> impl DoubleEndedIterator<Item = KeyValue> {
        Day::between(first, last, offset).map(partition)
    }

    /// The window of the day of a time.
    pub fn window(at: Timestamp, offset: Offset) -> Window {
        Day::containing(at, offset).window()
    }

    /// The sort keys of a time range.
    pub fn sort_keys(first: Timestamp, last: Timestamp) -> Option<SortKeys> {
        let (first, last) = ticks(first, last, NANOS_PER_MILLI)?;
        let millis = |millis: i64| UnixMillis::new(millis.unsigned_abs()).ok();
        let sk = |id: EventId| KeyValue::S(id.sort_key().to_string());
        Some(SortKeys {
            least: sk(EventId::last_of(millis(last)?)),
            greatest: sk(EventId::first_of(millis(first)?)),
        })
    }

    /// The time in a sort key.
    ///
    /// # Errors
    /// [`PublishedError::Key`] if the text is not an inverted UUIDv7.
    pub fn time_of(sk: &str) -> Result<Timestamp, PublishedError> {
        time_of_uuid(invert(parse(sk).ok_or(PublishedError::Key)?))
    }
}

const fn invert(uuid: Uuid) -> Uuid {
    Uuid::from_u128(!uuid.as_u128())
}

/// A UUID in its hyphenated form, which is the only one of this length.
fn parse(text: &str) -> Option<Uuid> {
    (text.len() == 36).then(|| Uuid::try_parse(text).ok()).flatten()
}

fn partition(day: Day) -> KeyValue {
    KeyValue::N(-day.unix_start())
}

fn time_of_uuid(id: Uuid) -> Result<Timestamp, PublishedError> {
    if id.get_version() != Some(Version::SortRand) || id.get_variant() != Variant::RFC4122 {
        return Err(PublishedError::Key);
    }
    let (high, _) = id.as_u64_pair();
    let millis = (high >> 16).cast_signed();
    Timestamp::from_millisecond(millis).map_err(|_| PublishedError::Range { until: "9999-12-30" })
}
