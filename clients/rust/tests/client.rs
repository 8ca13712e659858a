//! The bodies of `lately_client::model`: the client reads what the server writes, and the server reads what the client
//! writes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Debug;

use lately_client::IssueView;
use lately_client::model::{
    AcceptedTimes, Batch, BodyForm, BucketView, Commit, ConsumerView, EndingState, Erasure, ErasureCounts,
    ErasureList, ErasureState, Event, FeedPage, FollowView, IssueChange, Labels, NewConsumer, NewErasure,
    NewEvent, NewIssue, NewSession, OwnSession, Page, PageUnread, PollRequest, Polled, RateLimits,
    RetentionChange, RunView, Scope, Scopes, Seek, SeekTo, Seen, Session, SessionToken, SettleSeconds,
    SourceMode, SourceView, Start, TimelineEvent, TopicChange, TopicDeletion, TopicSettings, TopicView,
    Unread, View,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

const ID: &str = "0190868b-57e7-7000-80c0-0dd011ec70b5";
const AT: &str = "2024-07-06T05:36:37.351Z";

fn event(data: Option<&str>) -> Event {
    Event {
        id: ID.parse().unwrap(),
        event_type: "post.created".parse().unwrap(),
        actor: "ada".parse().unwrap(),
        subject: data.map(|_| "repo:octo:hello".parse().unwrap()),
        data: data.map(|data| data.parse().unwrap()),
    }
}

/// Passes if the client reads a response as it was written, and with a field that it does not know.
#[track_caller]
fn is_read<T: Serialize + DeserializeOwned + PartialEq + Debug>(response: &T) {
    let json = serde_json::to_string(response).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), response);
    let later = format!(r#"{{"of_a_later_server":{{"a":[1]}},{}"#, &json[1..]);
    assert_eq!(&serde_json::from_str::<T>(&later).unwrap(), response);
}

#[test]
fn responses_are_read_as_they_were_written() {
    for data in [None, Some("null"), Some(r#"{"b":1.10,"a":12345678901234567890123}"#)] {
        is_read(&event(data));
        let entry = TimelineEvent { topic: "posts".parse().unwrap(), event: event(data) };
        is_read(&entry);
        let next = data.map(str::to_owned);
        let page = Page { events: vec![entry], next: next.clone(), newer: next, has_more: data.is_some() };
        is_read(&page);
        let unread = data.map(|_| PageUnread { unread: 3, unread_more: true });
        is_read(&FeedPage { page, unread });
    }
    let at = AT.parse().unwrap();
    let settings = TopicSettings { views: [View::Type].into_iter().collect(), ..TopicSettings::default() };
    let shards = settings.max_shards;
    let bucket = BucketView { label: "2024-07-06".parse().unwrap(), shards };
    let change = RetentionChange { begun_at: at, events: 7, bucket: None };
    let retention_change = Some(change);
    let topic = "posts".parse().unwrap();
    is_read(&TopicView { topic, settings, created_at: at, retention_change, buckets: vec![bucket] });
    let (topic, counts) = ("posts".parse().unwrap(), ErasureCounts { events: 7, ..ErasureCounts::default() });
    let deletion = TopicDeletion {
        topic,
        state: EndingState::Deleting,
        begun_at: at,
        finished_at: None,
        events: 7,
        buckets: 1,
        consumers: 0,
    };
    is_read(&TopicDeletion { state: EndingState::Done, finished_at: Some(at), ..deletion.clone() });
    is_read(&deletion);
    let erasure = Erasure {
        id: ID.parse().unwrap(),
        state: ErasureState::Erasing,
        counts,
        ids_sha256: None,
        started_at: at,
        finished_at: None,
        not_covered: vec!["backups".to_owned()],
    };
    is_read(&ErasureList { erasures: vec![erasure], next: Some("abc".to_owned()) });
    is_read(&Unread { unread: 7, more: true });
    let source = "actor:ada".parse().unwrap();
    is_read(&SourceView { source, followers: 7, mode: SourceMode::Promoting });
    is_read(&FollowView { source: "subject:repo:octo:hello".parse().unwrap(), since: at });
    let scopes: Scopes = [Scope::Read, Scope::ActAs].into_iter().collect();
    let topics = Some(vec!["posts".parse().unwrap()]);
    let id = ID.parse().unwrap();
    let limits = RateLimits { writes_per_minute: "60".parse().ok(), reads_per_minute: None };
    let (created_at, expires_at) = (at, at);
    is_read(&Session { id, user: None, scopes, topics: topics.clone(), created_at, expires_at, limits });
    is_read(&SessionToken { id, token: "secret".into(), expires_at: at });
    is_read(&OwnSession {
        user: Some("ada".parse().unwrap()),
        scopes,
        topics,
        expires_at: None,
        issuer: None,
        limits: RateLimits::default(),
    });
    let batch = Some("1-2".parse().unwrap());
    let settle_seconds = SettleSeconds::new(0).unwrap();
    let [position, outstanding] = [(Some(ID.parse().unwrap()), batch), (None, None)];
    for ((position, outstanding), late_more) in [(position, true), (outstanding, false)] {
        is_read(&ConsumerView { position, outstanding, lag_seconds: 1, late: 2, late_more, settle_seconds });
    }
    is_read(&Polled { batch, events: vec![event(None)], late: vec![event(Some("1"))], caught_up: true });
    let id = ID.parse().unwrap();
    is_read(&RunView {
        from: id,
        to: id,
        announced_at: at,
        committed_at: None,
        events: Some(1),
        late: None,
        bytes: None,
        group_by: Default::default(),
        sum: Some("amount".parse().unwrap()),
        files: vec!["a".to_owned()],
    });
    let issue = format!(
        r#"{{"owner":"octo","repo":"hello","number":7,"title":"It","labels":["ui"],"status":"open","priority":"high",
        "opened_by":"ada","opened_at":"{AT}","updated_at":"{AT}","revision":3}}"#
    );
    is_read(&serde_json::from_str::<IssueView>(&issue).unwrap());
}

/// Passes if the server parses a request as the value that was sent.
#[track_caller]
fn is_parsed<T: Serialize + PartialEq + Debug, E: Debug>(request: &T, parse: impl Fn(&[u8]) -> Result<T, E>) {
    assert_eq!(&parse(&serde_json::to_vec(request).unwrap()).unwrap(), request);
}

#[test]
fn requests_are_parsed_as_they_were_sent() {
    let times = AcceptedTimes::new(AT.parse().unwrap(), None);
    let body =
        |body: &[u8]| Batch::parse(body, BodyForm::Json, times).map(|mut batch| batch.events.remove(0));
    for (data, at) in [(None, None), (Some("null"), Some(AT)), (Some("[1.10]"), None)] {
        let Event { event_type, actor, subject, data, .. } = event(data);
        let at = at.map(|at| at.parse().unwrap());
        is_parsed(&NewEvent { event_type, actor, subject, data, at }, body);
    }
    is_parsed(&TopicChange::default(), TopicChange::parse);
    let TopicSettings { bucket, retention_days, min_shards, max_shards, fan_out, views } =
        TopicSettings::default();
    let change = TopicChange {
        bucket: Some(bucket),
        retention_days: Some(retention_days),
        min_shards: Some(min_shards),
        max_shards: Some(max_shards),
        fan_out: Some(fan_out),
        views: Some(views),
    };
    is_parsed(&change, TopicChange::parse);
    let session = NewSession {
        user: Some("ada".parse().unwrap()),
        scopes: "read write".parse().unwrap(),
        topics: None,
        ttl_seconds: 60.try_into().unwrap(),
        limits: RateLimits { writes_per_minute: None, reads_per_minute: "7".parse().ok() },
    };
    is_parsed(&session, NewSession::parse);
    let (actor, user, confirm) = (Some("ada".parse().unwrap()), None, "ada".to_owned());
    is_parsed(&NewErasure { actor, user, confirm }, NewErasure::parse);
    for start in [Start::Earliest, Start::Latest, Start::Time(AT.parse().unwrap())] {
        is_parsed(&NewConsumer { start, settle_seconds: None }, NewConsumer::parse);
        is_parsed(&Seek { to: SeekTo::Start(start) }, Seek::parse);
    }
    is_parsed(&Seek { to: SeekTo::Event(ID.parse().unwrap()) }, Seek::parse);
    is_parsed(&PollRequest { limit: 7.try_into().unwrap() }, PollRequest::parse);
    is_parsed(&Commit { batch: "1-2".parse().unwrap() }, Commit::parse);
    is_parsed(&Seen { id: ID.parse().unwrap() }, Seen::parse);
    let labels = Labels::new(vec!["ui".parse().unwrap()]).unwrap();
    let title = || "It says goodbye".parse().unwrap();
    is_parsed(&NewIssue { title: title(), body: None, labels: labels.clone() }, NewIssue::parse);
    let change = IssueChange {
        title: Some(title()),
        body: Some(None),
        labels: Some(labels),
        status: Some("closed".parse().unwrap()),
        priority: Some("low".parse().unwrap()),
    };
    is_parsed(&change, IssueChange::parse);
}
