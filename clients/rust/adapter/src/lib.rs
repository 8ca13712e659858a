//! The calls of the conformance cases: `{do: topic.post, of, with, named}` becomes a method of the client.
//!
//! The adapter of the conformance suite (`examples/adapter.rs`) and `lately check` both make their calls here, so a
//! deployed stack is checked with the calls that the suite tests.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{Stream as EntryStream, TryFutureExt};
use lately_client::{
    Cost, FollowOptions, Lately, PageQuery, PostKey, Problem, Stream, Timeline, TryStreamExt,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

type Entries = Stream<Value>;
/// A call's result: a value, or an iterator.
enum CallResult {
    Value(Value),
    Entries(Entries),
}
type Answer = lately_client::Result<CallResult>;

/// An attempt of a call: its status, or 0 for no response, and its price.
pub type Attempt = (u16, Cost);

/// A client that makes the calls of a case and records each attempt.
pub struct Caller {
    /// The client.
    pub lately: Lately,
    attempts: Arc<Mutex<Vec<Attempt>>>,
    iterators: HashMap<String, Entries>,
}

/// A name in a step's `of`.
fn name(step: &Value, index: usize) -> String {
    text(&step["of"][index])
}

/// An argument in a step's `with`; an absent one is an empty body.
fn body(step: &Value, index: usize) -> Value {
    step["with"].get(index).cloned().unwrap_or_else(|| json!({}))
}

/// The options in a step's `named`, as a query.
fn query<T: DeserializeOwned>(step: &Value) -> T {
    let named = step.get("named").cloned().unwrap_or_else(|| json!({}));
    serde_json::from_value(named).expect("the case names parameters of the query")
}

fn key(step: &Value) -> PostKey {
    match step["named"].get("key") {
        None => PostKey::Random,
        Some(Value::Null) => PostKey::None,
        Some(key) => PostKey::Given(text(key)),
    }
}

fn revision(step: &Value, index: usize) -> Option<String> {
    step["with"].get(index).map(text)
}

/// Functions cannot be sent, so a case says which change it means.
fn changed(step: &Value, value: Value) -> Value {
    let change = body(step, 0);
    let Some(field) = change["increment"].as_str() else { return change["set"].clone() };
    let mut value = if value.is_null() { json!({}) } else { value };
    value[field] = json!(value[field].as_u64().unwrap_or_default() + 1);
    value
}

/// A name or a number as text.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

async fn value<T: Serialize>(call: impl IntoFuture<Output = lately_client::Result<T>>) -> Answer {
    Ok(CallResult::Value(serde_json::to_value(call.await?).expect("a result has JSON")))
}

fn entries<T: Serialize>(
    entries: impl EntryStream<Item = lately_client::Result<T>> + Send + 'static,
) -> Answer {
    Ok(CallResult::Entries(Box::pin(
        entries.map_ok(|entry| serde_json::to_value(entry).expect("an entry has JSON")),
    )))
}

async fn timeline<E>(timeline: &Timeline<E>, method: &str, step: &Value) -> Answer
where
    E: DeserializeOwned + Serialize + Send + 'static,
{
    match method {
        "page" => value(timeline.page(&query(step))).await,
        "pages" => entries(timeline.pages(query(step))),
        "events" => entries(timeline.events(query(step))),
        "follow" => {
            let PageQuery { cursor, event_type, topic, .. } = query(step);
            entries(timeline.follow(FollowOptions { cursor, event_type, topic, ..FollowOptions::default() }))
        }
        _ => panic!("{method} is no method of timelines"),
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("lately", &self.lately).finish_non_exhaustive()
    }
}

impl Caller {
    /// A caller that uses a client.
    pub fn new(lately: &Lately) -> Self {
        let attempts = Arc::<Mutex<Vec<Attempt>>>::default();
        let seen = attempts.clone();
        let lately = lately.using(|options| {
            options.on_call = Some(Arc::new(move |call| {
                seen.lock().unwrap_or_else(PoisonError::into_inner).push((call.status, call.cost));
            }));
        });
        Self { lately, attempts, iterators: HashMap::new() }
    }

    /// The attempts since the last time.
    pub fn attempts(&self) -> Vec<Attempt> {
        std::mem::take(&mut *self.attempts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the call of a step. The result is `{"value"}` or `{"problem"}`.
    ///
    /// # Panics
    /// If the step is no call, or names no method.
    pub async fn answer(&mut self, step: &Value) -> Value {
        match self.call(step).await {
            Ok(value) => json!({ "value": value }),
            Err(error) => json!({ "problem": problem(&error) }),
        }
    }

    async fn call(&mut self, step: &Value) -> lately_client::Result<Value> {
        if let Some(iterator) = step["next"].as_str() {
            let iterator = self.iterators.get_mut(iterator).expect("the iterator was started");
            return collect(iterator, step["count"].as_u64().unwrap_or(1)).await;
        }
        if let Some(iterator) = step["stop"].as_str() {
            self.iterators.remove(iterator);
            return Ok(Value::Null);
        }
        let path = step["do"].as_str().expect("a call");
        match (self.begin(path, step).await?, step["start"].as_str()) {
            (CallResult::Entries(iterator), Some(name)) => {
                drop(self.iterators.insert(name.to_owned(), iterator));
                Ok(Value::Null)
            }
            (CallResult::Entries(mut iterator), None) => {
                collect(&mut iterator, step["take"].as_u64().unwrap_or(u64::MAX)).await
            }
            (CallResult::Value(value), _) => Ok(value),
        }
    }

    /// Calls a method, such as `feed.unread`.
    async fn begin(&self, path: &str, step: &Value) -> Answer {
        if let Some(method) = path.strip_prefix("topic.") {
            return self.begin_on_topic(method, step).await;
        }
        let (lately, with, name) = (&self.lately, |index| body(step, index), |index| name(step, index));
        let feed = lately.feed(name(0));
        let user = lately.user(name(0));
        let source = lately.source(name(0));
        let repo = lately.repo(name(0), name(1));
        let issue = repo.issue(name(2).parse().unwrap_or_default());
        let sessions = lately.sessions();
        let document = if path.starts_with("settings") { lately.settings(name(0)) } else { user.profile() };
        match path {
            "health" => value(lately.health().map_ok(|()| json!({ "status": "ok" }))).await,
            "topics" => entries(lately.topics(query(step))),
            "feed.page" => value(feed.page(&query(step))).await,
            "feed.unread" => value(feed.unread()).await,
            "feed.seen" => value(feed.seen(text(&with(0)))).await,
            "user.follow" => value(user.follow_with(text(&with(0)), &with(1))).await,
            "user.unfollow" => value(user.unfollow(text(&with(0)))).await,
            "user.following" => entries(user.following(query(step))),
            "source.get" => value(source.get()).await,
            "source.followers" => entries(source.followers(query(step))),
            "user.profile.get" | "settings.get" => value(document.get::<Value>(query(step))).await,
            "user.profile.put" | "settings.put" => {
                value(document.put(&with(0), revision(step, 1).as_deref())).await
            }
            "user.profile.delete" | "settings.delete" => {
                value(document.delete(revision(step, 0).as_deref())).await
            }
            "user.profile.update" | "settings.update" => {
                value(document.update(|now| changed(step, now.unwrap_or_default()))).await
            }
            "repo.open" => value(repo.open(&with(0))).await,
            "repo.issues" => entries(repo.issues(query(step))),
            "repo.issue.get" => value(issue.get(query(step))).await,
            "repo.issue.change" => value(issue.change(&with(0), with(1).as_u64().unwrap_or_default())).await,
            "repo.issue.update" => value(issue.update(|_| changed(step, Value::Null))).await,
            "sessions.self" => value(sessions.own()).await,
            "sessions.create" => value(sessions.create(&with(0))).await,
            "sessions.list" => entries(sessions.list(query(step))),
            "sessions.get" => value(sessions.get(text(&with(0)))).await,
            "sessions.revoke" => value(sessions.revoke(text(&with(0)))).await,
            "sessions.revoke_all" => value(sessions.revoke_all(text(&with(0)))).await,
            "erasures.begin" => value(lately.erasures().begin(&with(0))).await,
            "erasures.list" => entries(lately.erasures().list(query(step))),
            "erasures.get" => value(lately.erasures().get(text(&with(0)))).await,
            _ => match path.split_once('.') {
                Some(("feed", method)) => timeline(&feed, method, step).await,
                Some(("actor", method)) => timeline(&lately.actor(name(0)), method, step).await,
                Some(("subject", method)) => timeline(&lately.subject(name(0)), method, step).await,
                _ => panic!("{path} is no method"),
            },
        }
    }

    /// Calls a method of a topic, such as `consumer.poll`.
    async fn begin_on_topic(&self, method: &str, step: &Value) -> Answer {
        let with = |index| body(step, index);
        let topic = self.lately.topic(name(step, 0));
        let consumer = topic.consumer(name(step, 1));
        match method {
            "get" => value(topic.get()).await,
            "put" => value(topic.put(&with(0))).await,
            "post" => value(topic.post_under(&key(step), &with(0))).await,
            "post_all" => value(topic.post_all(&key(step), with(0).as_array().into_iter().flatten())).await,
            "event" => value(topic.event(text(&with(0)))).await,
            "delete_event" => value(topic.delete_event(text(&with(0)))).await,
            "delete" => value(topic.delete()).await,
            "preview_deletion" => value(topic.preview_deletion()).await,
            "deletion" => value(topic.deletion()).await,
            "consumer.get" => value(consumer.get()).await,
            "consumer.put" => value(consumer.put(&with(0))).await,
            "consumer.delete" => value(consumer.delete()).await,
            "consumer.poll" => value(consumer.poll(&with(0))).await,
            "consumer.commit" => value(consumer.commit(text(&with(0)))).await,
            "consumer.seek" => value(consumer.seek(text(&with(0)))).await,
            "consumer.runs" => entries(consumer.runs(query(step))),
            "consumer.batches" => entries(consumer.batches(&with(0))),
            _ => timeline(&topic, method, step).await,
        }
    }
}

async fn collect(iterator: &mut Entries, count: u64) -> lately_client::Result<Value> {
    let mut found = Vec::new();
    while (found.len() as u64) < count
        && let Some(entry) = iterator.try_next().await?
    {
        found.push(entry);
    }
    Ok(found.into())
}

/// The parts of a price that cost something.
pub fn paid_parts(Cost { read_units, write_units, calls, items, rounds }: Cost) -> Value {
    let mut cost = json!({ "read_units": read_units, "write_units": write_units, "calls": calls, "items": items, "rounds": rounds });
    cost.as_object_mut().expect("an object").retain(|_, part| part.as_f64() != Some(0.0));
    cost
}

fn problem(problem: &Problem) -> Value {
    json!({
        "status": problem.status, "code": problem.code, "title": problem.title, "detail": problem.detail,
        "errors": problem.errors, "accepted": problem.accepted, "rejected": problem.rejected,
        "request_id": problem.request_id, "revision": problem.revision, "cost": paid_parts(problem.cost),
        "retry_after": problem.retry_after.map(|time| time.as_secs()),
    })
}
