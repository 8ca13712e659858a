//! Tests of all families: golden bytes, round trips, and that no two families accept the same text.

use std::collections::BTreeMap;
use std::fmt::Debug;

use aws_sdk_dynamodb::primitives::Blob;
use proptest::prelude::*;

use crate::any_key::claims;
use crate::attribute::AttributeValue;
use crate::*;
use lately_keys::limits::SORT_KEY_BYTES;
use lately_keys::{
    Actor, Bucket, BucketWidth, Caller, ErasureId, EventId, IssueNumber, IssuePriority, IssueStatus, Key,
    QuotaKind, SessionId, Shard, Source, Subject, TableKey, Tick, Topic, UnixMillis, User,
};

use self::arbitrary::{NAME, bucket_width, id, matching, session_id, shard, source, topic, user};

#[expect(dead_code, reason = "the tests of `lately-keys` use the other strategies")]
#[path = "../../keys/src/tests/arbitrary.rs"]
mod arbitrary;

pub(crate) const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";
pub(crate) const INVERTED: &str = "fe6f5b32-2c18-8ddd-6066-0248b01118ad";

impl Value {
    /// A set of texts.
    pub(crate) fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(AttributeValue::Ss(texts.into_iter().map(Into::into).collect()))
    }

    /// A list.
    pub(crate) fn list(values: impl IntoIterator<Item = impl Into<Self>>) -> Self {
        Self(AttributeValue::L(values.into_iter().map(|value| value.into().0).collect()))
    }

    /// Bytes.
    pub(crate) fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(AttributeValue::B(Blob::new(bytes)))
    }
}

pub(crate) fn millis(millis: u64) -> UnixMillis {
    UnixMillis::new(millis).unwrap()
}

pub(crate) fn nightly() -> ConsumerKey {
    ConsumerKey { topic: parse("billing"), name: parse("nightly") }
}

fn parse<T: std::str::FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

/// Asserts that a key encodes to the stored bytes and decodes from them.
#[track_caller]
fn assert_golden<K: TableKey + PartialEq + Debug>(key: &K, pk: &str, sk: &str) {
    assert_eq!(key.encode(), Key { pk: pk.to_owned(), sk: sk.to_owned() });
    assert_eq!(K::decode(pk, sk).as_ref(), Some(key));
}

/// The other keys have their golden bytes in the tests of their items.
#[test]
fn golden_bytes_of_keys() {
    let (posts, ada, hello) =
        (|| parse("posts"), || parse::<Source>("actor:ada"), || parse("subject:repo:octo:hello"));
    for (who, key) in [("user:ada", "try #1 of 2"), (&*format!("session:{ID}"), "k")] {
        let text = format!("IDEMPOTENCY#{who}#posts#{key}");
        let key = IdempotencyItemKey { caller: parse(who), topic: posts(), key: parse(key) };
        assert_golden(&key, &text, &text);
    }
    let text = format!("DELETED#posts#{ID}");
    assert_golden(&DeletedEventKey { topic: posts(), id: parse(ID) }, &text, &text);
    let entry = SourceEntryKey { source: ada(), shard: 7.into(), id: parse(ID) };
    assert_golden(&entry, "SOURCE#actor:ada#SHARD7", INVERTED);
    assert_golden(&SourceItemKey { source: hello() }, "SOURCE#subject:repo:octo:hello", "#SOURCE");
    let words = [
        (JobTask::Push, "PUSH"),
        (JobTask::Remove, "REMOVE"),
        (JobTask::Restamp, "RESTAMP"),
        (JobTask::Promote, "PROMOTE"),
        (JobTask::Backfill, "BACKFILL"),
    ];
    for (task, word) in words {
        let job = Job { task, id: parse(ID), source: hello(), shard: 12.into() };
        let pk = format!("JOB#{word}#{ID}#subject:repo:octo:hello#12");
        let begun = BegunKey { job: job.clone(), page: 34 };
        assert_golden(&begun, &pk, "00000034#BEGUN");
        assert_golden(&JobKey { job, page: 34 }, &pk, "00000034");
    }
    assert_golden(&CleanupStepKey { user: parse("bob") }, "JOB#CLEANUP#bob", "STEP");
    let backlog = BacklogKey { backlog: Backlog::Feed(parse("bob")), id: parse(ID) };
    assert_golden(&backlog, "JOB#BACKLOG#FEED#bob", ID);
    assert_golden(&SettingsKey { app: parse("web") }, "SETTINGS#web", "SETTINGS#web");
    let quota = |holder, kind| QuotaKey { holder, kind, number: 28_679_656 };
    let text = format!("QUOTA#session:{ID}#reads");
    assert_golden(&quota(QuotaHolder::Session(parse(ID)), QuotaKind::Reads), &text, "28679656");
    let jwt = QuotaHolder::of_jwt(parse("ada"), "https://id.example.org/");
    assert_golden(&quota(jwt, QuotaKind::Writes), "QUOTA#jwt:ada:186e76cdbab655e3#writes", "28679656");
    for (uri, text) in
        [(None, "JWKS#0d25de92fa638ba2"), (Some("https://id.example.org/keys"), "JWKS#5c89c6c695d9f637")]
    {
        assert_golden(&IssuerKeysKey::of("https://id.example.org/", uri), text, text);
    }
    let repository = || RepositoryKey { owner: parse("octo"), repo: parse("hello") };
    assert_golden(&repository(), "REPO#octo#hello", "REPO");
    let number = IssueNumber::try_from(42).unwrap();
    let closed = IssueStatusKey { repository: repository(), status: IssueStatus::Closed, number };
    assert_golden(&closed, "REPO#octo#hello", "ISSUE#CLOSED#00000042");
    for (priority, word) in [(IssuePriority::Medium, "MEDIUM"), (IssuePriority::Low, "LOW")] {
        let key = IssuePriorityKey { repository: repository(), priority, number };
        assert_golden(&key, "REPO#octo#hello", &format!("PRIORITY#{word}#00000042"));
    }
    for (timeline, text) in [
        (Timeline::Source(hello()), "LIVE#SOURCE#subject:repo:octo:hello"),
        (Timeline::Feed(parse("bob")), "LIVE#FEED#bob"),
    ] {
        assert_golden(&WatchKey { timeline: timeline.clone() }, text, "#WATCH");
        assert_golden(&LateNoteKey { timeline, id: parse(ID) }, text, ID);
    }
    assert_eq!(AnyKey::decode("LIVE#TOPIC#posts", "#WATCH"), None);
    let page = ErasedPageKey { erasure: parse(ID), page: 12 };
    assert_golden(&page, &format!("JOB#ERASURE#{ID}"), "IDS#00000012");
}

#[test]
fn public_ids_sort_by_the_time_of_their_creation() {
    let at: UnixMillis = parse("2026-11-20T09:30:00Z");
    let later = millis(at.get() + 1);
    assert_eq!(SessionId::new(at, 7).made_at(), Some(at));
    assert!(SessionId::new(at, u128::MAX) < SessionId::new(later, 0));
    assert!(ErasureId::new(at, u128::MAX) < ErasureId::new(later, 0));
    assert!(ID.to_uppercase().parse::<SessionId>().is_err());
    assert!(ID.to_uppercase().parse::<ErasureId>().is_err());
}

#[test]
fn queries_use_the_texts_of_the_keys() {
    let source: Source = parse("actor:ada");
    let entry = FeedEntryKey { user: parse("bob"), id: parse(ID) }.encode();
    assert_eq!(FeedEntryKey::partition(&parse("bob")), entry.pk);
    assert_eq!(FollowerKey::partition(&source, 7.into()), "FOLLOWERS#actor:ada#7");
    assert_eq!(
        (PullMarkerKey::PREFIX, LeaverKey::PREFIX, ReportedLateKey::PREFIX),
        ("#PULL#", "#LEFT#", "LATE#")
    );
    assert_eq!(RunKey::sort_key(parse(ID)), format!("RUN#{ID}"));
    let number = IssueNumber::try_from(42).unwrap();
    assert_eq!(IssueStatusKey::sort_key(IssueStatus::Open, number), "ISSUE#OPEN#00000042");
    let leaver = LeaverKey { source, shard: 7.into(), at: parse("2024-07-12T10:16:15Z"), user: parse("bob") };
    assert!(leaver.encode().sk.starts_with(&LeaverKey::since(leaver.at)));
    let page = ReportedLateKey { consumer: nightly(), covering: parse(ID), to: EventId::MAX, page: 7 };
    assert!(page.encode().sk.starts_with(&ReportedLateKey::prefix_of(parse(ID))));
}

#[test]
fn every_item_of_a_late_log_lies_in_a_listed_partition() {
    let topic: Topic = parse("billing");
    let listed: Vec<_> = (0..LATE_SLOTS).map(|slot| LateBatchKey::partition(&topic, slot)).collect();
    assert_eq!((&*listed[0], &*listed[15]), ("LATE#billing#0", "LATE#billing#15"));
    for number in 0..100 {
        assert!(listed.contains(&LateBatchKey::new(topic.clone(), number).encode().pk));
    }
}

#[test]
fn a_second_text_for_the_same_key_is_refused() {
    for (pk, sk) in [
        ("EVENTS#posts#2024-07-12#SHARD0126", INVERTED),
        ("EVENTS#posts#2024-07-12#SHARD+126", INVERTED),
        ("EVENTS#posts#2024-07-12#SHARD126", "FE6F5B32-2C18-8DDD-6066-0248B01118AD"),
        ("FOLLOWERS#actor:ada#07", "bob"),
        ("FOLLOWERS#actor:ada#7", "#LEFT#2024-07-12T10:16:15.079+00:00#bob"),
        ("FOLLOWERS#actor:ada#7", "#LEFT#2024-07-12T10:16:15Z#bob"),
        ("REPO#octo#hello", "ISSUE#42"),
        ("REPO#octo#hello", "ISSUE#000000042"),
        ("REPO#octo#hello", "ISSUE#+0000042"),
        ("REPO#octo#hello", "ISSUE#00000000"),
        ("CONSUMER#billing#nightly", "RUN#0190A4CD-D3E7-7222-9F99-FDB74FEEE752"),
        (
            "DELETED#posts#0190A4CD-D3E7-7222-9F99-FDB74FEEE752",
            "DELETED#posts#0190A4CD-D3E7-7222-9F99-FDB74FEEE752",
        ),
        ("SOURCE#actor:ada#SHARD0", INVERTED),
        ("SOURCE#actor:ada#SHARD07", INVERTED),
        ("SOURCE#actor:ada#SHARD7", "#SOURCE"),
        ("QUOTA#jwt:ada:186E76CDBAB655E3#reads", "28679656"),
        ("QUOTA#jwt:ada:86e76cdbab655e3#reads", "28679656"),
        ("QUOTA#jwt:ada:186e76cdbab655e3#reads", "028679656"),
        ("FEED#bob", "#actor:ada"),
        ("USER#bob", "actor:ada"),
        ("TOPIC#posts", "2024-07-12"),
        ("CONSUMER#billing#nightly", ID),
        ("LATE#billing#3", "35"),
        ("LATE#billing#03", "000000000035"),
        ("JOB#push#0190a4cd-d3e7-7222-9f99-fdb74feee752#actor:ada#0", "00000000"),
    ] {
        assert_eq!(AnyKey::decode(pk, sk), None, "{pk} {sk}");
    }
}

#[test]
fn an_event_in_the_wrong_partition_is_refused() {
    for pk in [
        "EVENTS#posts#2024-07-11#SHARD126",
        "EVENTS#posts#2024-07-12#SHARD125",
        "EVENTS#posts#2024-06#SHARD126",
    ] {
        assert_eq!(EventKey::decode(pk, INVERTED), None, "{pk}");
    }
    assert_eq!(LateBatchKey::decode("LATE#billing#3", "000000000036"), None);
    assert_eq!(SettingsKey::decode("SETTINGS#web", "SETTINGS#app"), None);
}

#[test]
fn the_longest_keys_fit_dynamodb() {
    let (name, part) = ("n".repeat(128), "p".repeat(60));
    let source: Source = parse(&format!("subject:{name}"));
    let event = EventKey::new(parse(&name), BucketWidth::QuarterHour, parse(ID));
    let consumer = || ConsumerKey { topic: parse(&name), name: parse(&name) };
    let job = Job { task: JobTask::Promote, id: parse(ID), source: source.clone(), shard: 255.into() };
    let keys = [
        TypeViewKey::new(&event, parse(&"t".repeat(64))).encode(),
        event.encode(),
        IdempotencyItemKey {
            caller: parse(&format!("user:{name}")),
            topic: parse(&name),
            key: parse(&"k".repeat(128)),
        }
        .encode(),
        FollowKey { user: parse(&name), source: source.clone() }.encode(),
        FollowerKey { source: source.clone(), shard: 255.into(), user: parse(&name) }.encode(),
        LeaverKey { source, shard: 255.into(), at: UnixMillis::MAX, user: parse(&name) }.encode(),
        JobKey { job, page: 0 }.encode(),
        RunKey { consumer: consumer(), to: parse(ID) }.encode(),
        ReportedLateKey { consumer: consumer(), covering: parse(ID), to: parse(ID), page: 0 }.encode(),
        LateBatchKey::new(parse(&name), 35).encode(),
        LateNoteKey { timeline: Timeline::Source(parse(&format!("subject:{name}"))), id: parse(ID) }.encode(),
        RepositoryKey { owner: parse(&part), repo: parse(&part) }.encode(),
        QuotaKey { holder: QuotaHolder::of_jwt(parse(&name), ""), kind: QuotaKind::Writes, number: u64::MAX }
            .encode(),
    ];
    for Key { pk, sk } in keys {
        assert!(pk.len() <= SORT_KEY_BYTES && sk.len() <= SORT_KEY_BYTES, "{pk} {sk}");
    }
}

fn event() -> impl Strategy<Value = EventKey> {
    (topic(), bucket_width(), id()).prop_map(|(topic, width, id)| EventKey::new(topic, width, id))
}

fn repository() -> impl Strategy<Value = RepositoryKey> {
    const NAME: &str = "[A-Za-z0-9][A-Za-z0-9._@-]{0,59}";
    (matching(NAME), matching(NAME)).prop_map(|(owner, repo)| RepositoryKey { owner, repo })
}

fn issue_number() -> impl Strategy<Value = IssueNumber> {
    (1..=99_999_999_u32).prop_map(|number| number.try_into().unwrap())
}

fn consumer_key() -> impl Strategy<Value = ConsumerKey> {
    (topic(), matching(NAME)).prop_map(|(topic, name)| ConsumerKey { topic, name })
}

fn timeline() -> impl Strategy<Value = Timeline> {
    prop_oneof![
        topic().prop_map(Timeline::Topic),
        source().prop_map(Timeline::Source),
        user().prop_map(Timeline::Feed),
    ]
}

fn erasure() -> impl Strategy<Value = ErasureId> {
    (id(), any::<u128>()).prop_map(|(id, entropy)| ErasureId::new(id.at(), entropy))
}

fn job() -> impl Strategy<Value = JobKey> {
    let task = prop::sample::select(JobTask::ALL.to_vec());
    (task, id(), source(), shard(), 0..=99_999_999_u32)
        .prop_map(|(task, id, source, shard, page)| JobKey { job: Job { task, id, source, shard }, page })
}

fn quota_kind() -> impl Strategy<Value = QuotaKind> {
    prop::sample::select(QuotaKind::ALL.to_vec())
}

/// A key of any of the table's families.
fn any_key() -> impl Strategy<Value = AnyKey> {
    let caller = prop_oneof![user().prop_map(Caller::User), session_id().prop_map(Caller::Session)];
    let idempotency = (caller, topic(), "[ -~]{1,128}").prop_map(|(caller, topic, key)| {
        IdempotencyItemKey { caller, topic, key: key.parse().unwrap() }.into()
    });
    let directory = (topic(), arbitrary::bucket());
    prop_oneof![
        event().prop_map(AnyKey::from),
        topic().prop_map(|topic| TopicKey { topic }.into()),
        directory.prop_map(|(topic, bucket)| DirectoryKey { topic, bucket }.into()),
        (source(), shard(), id()).prop_map(|(source, shard, id)| SourceEntryKey { source, shard, id }.into()),
        source().prop_map(|source| SourceItemKey { source }.into()),
        idempotency,
        (topic(), id()).prop_map(|(topic, id)| DeletedEventKey { topic, id }.into()),
        (user(), id()).prop_map(|(user, id)| FeedEntryKey { user, id }.into()),
        (user(), source()).prop_map(|(user, source)| PullMarkerKey { user, source }.into()),
        user().prop_map(|user| SeenMarkKey { user }.into()),
        (user(), source()).prop_map(|(user, source)| FollowKey { user, source }.into()),
        (source(), shard(), user())
            .prop_map(|(source, shard, user)| FollowerKey { source, shard, user }.into()),
        (source(), shard()).prop_map(|(source, shard)| FollowerCountKey { source, shard }.into()),
        (source(), shard(), id(), user()).prop_map(|(source, shard, id, user)| LeaverKey {
            source,
            shard,
            at: id.at(),
            user
        }
        .into()),
        job().prop_map(AnyKey::from),
        job().prop_map(|JobKey { job, page }| BegunKey { job, page }.into()),
        (source(), id()).prop_map(|(source, id)| BacklogKey { backlog: Backlog::Source(source), id }.into()),
        (user(), id()).prop_map(|(user, id)| BacklogKey { backlog: Backlog::Feed(user), id }.into()),
        id().prop_map(|id| ChangeNoteKey { id }.into()),
        user().prop_map(|user| ProfileKey { user }.into()),
        matching(NAME).prop_map(|app| SettingsKey { app }.into()),
        any::<[u8; 32]>().prop_map(|hash| SessionKey { hash: hash.into() }.into()),
        session_id().prop_map(|id| SessionNameKey { id }.into()),
        (user(), session_id()).prop_map(|(user, id)| UserSessionKey { user, id }.into()),
        (user(), "\\PC{0,20}", quota_kind(), any::<u64>()).prop_map(|(user, issuer, kind, number)| {
            QuotaKey { holder: QuotaHolder::of_jwt(user, &issuer), kind, number }.into()
        }),
        (session_id(), quota_kind(), any::<u64>()).prop_map(|(id, kind, number)| QuotaKey {
            holder: QuotaHolder::Session(id),
            kind,
            number,
        }
        .into()),
        ("\\PC{0,20}", proptest::option::of("\\PC{0,20}")).prop_map(|(issuer, uri)| IssuerKeysKey::of(
            &issuer,
            uri.as_deref()
        )
        .into()),
        repository().prop_map(AnyKey::from),
        (repository(), issue_number())
            .prop_map(|(repository, number)| IssueKey { repository, number }.into()),
        consumer_key().prop_map(AnyKey::from),
        (consumer_key(), id()).prop_map(|(consumer, to)| RunKey { consumer, to }.into()),
        (consumer_key(), id(), id(), 0..=99_999_999_u32).prop_map(|(consumer, covering, to, page)| {
            ReportedLateKey { consumer, covering, to, page }.into()
        }),
        (topic(), matching(NAME)).prop_map(|(topic, name)| AnnouncementKey { topic, name }.into()),
        topic().prop_map(|topic| LateLogKey { topic }.into()),
        (topic(), 0..1_000_000_000_000_u64)
            .prop_map(|(topic, number)| LateBatchKey::new(topic, number).into()),
        timeline().prop_map(|timeline| WatchKey { timeline }.into()),
        user().prop_map(|user| CleanupStepKey { user }.into()),
        erasure().prop_map(|erasure| ErasureStepKey { erasure }.into()),
        (erasure(), 0..=99_999_999_u64).prop_map(|(erasure, page)| ErasedPageKey { erasure, page }.into()),
        erasure().prop_map(|erasure| ErasureEntryKey { erasure }.into()),
        (timeline(), id()).prop_map(|(timeline, id)| LateNoteKey { timeline, id }.into()),
    ]
}

proptest! {
    #[test]
    fn no_two_families_accept_the_same_key(key in any_key()) {
        let Key { pk, sk } = key.encode();
        prop_assert_eq!(claims(&pk, &sk), 1);
        prop_assert_eq!(AnyKey::decode(&pk, &sk), Some(key));
    }

    #[test]
    fn keys_of_the_first_index_round_trip_and_keep_apart(
        topic in topic(),
        event in event(),
        event_type in matching("[a-z0-9][a-z0-9._-]{0,63}"),
        id in session_id(),
        repository in repository(),
        open: bool,
        number in issue_number(),
    ) {
        let status = if open { IssueStatus::Open } else { IssueStatus::Closed };
        let keys = [
            TopicListKey { topic }.encode(),
            TypeViewKey::new(&event, event_type).encode(),
            SessionListKey { id }.encode(),
            IssueStatusKey { repository, status, number }.encode(),
        ];
        for (at, Key { pk, sk }) in keys.iter().enumerate() {
            let claimed = [
                TopicListKey::decode(pk, sk).map(|key| key.encode()),
                TypeViewKey::decode(pk, sk).map(|key| key.encode()),
                SessionListKey::decode(pk, sk).map(|key| key.encode()),
                IssueStatusKey::decode(pk, sk).map(|key| key.encode()),
            ];
            for (family, claimed) in claimed.iter().enumerate() {
                prop_assert_eq!(claimed.as_ref(), (family == at).then(|| &keys[at]));
            }
        }
    }

    #[test]
    fn keys_of_the_second_index_round_trip(repository in repository(), number in issue_number()) {
        for priority in IssuePriority::ALL {
            let key = IssuePriorityKey { repository: repository.clone(), priority, number };
            let Key { pk, sk } = key.encode();
            prop_assert_eq!(IssuePriorityKey::decode(&pk, &sk), Some(key));
        }
    }

    /// Accepted text encodes to the same text, so no item has two keys.
    #[test]
    fn decoding_is_the_inverse_of_encoding(
        a in any_key(),
        b in any_key(),
        cut: prop::sample::Index,
        into: prop::sample::Index,
        extra in "[#A-Za-z0-9:.-]{0,3}",
    ) {
        let (a, b) = (a.encode(), b.encode());
        let splice = |left: &str, right: &str| {
            format!("{}{extra}{}", &left[..cut.index(left.len() + 1)], &right[into.index(right.len() + 1)..])
        };
        let mixtures = [
            (a.pk.clone(), b.sk.clone()),
            (a.pk.clone(), splice(&a.sk, &b.sk)),
            (splice(&a.pk, &b.pk), a.sk.clone()),
            (splice(&a.pk, &a.pk), splice(&a.sk, &a.sk)),
        ];
        for (pk, sk) in mixtures {
            prop_assert!(claims(&pk, &sk) <= 1);
            if let Some(key) = AnyKey::decode(&pk, &sk) {
                prop_assert_eq!(key.encode(), Key { pk, sk });
            }
        }
    }

    /// Sort keys sort newest first within a partition; labels of one width sort as time across buckets.
    #[test]
    fn order_of_keys_is_order_of_time_reversed(
        topic in topic(),
        width in bucket_width(),
        ids in prop::collection::vec(id(), 2..20),
    ) {
        let mut by_key: BTreeMap<(std::cmp::Reverse<String>, String), EventId> = BTreeMap::new();
        for id in &ids {
            // The shard does not matter here: it spreads a bucket but does not order it.
            let id = EventId::new(id.tick(), 0.into(), id.as_uuid().as_u64_pair().1);
            let key = EventKey::new(topic.clone(), width, id).encode();
            let label = DirectoryKey::sort_key(Bucket::containing(width, id.at()));
            by_key.insert((std::cmp::Reverse(label), key.sk), id);
        }
        let found: Vec<_> = by_key.into_values().collect();
        prop_assert!(found.windows(2).all(|pair| pair[0] > pair[1]));
    }
}
