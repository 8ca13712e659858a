//! All keys of the table, one file per family.
//!
//! The table has the keys `pk` and `sk` and two indexes, `gsi1` and `gsi2`. Each file here draws the layout of its items
//! and declares their keys. No other code composes key text. `ARCHITECTURE.md` draws the whole table.
//!
//! ```
//! use lately_keys::table::{AnyKey, EventKey};
//! use lately_keys::{BucketWidth, TableKey};
//!
//! let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
//! let key = EventKey::new("posts".parse()?, BucketWidth::Day, id);
//! let text = key.encode();
//! assert_eq!(text.pk, "EVENTS#posts#2024-07-12#SHARD126");
//! assert_eq!(text.sk, "fe6f5b32-2c18-8ddd-6066-0248b01118ad");
//! assert_eq!(AnyKey::decode(&text.pk, &text.sk), Some(AnyKey::Event(key)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod announcement;
mod backlog;
mod consumer;
mod declare;
mod deleted;
mod directory;
mod ending;
mod erasure;
mod event;
mod feed;
mod follow;
mod follower;
mod form;
mod idempotency;
mod issue;
mod issuer;
mod job;
mod late;
mod late_page;
mod live;
mod profile;
mod public_id;
mod quota;
mod repository;
mod run;
mod session;
mod settings;
mod source;
mod topic;

#[cfg(test)]
mod tests;

pub use self::{
    announcement::*, backlog::*, consumer::*, deleted::*, directory::*, ending::*, erasure::*, event::*,
    feed::*, follow::*, follower::*, idempotency::*, issue::*, issuer::*, job::*, late::*, late_page::*,
    live::*, profile::*, quota::*, repository::*, run::*, session::*, settings::*, source::*, topic::*,
};

use crate::key::{Key, Place, TableKey};

macro_rules! any_key {
    ($($family:ident($type:ident),)*) => {
        /// A key of any of the table's families, for readers of stream records and of mixed partitions.
        ///
        /// ```
        /// use lately_keys::table::{AnyKey, SeenMarkKey};
        ///
        /// let mark = SeenMarkKey { user: "ada".parse()? };
        /// assert_eq!(AnyKey::decode("FEED#ada", "#SEEN"), Some(AnyKey::SeenMark(mark)));
        /// assert_eq!(AnyKey::decode("FEED#ada", "#WHAT"), None);
        /// # Ok::<(), lately_keys::NameError>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each variant is the family of its name")]
        pub enum AnyKey {
            $($family($type),)*
        }

        impl AnyKey {
            /// Decodes two texts; `None` if they are not a key of any family.
            pub fn decode(pk: &str, sk: &str) -> Option<Self> {
                $(if let Some(key) = $type::decode(pk, sk) {
                    return Some(Self::$family(key));
                })*
                None
            }

            /// The key's two texts.
            pub fn encode(&self) -> Key {
                match self {
                    $(Self::$family(key) => key.encode(),)*
                }
            }
        }

        $(
            const _: () = assert!(matches!($type::PLACE, Place::Table));

            impl From<$type> for AnyKey {
                fn from(key: $type) -> Self {
                    Self::$family(key)
                }
            }
        )*

        /// The number of families that accept two texts: never more than one.
        #[cfg(test)]
        fn claims(pk: &str, sk: &str) -> usize {
            [$($type::decode(pk, sk).is_some()),*].into_iter().filter(|claimed| *claimed).count()
        }
    };
}

// The most frequent families come first, because stream records' keys are tried in this order.
any_key! {
    Event(EventKey),
    FeedEntry(FeedEntryKey),
    SourceEntry(SourceEntryKey),
    Directory(DirectoryKey),
    Job(JobKey),
    Backlog(BacklogKey),
    Begun(BegunKey),
    Follow(FollowKey),
    Follower(FollowerKey),
    FollowerCount(FollowerCountKey),
    Leaver(LeaverKey),
    Topic(TopicKey),
    SourceItem(SourceItemKey),
    PullMarker(PullMarkerKey),
    SeenMark(SeenMarkKey),
    Idempotency(IdempotencyItemKey),
    DeletedEvent(DeletedEventKey),
    Profile(ProfileKey),
    Settings(SettingsKey),
    Session(SessionKey),
    SessionName(SessionNameKey),
    UserSession(UserSessionKey),
    Quota(QuotaKey),
    IssuerKeys(IssuerKeysKey),
    Repository(RepositoryKey),
    Issue(IssueKey),
    Consumer(ConsumerKey),
    Run(RunKey),
    LatePage(LatePageKey),
    Announcement(AnnouncementKey),
    LateEvent(LateEventKey),
    Watch(WatchKey),
    EndingMark(EndingMarkKey),
    EndingStep(EndingStepKey),
    ErasureStep(ErasureStepKey),
    ErasedPage(ErasedPageKey),
    ErasureEntry(ErasureEntryKey),
    LateNote(LateNoteKey),
}
