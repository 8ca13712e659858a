//! Ends: the deletion of a topic, and the erasure of an actor or a user.

use lately_keys::table::ErasureId;
use lately_keys::{Actor, Bucket, Topic, UnixMillis, User};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::body::{self, BodyError};
use crate::fault::{Faults, Found, Pointer};
use crate::fields;
use crate::query::{parameters, parse_bool};

/// The query of `DELETE /topics/{topic}`.
///
/// ```
/// use lately_model::DeletionQuery;
///
/// let query = DeletionQuery::parse("confirm=posts")?;
/// assert!(query.check(&"posts".parse()?).is_ok());
/// assert!(query.check(&"billing".parse()?).is_err());
/// assert!(DeletionQuery::parse("dry_run=true")?.check(&"posts".parse()?).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletionQuery {
    /// The topic's name once more, so that nobody deletes a topic by mistake.
    pub confirm: Option<Topic>,
    /// True if nothing is deleted, and the response says what a deletion would delete.
    pub dry_run: bool,
}

impl DeletionQuery {
    /// Reads a query string, without its `?`.
    ///
    /// # Errors
    /// With all faults: unknown, repeated and ill-formed parameters.
    pub fn parse(query: &str) -> Result<Self, Faults> {
        let mut found = Found::default();
        let [confirm, dry_run] = parameters(query, ["confirm", "dry_run"], &mut found);
        let confirm = confirm.parsed(&mut found, str::parse);
        let dry_run = dry_run.parsed(&mut found, parse_bool).unwrap_or_default();
        found.or(Some(Self { confirm, dry_run }))
    }

    /// Checks that the query may delete the topic of the path, or asks for a dry run.
    ///
    /// # Errors
    /// If `confirm` names another topic, or is absent although this is no dry run.
    pub fn check(&self, topic: &Topic) -> Result<(), Faults> {
        let confirmed = match &self.confirm {
            Some(named) => named == topic,
            None => self.dry_run,
        };
        let mut found = Found::default();
        if !confirmed {
            found.add(&Pointer::root().child("confirm"), "must be the topic's name");
        }
        found.or(confirmed.then_some(()))
    }
}

/// The state of a topic's deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndingState {
    /// Something of the topic is left.
    Deleting,
    /// Nothing is left, and the name may be used again.
    Done,
}

/// The deletion of a topic, with its counts so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicDeletion {
    /// The topic's name.
    pub topic: Topic,
    /// The state.
    pub state: EndingState,
    /// When the deletion began.
    pub begun_at: UnixMillis,
    /// When nothing was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<UnixMillis>,
    /// The events that were deleted.
    pub events: u64,
    /// The buckets that were deleted.
    pub buckets: u64,
    /// The consumers that were deleted.
    pub consumers: u64,
}

/// A topic as its directory knows it: the response to a deletion's dry run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletionPreview {
    /// The topic's name.
    pub topic: Topic,
    /// The buckets that hold events.
    pub buckets: u64,
    /// The oldest of these buckets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Bucket>,
    /// The newest of these buckets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<Bucket>,
    /// The shards of all these buckets together.
    pub shards: u64,
    /// The consumers.
    pub consumers: u64,
}

/// The body of `POST /erasures`: `{"actor"?,"user"?,"dry_run"?}`, with at least one name.
///
/// ```
/// use lately_model::NewErasure;
///
/// let erasure = NewErasure::parse(br#"{"actor": "ada", "user": "ada"}"#)?;
/// assert_eq!(erasure.actor.unwrap().as_str(), "ada");
/// assert!(!erasure.dry_run);
///
/// let refused = NewErasure::parse(b"{}").unwrap_err();
/// assert_eq!(refused.to_string(), ": must name an actor, a user, or both");
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewErasure {
    /// The actor whose events are erased, with their copies and the actor's followers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// The user whose profile, sessions, feed, follows and other traces are erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// True if nothing is erased, and the response says what an erasure would erase.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

impl NewErasure {
    /// Reads a body.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::parse(body, Self::read)
    }

    fn read(json: &RawValue, found: &mut Found) -> Option<Self> {
        let [actor, user, dry_run] =
            fields::of_object(json, &Pointer::root(), ["actor", "user", "dry_run"], found)?;
        if actor.value.is_none() && user.value.is_none() {
            found.add(&Pointer::root(), "must name an actor, a user, or both");
        }
        let actor = actor.text(found);
        let user = user.text(found);
        let dry_run = dry_run.json("true or false", found).unwrap_or_default();
        Some(Self { actor, user, dry_run })
    }
}

/// The number of erased items of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureCounts {
    /// Events of the actor.
    pub events: u64,
    /// Entries in the timelines of the events' sources.
    pub entries: u64,
    /// Copies of the events in feeds.
    pub copies: u64,
    /// Sources that the user followed.
    pub follows: u64,
    /// Followers of the actor.
    pub followers: u64,
    /// The user's profile.
    pub profile: u64,
    /// Sessions of the user.
    pub sessions: u64,
    /// Items of the user's feed.
    pub feed: u64,
    /// Idempotency items of the user's requests.
    pub idempotency: u64,
    /// Late events in consumers' ledgers, in their batches and in the notes of live timelines.
    pub late: u64,
    /// Fan-out jobs and backlogs.
    pub jobs: u64,
    /// Issues whose `opened_by` was replaced.
    pub issues: u64,
}

/// The state of an erasure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErasureState {
    /// Something may be left.
    Erasing,
    /// Nothing is left that the erasure covers.
    Done,
}

/// An erasure, with its counts so far. When its state is `done`, this is the receipt. It does not contain the erased
/// names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erasure {
    /// Its id.
    pub id: ErasureId,
    /// Its state.
    pub state: ErasureState,
    /// The erased items, by kind.
    pub counts: ErasureCounts,
    /// The SHA-256, in hexadecimal, over the erased event ids as text, sorted, each followed by a newline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids_sha256: Option<String>,
    /// When it began.
    pub started_at: UnixMillis,
    /// When nothing was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<UnixMillis>,
    /// Data that the erasure cannot reach, such as report files and backups.
    pub not_covered: Vec<String>,
}

/// The estimate of an erasure and its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureEstimate {
    /// The items, by kind.
    pub counts: ErasureCounts,
    /// The read units that the erasure would cost.
    pub read_units: u64,
    /// The write units that the erasure would cost.
    pub write_units: u64,
}

/// A receipt as the command line prints it: the erasure, and the names that it erased. The service does not keep the
/// names, so whoever asked for the erasure keeps them with the receipt, to prove later that nothing is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasureReceipt {
    /// The erased actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// The erased user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// The erasure.
    #[serde(flatten)]
    pub erasure: Erasure,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

    fn faults(body: &str) -> String {
        match NewErasure::parse(body.as_bytes()) {
            Err(BodyError::Invalid(faults)) => faults.to_string(),
            other => panic!("{other:?}"),
        }
    }

    fn erasure() -> Erasure {
        Erasure {
            id: ID.parse().unwrap(),
            state: ErasureState::Done,
            counts: ErasureCounts { events: 2, feed: 1, ..ErasureCounts::default() },
            ids_sha256: Some("ab".repeat(32)),
            started_at: "2026-11-20T09:30:00Z".parse().unwrap(),
            finished_at: Some("2026-11-20T09:30:07Z".parse().unwrap()),
            not_covered: vec!["backups".to_owned()],
        }
    }

    #[test]
    fn a_deletion_repeats_the_topics_name() {
        let posts: Topic = "posts".parse().unwrap();
        let check = |query: &str| DeletionQuery::parse(query)?.check(&posts);
        for query in
            ["confirm=posts", "confirm=posts&dry_run=false", "dry_run=true", "confirm=posts&dry_run=true"]
        {
            assert_eq!(check(query), Ok(()), "{query}");
        }
        for query in ["", "dry_run=false", "confirm=Posts", "confirm=billing", "confirm=billing&dry_run=true"]
        {
            assert_eq!(
                check(query).unwrap_err().to_string(),
                "/confirm: must be the topic's name",
                "{query}"
            );
        }
    }

    #[test]
    fn every_fault_of_a_deletions_query_is_named_at_once() {
        let refused = DeletionQuery::parse("force=1&confirm=&dry_run=yes&dry_run=true").unwrap_err();
        let paths: Vec<_> = refused.iter().map(|fault| fault.path.as_str()).collect();
        assert_eq!(paths, ["/force", "/dry_run", "/confirm", "/dry_run"]);
    }

    #[test]
    fn an_erasure_names_an_actor_or_a_user() {
        let actor = NewErasure { actor: Some("ada".parse().unwrap()), user: None, dry_run: false };
        let user = NewErasure { actor: None, user: Some("ada".parse().unwrap()), dry_run: true };
        for (body, erasure) in [(r#"{"actor":"ada"}"#, actor), (r#"{"user":"ada","dry_run":true}"#, user)] {
            assert_eq!(NewErasure::parse(body.as_bytes()).as_ref(), Ok(&erasure), "{body}");
            assert_eq!(serde_json::to_string(&erasure).unwrap(), body);
        }
    }

    #[test]
    fn every_invalid_erasure_is_refused_with_all_its_faults() {
        let nameless = ": must name an actor, a user, or both";
        assert_eq!(faults("{}"), nameless);
        assert_eq!(faults(r#"{"dry_run":true}"#), nameless);
        assert_eq!(faults("[]"), ": must be a JSON object");
        assert_eq!(faults(r#"{"actor":"ada","user":null}"#), "/user: must be a string");
        let many = faults(r#"{"actor":"a#b","user":7,"dry_run":"yes","name":"ada"}"#);
        assert!(many.starts_with("/name: is not a known field; /actor: actor: character 2"), "{many}");
        assert!(many.ends_with("/user: must be a string; /dry_run: must be true or false"), "{many}");
        assert!(matches!(NewErasure::parse(b""), Err(BodyError::Malformed(_))));
    }

    #[test]
    fn a_deletion_is_written_as_the_contract_says() {
        let deletion = TopicDeletion {
            topic: "posts".parse().unwrap(),
            state: EndingState::Deleting,
            begun_at: "2026-11-20T09:30:00Z".parse().unwrap(),
            finished_at: None,
            events: 500,
            buckets: 3,
            consumers: 1,
        };
        let json = concat!(
            r#"{"topic":"posts","state":"deleting","begun_at":"2026-11-20T09:30:00.000Z","#,
            r#""events":500,"buckets":3,"consumers":1}"#,
        );
        assert_eq!(serde_json::to_string(&deletion).unwrap(), json);
        assert_eq!(serde_json::from_str::<TopicDeletion>(json).unwrap(), deletion);
    }

    #[test]
    fn a_receipt_has_the_names_and_the_erasure() {
        let receipt = ErasureReceipt { actor: Some("ada".parse().unwrap()), user: None, erasure: erasure() };
        let json = format!(
            concat!(
                r#"{{"actor":"ada","id":"{id}","state":"done","counts":{{"events":2,"entries":0,"copies":0,"#,
                r#""follows":0,"followers":0,"profile":0,"sessions":0,"feed":1,"idempotency":0,"late":0,"#,
                r#""jobs":0,"issues":0}},"ids_sha256":"{hash}","started_at":"2026-11-20T09:30:00.000Z","#,
                r#""finished_at":"2026-11-20T09:30:07.000Z","not_covered":["backups"]}}"#,
            ),
            id = ID,
            hash = "ab".repeat(32),
        );
        assert_eq!(serde_json::to_string(&receipt).unwrap(), json);
        assert_eq!(serde_json::from_str::<ErasureReceipt>(&json).unwrap(), receipt);
    }
}
