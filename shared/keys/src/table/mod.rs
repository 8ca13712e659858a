//! All keys of the table, one file per family.
//!
//! The table has the keys `pk` and `sk` and two indexes, `gsi1` and `gsi2`. Each file here draws its layout, encodes it
//! and decodes it. No other code composes key text. The whole table:
//!
//! | item | pk | sk | also in |
//! | --- | --- | --- | --- |
//! | [`TopicKey`] | `TOPIC#{topic}` | `CONFIG` | [`TopicListKey`] |
//! | [`DirectoryKey`] | `TOPIC#{topic}` | `BUCKET#{label}` | |
//! | [`EventKey`] | `EVENTS#{topic}#{label}#SHARD{n}` | inverted id | [`TypeViewKey`] |
//! | [`SourceEntryKey`] | `SOURCE#{source}`, busy times also `SOURCE#{source}#SHARD{n}` | inverted id | |
//! | [`SourceItemKey`] | `SOURCE#{source}` | `#SOURCE` | |
//! | [`IdempotencyItemKey`] | `IDEMPOTENCY#{caller}#{topic}#{key}` | same | |
//! | [`DeletedEventKey`] | `DELETED#{topic}#{id}` | same | |
//! | [`FeedEntryKey`] | `FEED#{user}` | inverted id | |
//! | [`PullMarkerKey`] | `FEED#{user}` | `#PULL#{source}` | |
//! | [`SeenMarkKey`] | `FEED#{user}` | `#SEEN` | |
//! | [`FollowKey`] | `USER#{user}` | `FOLLOWS#{source}` | |
//! | [`FollowerKey`] | `FOLLOWERS#{source}#{n}` | `{user}` | |
//! | [`FollowerCountKey`] | `FOLLOWERS#{source}#{n}` | `#COUNT` | |
//! | [`LeaverKey`] | `FOLLOWERS#{source}#{n}` | `#LEFT#{time}#{user}` | |
//! | [`JobKey`] | `JOB#{task}#{id}#{source}#{n}` | `{page}` | |
//! | [`BegunKey`] | `JOB#{task}#{id}#{source}#{n}` | `{page}#BEGUN` | |
//! | [`BacklogKey`] | `JOB#BACKLOG#SOURCE#{source}`, `JOB#BACKLOG#FEED#{user}` | id | |
//! | [`ProfileKey`] | `USER#{user}` | `PROFILE` | |
//! | [`SettingsKey`] | `SETTINGS#{app}` | same | |
//! | [`SessionKey`] | `SESSION#{token hash}` | same | [`SessionListKey`] |
//! | [`SessionNameKey`] | `SESSION#{id}` | same | |
//! | [`UserSessionKey`] | `SESSIONS#{user}` | `{id}` | |
//! | [`QuotaKey`] | `QUOTA#{holder}#{kind}` | `{minute}` | |
//! | [`IssuerKeysKey`] | `JWKS#{issuer}` | same | |
//! | [`RepositoryKey`] | `REPO#{owner}#{repo}` | `REPO` | |
//! | [`IssueKey`] | `REPO#{owner}#{repo}` | `ISSUE#{8 digits}` | [`IssueStatusKey`], [`IssuePriorityKey`] |
//! | [`ConsumerKey`] | `CONSUMER#{topic}#{name}` | `CHECKPOINT` | |
//! | [`RunKey`] | `CONSUMER#{topic}#{name}` | `RUN#{to}` | |
//! | [`LatePageKey`] | `CONSUMER#{topic}#{name}` | `LATE#{to}#{8 digits}` | |
//! | [`AnnouncementKey`] | `ANNOUNCED#{topic}` | `{name}` | |
//! | [`LateEventKey`] | `LATE#{topic}#{name}#{0..15}` | id | |
//! | [`WatchKey`] | `ANNOUNCED#{topic}`, `LIVE#SOURCE#{source}`, `LIVE#FEED#{user}` | `#WATCH` | |
//! | [`EndingMarkKey`] | `ANNOUNCED#{topic}` | `#DELETION`, `#RETENTION` | |
//! | [`EndingStepKey`] | `JOB#DELETION#{topic}`, `JOB#RETENTION#{topic}` | `STEP` | |
//! | [`ErasureStepKey`] | `JOB#ERASURE#{erasure}` | `STEP` | |
//! | [`ErasedPageKey`] | `JOB#ERASURE#{erasure}` | `IDS#{8 digits}` | |
//! | [`ErasureEntryKey`] | `ERASURES` | `{erasure}` | |
//! | [`LateNoteKey`] | `LIVE#TOPIC#{topic}`, `LIVE#SOURCE#{source}`, `LIVE#FEED#{user}` | id | |
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
mod idempotency;
mod issue;
mod issuer;
mod job;
mod late;
mod late_page;
mod live;
mod profile;
mod quota;
mod repository;
mod run;
mod session;
mod settings;
mod source;
mod topic;

#[cfg(test)]
mod tests;

pub use announcement::AnnouncementKey;
pub use backlog::{Backlog, BacklogKey};
pub use consumer::ConsumerKey;
pub use deleted::DeletedEventKey;
pub use directory::DirectoryKey;
pub use ending::{Ending, EndingMarkKey, EndingStepKey};
pub use erasure::{
    ErasedNames, ErasedNamesError, ErasedPageKey, ErasureEntryKey, ErasureId, ErasureIdError, ErasureStepKey,
};
pub use event::{EventKey, EventPartition, TypeViewKey, TypeViewPartition};
pub use feed::{FeedEntryKey, PullMarkerKey, SeenMarkKey};
pub use follow::FollowKey;
pub use follower::{FollowerCountKey, FollowerKey, LeaverKey};
pub use idempotency::{IdempotencyItemKey, IdempotencyKey, IdempotencyKeyError};
pub use issue::{
    IssueKey, IssueNumber, IssueNumberError, IssuePriority, IssuePriorityKey, IssueStatus, IssueStatusKey,
    UnknownPriority, UnknownStatus,
};
pub use issuer::IssuerKeysKey;
pub use job::{BegunKey, Job, JobKey, JobPage, JobTask};
pub use late::LateEventKey;
pub use late_page::LatePageKey;
pub use live::{LateNoteKey, Timeline, WatchKey};
pub use profile::ProfileKey;
pub use quota::{QuotaHolder, QuotaKey, QuotaKind};
pub use repository::RepositoryKey;
pub use run::RunKey;
pub use session::{
    SessionId, SessionIdError, SessionKey, SessionListKey, SessionNameKey, TokenHash, UserSessionKey,
};
pub use settings::SettingsKey;
pub use source::{SourceEntryKey, SourceItemKey, SourcePartition};
pub use topic::{TopicKey, TopicListKey};

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
