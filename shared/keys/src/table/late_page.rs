//! A page of the late events that a report run reports. The pages are fixed before the run reports their events.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  LATE#{id of the run's end}#{page, 8 digits}
//! ```
//!
//! It shares a partition with the run ([`RunKey`](super::RunKey)). Pages sort by number, so one query reads a run's
//! whole list.

use super::ConsumerKey;
use crate::id::EventId;
use crate::key::{Key, Place, TableKey};
use crate::limits::LATE_PAGE;
use crate::text::{canonical, eight_digits, segments};

/// The item that holds a page of a run's late events.
///
/// ```
/// use lately_keys::TableKey;
/// use lately_keys::table::{ConsumerKey, LatePageKey};
///
/// let consumer = ConsumerKey { topic: "billing".parse()?, name: "nightly".parse()? };
/// let to = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
/// let key = LatePageKey::new(consumer, to, 12).expect("pages have eight digits").encode();
/// assert_eq!(key.pk, "CONSUMER#billing#nightly");
/// assert_eq!(key.sk, "LATE#0190a4cd-d3e7-7222-9f99-fdb74feee752#00000012");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LatePageKey {
    consumer: ConsumerKey,
    to: EventId,
    page: u32,
}

impl LatePageKey {
    /// The prefix of all pages' sort keys. The partition is the consumer's text.
    pub const PREFIX: &str = "LATE#";

    /// The key of a page of the run that ends at `to`; `None` above page 99,999,999.
    pub fn new(consumer: ConsumerKey, to: EventId, page: u32) -> Option<Self> {
        (page <= LATE_PAGE).then_some(Self { consumer, to, page })
    }

    /// The prefix of one run's pages' sort keys.
    pub fn prefix_of(to: EventId) -> String {
        format!("{}{to}#", Self::PREFIX)
    }

    /// The page's number, counted from 0.
    pub const fn page(&self) -> u32 {
        self.page
    }
}

impl TableKey for LatePageKey {
    const PLACE: Place = Place::Table;

    fn encode(&self) -> Key {
        let sk = format!("{}{:08}", Self::prefix_of(self.to), self.page);
        Key { pk: self.consumer.to_string(), sk }
    }

    fn decode(pk: &str, sk: &str) -> Option<Self> {
        let ["LATE", to, page] = segments(sk)? else { return None };
        Self::new(ConsumerKey::parse(pk)?, canonical(to)?, eight_digits(page)?)
    }
}
