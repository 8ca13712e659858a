//! A key of any family.

use lately_keys::{Key, Place, TableKey};

use crate::*;

macro_rules! any_key {
    ($($family:ident($type:ident),)*) => {
        /// A key of any of the table's families, for readers of stream records and of mixed partitions.
        ///
        /// ```
        /// use lately_items::{AnyKey, SeenMarkKey};
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
        pub(crate) fn claims(pk: &str, sk: &str) -> usize {
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
    ChangeNote(ChangeNoteKey),
    Begun(BegunKey),
    CleanupStep(CleanupStepKey),
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
    ReportedLate(ReportedLateKey),
    Announcement(AnnouncementKey),
    LateLog(LateLogKey),
    LateBatch(LateBatchKey),
    Watch(WatchKey),
    EndingMark(EndingMarkKey),
    EndingStep(EndingStepKey),
    ErasureStep(ErasureStepKey),
    ErasedPage(ErasedPageKey),
    ErasureEntry(ErasureEntryKey),
    LateNote(LateNoteKey),
}
