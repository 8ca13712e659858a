//! The calls of the conformance cases: `{do: topic.post, of, with, named}` becomes a method of the client.
//!
//! The adapter of the conformance suite (`local/examples/adapter.rs`) and `lately check` both make their calls here, so a
//! deployed stack is checked with the calls that the suite tests.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::Stream as EntryStream;
use lately_client::{
    Cost, FollowOptions, Followed, Lately, PostKey, Problem, Stream, Timeline, TryStreamExt,
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

/// A client that makes the calls of a case and records each attempt.
pub struct Caller {
    /// The client.
    pub lately: Lately,
    attempts: Arc<Mutex<Vec<Value>>>,
    iterators: HashMap<String, Entries>,
}

/// A call as a step has it: the names of its handles in `of`, its arguments in `with`, and its options in `named`.
struct Arguments<'a>(&'a Value);

impl Arguments<'_> {
    fn name(&self, index: usize) -> String {
        text(&self.0["of"][index])
    }

    /// The body of a call; an absent one is empty.
    fn body(&self, index: usize) -> Value {
        self.0["with"].get(index).cloned().unwrap_or_else(|| json!({}))
    }

    fn query<T: DeserializeOwned>(&self) -> T {
        let named = self.0.get("named").cloned().unwrap_or_else(|| json!({}));
        serde_json::from_value(named).expect("the case names parameters of the query")
    }

    fn key(&self) -> PostKey {
        match self.0["named"].get("key") {
            None => PostKey::Random,
            Some(Value::Null) => PostKey::None,
            Some(key) => PostKey::Given(text(key)),
        }
    }

    fn revision(&self, index: usize) -> Option<String> {
        self.0["with"].get(index).map(text)
    }

    /// Functions cannot be sent, so a case says which change it means.
    fn changed(&self, value: Value) -> Value {
        let change = self.body(0);
        let Some(field) = change["increment"].as_str() else { return change["set"].clone() };
        let mut value = if value.is_null() { json!({}) } else { value };
        value[field] = json!(value[field].as_u64().unwrap_or_default() + 1);
        value
    }
}

/// A name or a number as text.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn value(value: impl Serialize) -> CallResult {
    CallResult::Value(serde_json::to_value(value).expect("a result has JSON"))
}

fn entries<T: Serialize>(
    entries: impl EntryStream<Item = lately_client::Result<T>> + Send + 'static,
) -> Answer {
    Ok(CallResult::Entries(Box::pin(
        entries.map_ok(|entry| serde_json::to_value(entry).expect("an entry has JSON")),
    )))
}

async fn timeline<E>(timeline: &Timeline<E>, method: &str, arguments: &Arguments<'_>) -> Answer
where
    E: DeserializeOwned + Serialize + Send + 'static,
{
    match method {
        "page" => Ok(value(timeline.page(&arguments.query()).await?)),
        "pages" => entries(timeline.pages(arguments.query())),
        "events" => entries(timeline.events(arguments.query())),
        "follow" => {
            let named = |name: &str| arguments.0["named"].get(name).map(text);
            let (cursor, event_type, topic) = (named("cursor"), named("type"), named("topic"));
            let options = FollowOptions { cursor, event_type, topic, ..FollowOptions::default() };
            let json =
                |Followed { event, cursor, late }| json!({ "event": event, "cursor": cursor, "late": late });
            entries(Box::pin(timeline.follow(options).map_ok(json)))
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
        let attempts = Arc::<Mutex<Vec<Value>>>::default();
        let seen = attempts.clone();
        let lately = lately.using(|options| {
            options.on_call = Some(Arc::new(move |call| {
                let call = json!({ "status": call.status, "attempt": call.attempt, "cost": cost(call.cost) });
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(call);
            }));
        });
        Self { lately, attempts, iterators: HashMap::new() }
    }

    /// The attempts since the last time: the status, the number and the price of each.
    pub fn attempts(&self) -> Vec<Value> {
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
        let count =
            |name: &str| step[name].as_u64().map(|count| usize::try_from(count).expect("a small number"));
        if let Some(iterator) = step["next"].as_str() {
            let iterator = self.iterators.get_mut(iterator).expect("the iterator was started");
            return collect(iterator, count("count").unwrap_or(1)).await;
        }
        if let Some(iterator) = step["stop"].as_str() {
            self.iterators.remove(iterator);
            return Ok(Value::Null);
        }
        let path = step["do"].as_str().expect("a call");
        match (self.begin(path, &Arguments(step)).await?, step["start"].as_str()) {
            (CallResult::Entries(iterator), Some(name)) => {
                drop(self.iterators.insert(name.to_owned(), iterator));
                Ok(Value::Null)
            }
            (CallResult::Entries(mut iterator), None) => {
                collect(&mut iterator, count("take").unwrap_or(usize::MAX)).await
            }
            (CallResult::Value(value), _) => Ok(value),
        }
    }

    /// Calls a method, such as `feed.unread`.
    async fn begin(&self, path: &str, arguments: &Arguments<'_>) -> Answer {
        if let Some(method) = path.strip_prefix("topic.") {
            return self.begin_on_topic(method, arguments).await;
        }
        let (lately, with, name) =
            (&self.lately, |index| arguments.body(index), |index| arguments.name(index));
        let feed = lately.feed(name(0));
        let user = lately.user(name(0));
        let source = lately.source(name(0));
        let repo = lately.repo(name(0), name(1));
        let issue = repo.issue(name(2).parse().unwrap_or_default());
        let sessions = lately.sessions();
        let document = if path.starts_with("settings") { lately.settings(name(0)) } else { user.profile() };
        Ok(match path {
            "health" => value(lately.health().await.map(|()| json!({ "status": "ok" }))?),
            "topics" => return entries(lately.topics(arguments.query())),
            "feed.page" => value(feed.page(&arguments.query()).await?),
            "feed.unread" => value(feed.unread().await?),
            "feed.seen" => value(feed.seen(text(&with(0))).await?),
            "user.follow" => value(user.follow_with(text(&with(0)), &with(1)).await?),
            "user.unfollow" => value(user.unfollow(text(&with(0))).await?),
            "user.following" => return entries(user.following(arguments.query())),
            "source.get" => value(source.get().await?),
            "source.followers" => return entries(source.followers(arguments.query())),
            "user.profile.get" | "settings.get" => value(document.get::<Value>(arguments.query()).await?),
            "user.profile.put" | "settings.put" => {
                value(document.put(&with(0), arguments.revision(1).as_deref()).await?)
            }
            "user.profile.delete" | "settings.delete" => {
                value(document.delete(arguments.revision(0).as_deref()).await?)
            }
            "user.profile.update" | "settings.update" => {
                value(document.update(|now| arguments.changed(now.unwrap_or_default())).await?)
            }
            "repo.open" => value(repo.open(&with(0)).await?),
            "repo.issues" => return entries(repo.issues(arguments.query())),
            "repo.issue.get" => value(issue.get(arguments.query()).await?),
            "repo.issue.change" => value(issue.change(&with(0), with(1).as_u64().unwrap_or_default()).await?),
            "repo.issue.update" => value(issue.update(|_| arguments.changed(Value::Null)).await?),
            "sessions.self" => value(sessions.own().await?),
            "sessions.create" => value(sessions.create(&with(0)).await?),
            "sessions.list" => return entries(sessions.list(arguments.query())),
            "sessions.get" => value(sessions.get(text(&with(0))).await?),
            "sessions.revoke" => value(sessions.revoke(text(&with(0))).await?),
            "sessions.revoke_all" => value(sessions.revoke_all(text(&with(0))).await?),
            "erasures.begin" => value(lately.erasures().begin(&with(0)).await?),
            "erasures.list" => return entries(lately.erasures().list(arguments.query())),
            "erasures.get" => value(lately.erasures().get(text(&with(0))).await?),
            _ => match path.split_once('.') {
                Some(("feed", method)) => return timeline(&feed, method, arguments).await,
                Some(("actor", method)) => return timeline(&lately.actor(name(0)), method, arguments).await,
                Some(("subject", method)) => {
                    return timeline(&lately.subject(name(0)), method, arguments).await;
                }
                _ => panic!("{path} is no method"),
            },
        })
    }

    /// Calls a method of a topic, such as `consumer.poll`.
    async fn begin_on_topic(&self, method: &str, arguments: &Arguments<'_>) -> Answer {
        let with = |index| arguments.body(index);
        let topic = self.lately.topic(arguments.name(0));
        let consumer = topic.consumer(arguments.name(1));
        Ok(match method {
            "get" => value(topic.get().await?),
            "put" => value(topic.put(&with(0)).await?),
            "post" => value(topic.post_under(&arguments.key(), &with(0)).await?),
            "post_all" => {
                let events = with(0);
                value(topic.post_all(&arguments.key(), events.as_array().into_iter().flatten()).await?)
            }
            "event" => value(topic.event(text(&with(0))).await?),
            "delete_event" => value(topic.delete_event(text(&with(0))).await?),
            "delete" => value(topic.delete().await?),
            "preview_deletion" => value(topic.preview_deletion().await?),
            "deletion" => value(topic.deletion().await?),
            "consumer.get" => value(consumer.get().await?),
            "consumer.put" => value(consumer.put(&with(0)).await?),
            "consumer.delete" => value(consumer.delete().await?),
            "consumer.poll" => value(consumer.poll(&with(0)).await?),
            "consumer.commit" => value(consumer.commit(text(&with(0))).await?),
            "consumer.seek" => value(consumer.seek(text(&with(0))).await?),
            "consumer.runs" => return entries(consumer.runs(arguments.query())),
            "consumer.batches" => return entries(consumer.batches(&with(0))),
            _ => return timeline(&topic, method, arguments).await,
        })
    }
}

async fn collect(iterator: &mut Entries, count: usize) -> lately_client::Result<Value> {
    let mut found = Vec::new();
    while found.len() < count {
        match iterator.try_next().await? {
            Some(entry) => found.push(entry),
            None => break,
        }
    }
    Ok(found.into())
}

/// The parts of a price that cost something.
fn cost(Cost { read_units, write_units, calls, items, rounds }: Cost) -> Value {
    let mut cost = json!({ "read_units": read_units, "write_units": write_units, "calls": calls, "items": items, "rounds": rounds });
    cost.as_object_mut().expect("an object").retain(|_, part| part.as_f64() != Some(0.0));
    cost
}

fn problem(problem: &Problem) -> Value {
    let Problem { status, code, title, detail, errors, accepted, rejected, request_id, revision, .. } =
        problem;
    json!({
        "status": status, "code": code, "title": title, "detail": detail, "errors": errors, "accepted": accepted,
        "rejected": rejected, "request_id": request_id, "revision": revision, "cost": cost(problem.cost),
        "retry_after": problem.retry_after.map(|time| time.as_secs()),
    })
}
