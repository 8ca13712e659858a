//! Short forms for the tests of issues.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_engine::Engine;
use lately_engine::fault::FaultyClient;
use lately_items::{EventKey, IssueKey, RepositoryKey};
use lately_keys::{Actor, EventId, TableKey};
use lately_model::{Issue, IssueChange, IssueQuery, NewIssue, Precondition, QueryString, Revision};
use lately_store::{ChangeIssueError, Store};

use crate::support::{Item, items};

pub(crate) fn repository() -> RepositoryKey {
    RepositoryKey { owner: "octo".parse().unwrap(), repo: "hello".parse().unwrap() }
}

pub(crate) fn number(number: u32) -> IssueKey {
    IssueKey { repository: repository(), number: number.try_into().unwrap() }
}

pub(crate) fn ada() -> Actor {
    "ada".parse().unwrap()
}

pub(crate) fn new(json: &str) -> NewIssue {
    NewIssue::parse(json.as_bytes()).unwrap()
}

pub(crate) fn changing(json: &str) -> IssueChange {
    IssueChange::parse(json.as_bytes()).unwrap()
}

pub(crate) fn asking(query: &str) -> IssueQuery {
    IssueQuery::parse(query).unwrap()
}

/// The issues in the table, by their numbers.
pub(crate) async fn stored(engine: &Engine) -> BTreeMap<u32, Item> {
    let of_issue = |item: Item| {
        let key = IssueKey::decode(item["pk"].as_s().unwrap(), item["sk"].as_s().unwrap())?;
        Some((key.number.get(), item))
    };
    items(engine).await.into_iter().filter_map(of_issue).collect()
}

/// The events of issues in the table, oldest first: each with its type and its data.
pub(crate) async fn told(engine: &Engine) -> Vec<(String, serde_json::Value)> {
    let mut events: Vec<_> = items(engine).await.into_iter().filter_map(event).collect();
    events.sort_by_key(|(id, ..)| *id);
    events.into_iter().map(|(_, event_type, data)| (event_type, data)).collect()
}

fn event(item: Item) -> Option<(EventId, String, serde_json::Value)> {
    let key = EventKey::decode(item["pk"].as_s().unwrap(), item["sk"].as_s().unwrap())?;
    assert_eq!(item["s"].as_s().unwrap(), "repo:octo:hello");
    let data = serde_json::from_str(item["d"].as_s().unwrap()).unwrap();
    Some((key.id(), item["t"].as_s().unwrap().clone(), data))
}

/// An item from its form in DynamoDB's JSON.
pub(crate) fn item(json: &serde_json::Value) -> Item {
    json.as_object().unwrap().iter().map(|(name, value)| (name.clone(), attribute(value))).collect()
}

fn attribute(json: &serde_json::Value) -> AttributeValue {
    let (kind, value) = json.as_object().unwrap().iter().next().unwrap();
    let text = || value.as_str().unwrap().to_owned();
    match kind.as_str() {
        "S" => AttributeValue::S(text()),
        "N" => AttributeValue::N(text()),
        "BOOL" => AttributeValue::Bool(value.as_bool().unwrap()),
        "L" => AttributeValue::L(value.as_array().unwrap().iter().map(attribute).collect()),
        "SS" => {
            let texts = value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
            AttributeValue::Ss(texts.collect())
        }
        kind => panic!("{kind}"),
    }
}

/// An issue as a response has it.
pub(crate) fn answered(issue: &Issue) -> serde_json::Value {
    serde_json::to_value(issue).unwrap()
}

/// Waits until a fault has met a client. Simulated time stands still until every task waits, so the caller acts before
/// the client's next attempt.
pub(crate) async fn befallen(client: &FaultyClient) {
    for _ in 0..1_000 {
        if !client.injected().is_empty() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("no fault has met the client");
}

/// Opens an issue.
pub(crate) async fn open(store: &Store, json: &str) -> Issue {
    store.op().repository(&repository()).open(&new(json), &ada()).await.unwrap()
}

/// The current state of an issue.
pub(crate) async fn now(store: &Store, of: u32) -> Issue {
    store.op().issue(&number(of)).get(true).await.unwrap()
}

/// Changes an issue whose revision is known.
pub(crate) async fn change(
    store: &Store,
    of: u32,
    json: &str,
    known: Revision,
) -> Result<Issue, ChangeIssueError> {
    let known = Precondition::Is(known);
    store.op().issue(&number(of)).change(&changing(json), known, &ada()).await
}
