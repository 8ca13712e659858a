//! A page of the late events that a report run reports. The pages are fixed before the run reports their events.
//!
//! ```text
//! table   pk  CONSUMER#{topic}#{name}    sk  LATE#{id of the run's end}#{page, 8 digits}
//!   incarnation N, ids B? (16 bytes each), last BOOL? (this is the last page)
//! ```
//!
//! It shares a partition with the run ([`RunKey`](crate::RunKey)). Pages sort by number, so one query reads a run's
//! whole list.

use lately_keys::EventId;
use lately_keys::limits::LATE_PAGE;
use lately_model::Revision;

use crate::ConsumerKey;
use crate::form::EightDigits;
use crate::item::{INCARNATION, Item};
use crate::key::key;
use crate::record::{Record, record};

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
}

record! {
    /// A page of a run's late events.
    pub struct LatePage {
        /// The page's number, counted from 0.
        pub page: u32 = of_key,
        /// The late events.
        pub ids: Vec<EventId> = list("ids"),
        /// True if no page comes after it.
        pub last: bool = flag("last"),
    }
    key LatePageKey { page, .. }
}

impl LatePageKey {
    /// The item of a page.
    pub fn item(&self, incarnation: Revision, ids: &[EventId], last: bool) -> Item {
        let page = LatePage { page: self.page, ids: ids.to_vec(), last };
        page.add_to(Item::at(self)).with(INCARNATION, &incarnation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Value;

    #[test]
    fn golden_bytes() {
        let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752";
        let consumer = ConsumerKey { topic: "billing".parse().unwrap(), name: "nightly".parse().unwrap() };
        let key = |page| LatePageKey::new(consumer.clone(), id.parse().unwrap(), page).unwrap();
        let stored = |page: &str| {
            Item::from([("pk", "CONSUMER#billing#nightly"), ("sk", format!("LATE#{id}#{page}").as_str())])
                .with("incarnation", 7_u64)
        };
        let bytes =
            [0x01, 0x90, 0xa4, 0xcd, 0xd3, 0xe7, 0x72, 0x22, 0x9f, 0x99, 0xfd, 0xb7, 0x4f, 0xee, 0xe7, 0x52];
        let full = stored("00000003").with("ids", Value::bytes(bytes));
        let ids = vec![id.parse().unwrap()];
        assert_eq!(key(3).item(Revision::new(7), &ids, false), full);
        assert_eq!(LatePage::decode(&full), Ok(LatePage { page: 3, ids, last: false }));
        let last = stored("00000000").with("last", true);
        assert_eq!(key(0).item(Revision::new(7), &[], true), last);
        assert_eq!(LatePage::decode(&last), Ok(LatePage { page: 0, ids: vec![], last: true }));
    }
}
