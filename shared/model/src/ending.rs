//! Ends: the deletion of a topic, and the erasure of an actor or a user.

use lately_keys::{Actor, Bucket, ErasureId, Topic, UnixMillis, User};
use serde::{Deserialize, Serialize};

use crate::body::{self, BodyError};
use crate::fault::{Fault, Faults, Pointer};
use crate::query::{self, QueryString, parse_bool};

/// The query of `DELETE /topics/{topic}`.
///
/// ```
/// use lately_model::{DeletionQuery, QueryString};
///
/// let query = DeletionQuery::parse("confirm=posts")?;
/// assert!(query.check(&"posts".parse()?).is_ok());
/// assert!(query.check(&"billing".parse()?).is_err());
/// assert!(DeletionQuery::parse("dry_run=true")?.check(&"posts".parse()?).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct DeletionQuery {
    /// The name of the topic, so that nobody deletes a topic by mistake. Only a dry run may omit it.
    pub confirm: Option<Topic>,
    /// If true, nothing is deleted, and the response says what a deletion would delete.
    #[cfg_attr(feature = "document", schema(default = false))]
    pub dry_run: bool,
}

impl QueryString for DeletionQuery {
    fn parse(query: &str) -> Result<Self, Faults> {
        query::parse(query, ["confirm", "dry_run"], |[confirm, dry_run], found| {
            let confirm = confirm.text(found);
            Some(Self { confirm, dry_run: dry_run.parsed(found, parse_bool).unwrap_or_default() })
        })
    }
}

impl DeletionQuery {
    /// Checks that the query may delete the topic of the path, or asks for a dry run.
    ///
    /// # Errors
    /// If `confirm` names another topic, or is absent although this is no dry run.
    pub fn check(&self, topic: &Topic) -> Result<(), Faults> {
        if self.confirm.as_ref().map_or(self.dry_run, |named| named == topic) {
            return Ok(());
        }
        Err(Fault { path: "/confirm".to_owned(), message: "must be the topic's name".to_owned() }.into())
    }
}

/// The state of a topic's deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = inline::EndingState))]
#[serde(rename_all = "lowercase")]
pub enum EndingState {
    /// Something of the topic remains.
    Deleting,
    /// Nothing remains, and the name may be used again.
    Done,
}

/// The deletion of a topic, with its counts so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct TopicDeletion {
    /// The topic's name.
    pub topic: Topic,
    /// `done`: everything is deleted, and the name may be used again.
    pub state: EndingState,
    /// When the deletion began.
    pub begun_at: UnixMillis,
    /// The time at which the last item was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<UnixMillis>,
    /// The events that were deleted so far.
    pub events: u64,
    /// The buckets that were deleted so far.
    pub buckets: u64,
    /// The consumers that were deleted so far.
    pub consumers: u64,
}

/// A topic as its directory knows it: the response to a deletion's dry run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct DeletionPreview {
    /// The topic's name.
    pub topic: Topic,
    /// The buckets that hold events.
    pub buckets: u64,
    /// The oldest of these buckets. It is absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Bucket>,
    /// The newest of these buckets. It is absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<Bucket>,
    /// The shards of all these buckets together.
    pub shards: u64,
    /// The consumers.
    pub consumers: u64,
}

/// The body of `POST /erasures`: `{"actor"?,"user"?,"confirm"}`, with at least one name.
///
/// ```
/// use lately_model::NewErasure;
///
/// let erasure = NewErasure::parse(br#"{"actor": "ada", "user": "ada", "confirm": "ada"}"#)?;
/// assert_eq!(erasure.actor.unwrap().as_str(), "ada");
///
/// let refused = NewErasure::parse(br#"{"actor": "ada"}"#).unwrap_err();
/// assert_eq!(refused.to_string(), "/confirm: must be the name to erase: the actor's, or the user's if there is no actor");
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct NewErasure {
    /// The actor whose events are erased, with their copies and the actor's followers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// The user whose profile, sessions, feed, follows and other traces are erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// The name again, so that nobody erases a person by mistake: the actor's, or the user's if there is no actor.
    #[cfg_attr(feature = "document", schema(value_type = Actor))]
    pub confirm: String,
}

impl NewErasure {
    /// Reads a body.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::object(body, ["actor", "user", "confirm"], |[actor, user, confirm], found| {
            let root = Pointer::root();
            if actor.value.is_none() && user.value.is_none() {
                found.add(&root, "must name an actor, a user, or both");
            }
            let actor: Option<Actor> = actor.text(found);
            let user: Option<User> = user.text(found);
            let confirm: String = confirm.text(found).unwrap_or_default();
            let name = actor.as_ref().map(Actor::as_str).or(user.as_ref().map(User::as_str));
            if name.is_some_and(|name| name != confirm) {
                let message = "must be the name to erase: the actor's, or the user's if there is no actor";
                found.add(&root.child("confirm"), message);
            }
            Some(Self { actor, user, confirm })
        })
    }
}

/// The number of items of each kind that the erasure itself removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct ErasureCounts {
    /// Events of the actor.
    pub events: u64,
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
    /// Issues whose `opened_by` was replaced.
    pub issues: u64,
}

/// The state of an erasure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = inline::ErasureState))]
#[serde(rename_all = "lowercase")]
pub enum ErasureState {
    /// Something may remain.
    Erasing,
    /// Nothing remains that the erasure covers.
    Done,
}

/// An erasure, with its counts so far. When its state is `done`, this is the receipt. It does not contain the erased
/// names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Erasure {
    /// Its id.
    pub id: ErasureId,
    /// `done`: everything that the erasure covers is removed.
    pub state: ErasureState,
    /// The erased items, by kind.
    pub counts: ErasureCounts,
    /// The SHA-256, in hexadecimal, over the erased event ids as text, sorted, each followed by a newline.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "document", schema(pattern = "^[0-9a-f]{64}$"))]
    pub ids_sha256: Option<String>,
    /// When it began.
    pub started_at: UnixMillis,
    /// The time at which the last item was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<UnixMillis>,
    /// Data that the erasure cannot reach, such as report files and backups.
    pub not_covered: Vec<String>,
}

/// A page of the list of erasures: `{"erasures":[…],"next":"…"|null}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct ErasureList {
    /// The erasures of the last days, newest first.
    pub erasures: Vec<Erasure>,
    /// The cursor of the next page; null at the end.
    #[cfg_attr(feature = "document", schema(required, value_type = Option<crate::schemas::Cursor>))]
    pub next: Option<String>,
}

/// A receipt as the command line prints it: the erasure, and the names that it erased. The service does not store the
/// names, so whoever asked for the erasure stores them with the receipt, to prove later that nothing remains.
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
    fn an_erasure_names_an_actor_or_a_user_and_repeats_the_name() {
        let (ada, bob) = (|| "ada".to_owned(), "bob".parse().ok());
        let actor = NewErasure { actor: "ada".parse().ok(), user: None, confirm: ada() };
        let user = NewErasure { actor: None, user: "ada".parse().ok(), confirm: ada() };
        let both = NewErasure { user: bob, ..actor.clone() };
        for (body, erasure) in [
            (r#"{"actor":"ada","confirm":"ada"}"#, actor),
            (r#"{"user":"ada","confirm":"ada"}"#, user),
            (r#"{"actor":"ada","user":"bob","confirm":"ada"}"#, both),
        ] {
            assert_eq!(NewErasure::parse(body.as_bytes()).as_ref(), Ok(&erasure), "{body}");
            assert_eq!(serde_json::to_string(&erasure).unwrap(), body);
        }
    }

    #[test]
    fn every_invalid_erasure_is_refused_with_all_its_faults() {
        let nameless = ": must name an actor, a user, or both";
        let unconfirmed =
            "/confirm: must be the name to erase: the actor's, or the user's if there is no actor";
        assert_eq!(faults("{}"), nameless);
        assert_eq!(faults("[]"), ": must be a JSON object");
        for body in [r#"{"actor":"ada"}"#, r#"{"actor":"ada","user":"bob","confirm":"bob"}"#] {
            assert_eq!(faults(body), unconfirmed, "{body}");
        }
        let many = faults(r#"{"actor":"a#b","user":7,"dry_run":true,"name":"ada","confirm":1}"#);
        assert!(
            many.contains("/dry_run: is not a known field") && many.contains("/actor: actor: "),
            "{many}"
        );
        assert!(many.contains("/user: must be a string") && many.contains("/confirm: must be a"), "{many}");
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
                r#"{{"actor":"ada","id":"{id}","state":"done","counts":{{"events":2,"follows":0,"followers":0,"#,
                r#""profile":0,"sessions":0,"feed":1,"issues":0}},"ids_sha256":"{hash}","started_at":"2026-11-20T09:30:00.000Z","#,
                r#""finished_at":"2026-11-20T09:30:07.000Z","not_covered":["backups"]}}"#,
            ),
            id = ID,
            hash = "ab".repeat(32),
        );
        assert_eq!(serde_json::to_string(&receipt).unwrap(), json);
        assert_eq!(serde_json::from_str::<ErasureReceipt>(&json).unwrap(), receipt);
    }
}
