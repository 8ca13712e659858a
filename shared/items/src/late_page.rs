//! A page of the late events that a report run reports. The pages are fixed before the run reports their events.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  LATE#{id of the run's end}#{page, 8 digits}
//! ```
//!
//! It shares a partition with the run ([`RunKey`](crate::RunKey)). Pages sort by number, so one query reads a run's
//! whole list.

use lately_keys::EventId;
use lately_keys::limits::LATE_PAGE;

use crate::ConsumerKey;
use crate::form::EightDigits;
use crate::key::key;

key! {
    /// The item that holds a page of a run's late events.
    pub struct LatePageKey {
        consumer: ConsumerKey,
        to: EventId,
        page: u32 as EightDigits,
    }
    Table: pk "{consumer}" sk "LATE#{to}#{page}"
    const PREFIX
}

impl LatePageKey {
    /// The key of a page of the run that ends at `to`; `None` above page 99,999,999.
    pub fn new(consumer: ConsumerKey, to: EventId, page: u32) -> Option<Self> {
        (page <= LATE_PAGE).then_some(Self { consumer, to, page })
    }

    /// The prefix of one run's pages' sort keys.
    pub fn prefix_of(to: EventId) -> String {
        format!("LATE#{to}#")
    }

    /// The page's number, counted from 0.
    pub const fn page(&self) -> u32 {
        self.page
    }
}
