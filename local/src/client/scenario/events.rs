//! The act on events: it writes them in every way, and reads them back as pages and timelines.

use std::collections::BTreeSet;

use lately_client::{FollowOptions, TryStreamExt};
use lately_keys::UnixMillis;
use serde_json::{Value, json};

use crate::client::scenario::call::{ScenarioAnswer, StepFailure};
use crate::client::scenario::cast::{Cast, now, walk};
use crate::client::scenario::stage::{ActResult, Stage};

/// The age of the imported event, in milliseconds.
const HOUR_MILLIS: u64 = 60 * 60 * 1000;

pub(super) async fn events(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let act = &EventsAct {
        cast,
        path: format!("/topics/{}/events", cast.topic),
        subject: format!("repo:octo-{}:hello", cast.run),
    };
    let mut posted = stage.step("an event is written, and read by its id", act.write_one()).await?;
    posted.extend(stage.step("batches are written as an array and as lines", act.write_batches()).await?);
    posted.extend(stage.step("a post that is repeated with its key is written once", act.repeat()).await?);
    let hour_ago = now().saturating_sub(HOUR_MILLIS);
    let import = stage.step("an import is written, and needs its scope", act.import(hour_ago)).await?;
    posted.extend(import.clone());
    // Ids sort by time, also as text.
    posted.sort();
    let newest: Vec<_> = posted.iter().rev().cloned().collect();
    stage.step("the latest events are read newest first, page by page", act.latest(&newest)).await?;
    stage.step("events that have settled are read oldest first", act.oldest(&posted)).await?;
    let note = stage.step("the cursor newer finds newer events", act.newer()).await?;
    stage.step("pages are filtered by type and by time", act.narrowed(&note, hour_ago, &import)).await?;
    let followed = stage.step("a follow shows each event that comes", act.follow()).await?;
    let all: Vec<_> = followed.into_iter().rev().chain(note).chain(newest).collect();
    stage.step("the timelines of the actor and the subject contain the events", act.sources(&all)).await?;
    Ok(())
}

/// The values that every step of the act uses.
struct EventsAct<'a> {
    cast: &'a Cast<'a>,
    /// The route of the topic's events.
    path: String,
    /// The subject of every event.
    subject: String,
}

impl EventsAct<'_> {
    /// An event as a request holds it.
    fn event(&self, kind: &str, number: u32) -> Value {
        let actor = &*self.cast.ada.name;
        json!({"type": kind, "actor": actor, "subject": self.subject, "data": {"number": number}})
    }

    async fn write_one(&self) -> Result<Vec<String>, StepFailure> {
        let Cast { ada, .. } = self.cast;
        let posted = ada.post(&self.path).json(&self.event("post.created", 1)).gives(201).await?;
        let ids = accepted(&posted);
        let at = format!("{}/{}", self.path, ids.concat());
        let is_so = posted.header("location")? == at;
        posted.shows("/actor", &*ada.name)?.holds(is_so, format_args!("the location {at}"))?;
        let shown = ada.get(&at).until("the event", |answer| answer.status() == 200).await?;
        shown.shows("/data/number", 1)?.shows("/subject", &*self.subject)?;
        Ok(ids)
    }

    async fn write_batches(&self) -> Result<Vec<String>, StepFailure> {
        let Cast { ada, .. } = self.cast;
        let batch = (2..5).map(|number| self.event("post.created", number)).collect::<Vec<_>>();
        let array = ada.post(&self.path).json(&Value::from(batch)).gives(201).await?;
        let mut ids = accepted(&array);
        array.shows("/accepted", 3)?;
        let lines = format!("{}\n{}\n", self.event("post.edited", 5), self.event("post.edited", 6));
        let lines = ada.post(&self.path).text("application/x-ndjson", lines).gives(201).await?;
        ids.extend(accepted(&lines));
        lines.shows("/accepted", 2)?;
        Ok(ids)
    }

    async fn repeat(&self) -> Result<Vec<String>, StepFailure> {
        let key = format!("scenario-{}", self.cast.run);
        let post = |number| {
            let post = self.cast.ada.post(&self.path).json(&self.event("post.created", number));
            post.header("idempotency-key", &key)
        };
        let first = post(7).gives(201).await?;
        let ids = accepted(&first);
        let again = post(7).gives(200).await?;
        let replayed = again.header("idempotent-replayed")? == "true";
        again.shows("/id", ids.concat())?.holds(replayed, "idempotent-replayed: true")?;
        post(8).refused(422, "idempotency-key-reused").await?;
        Ok(ids)
    }

    async fn import(&self, at: UnixMillis) -> Result<Vec<String>, StepFailure> {
        let Cast { admin, ada, .. } = self.cast;
        let mut event = self.event("post.created", 0);
        event["at"] = json!(at.to_string());
        ada.post(&self.path).json(&event).refused(403, "forbidden").await?;
        let imported = admin.post(&self.path).json(&event).gives(201).await?;
        Ok(accepted(&imported))
    }

    async fn latest(&self, newest: &[String]) -> Result<ScenarioAnswer, StepFailure> {
        let mut ids = Vec::new();
        let target = format!("{}?limit=3&consistent=true", self.path);
        let last = walk(&self.cast.bob, &target, |page| ids.extend(page.ids())).await?;
        last.holds(ids == newest, format_args!("these events on all pages: {newest:?}"))
    }

    async fn oldest(&self, posted: &[String]) -> Result<ScenarioAnswer, StepFailure> {
        let page = self.cast.bob.get(format_args!("{}?order=asc", self.path));
        let page = page.until("all events, oldest first", |page| page.ids() == posted).await?;
        page.shows("/has_more", false)
    }

    async fn newer(&self) -> Result<Vec<String>, StepFailure> {
        let (path, Cast { ada, bob, .. }) = (&self.path, self.cast);
        let page = bob.get(format_args!("{path}?limit=1&consistent=true")).gives(200).await?;
        let cursor = page.text("/newer")?;
        let new = accepted(&ada.post(path).json(&self.event("note.added", 9)).gives(201).await?);
        let page = bob.get(format_args!("{path}?cursor={cursor}"));
        page.until("only the new event", |page| page.ids() == new).await?;
        Ok(new)
    }

    async fn follow(&self) -> Result<Vec<String>, StepFailure> {
        let (path, Cast { topic, ada, bob, scenario, .. }) = (&self.path, self.cast);
        let page = bob.get(format_args!("{path}?limit=1&consistent=true")).gives(200).await?;
        let options = FollowOptions { cursor: Some(page.text("/newer")?), ..FollowOptions::default() };
        let mut events = bob.lately.topic(topic).follow(options);
        let mut new = Vec::new();
        for number in 10..12 {
            new.extend(accepted(&ada.post(path).json(&self.event("post.created", number)).gives(201).await?));
        }
        let mut left: BTreeSet<_> = new.iter().cloned().collect();
        let shown = async {
            while !left.is_empty() {
                let followed = events.try_next().await;
                let followed =
                    followed.map_err(|problem| StepFailure::new(format_args!("{path}: {problem}")))?;
                let followed = followed.ok_or_else(|| StepFailure::new("the follow ended"))?;
                left.remove(&followed.event.id.to_string());
            }
            Ok(())
        };
        let shown = tokio::time::timeout(scenario.patience, shown).await;
        shown.map_err(|_| StepFailure::new(format_args!("{path}: the follow does not show {new:?}")))??;
        Ok(new)
    }

    async fn narrowed(
        &self,
        note: &[String],
        hour_ago: UnixMillis,
        import: &[String],
    ) -> Result<ScenarioAnswer, StepFailure> {
        let (path, Cast { bob, .. }) = (&self.path, self.cast);
        let page = bob.get(format_args!("{path}?type=note.added"));
        page.until("the only event of that type", |page| page.ids() == note).await?;
        let end = hour_ago.saturating_add(1_000);
        let page = bob.get(format_args!("{path}?consistent=true&to={end}"));
        page.gives(200).await?.lists(import)
    }

    async fn sources(&self, all: &[String]) -> Result<(), StepFailure> {
        let Cast { topic, ada, bob, .. } = self.cast;
        for source in [format!("/actors/{}", ada.name), format!("/subjects/{}", self.subject)] {
            let page = bob.get(format_args!("{source}/events?topic={topic}&limit=200"));
            page.until("all of its events", |page| page.ids() == all).await?;
        }
        Ok(())
    }
}

/// The ids of the accepted events in a response.
fn accepted(answer: &ScenarioAnswer) -> Vec<String> {
    let one = answer.at("/id").as_str().map(str::to_owned);
    one.into_iter().chain(answer.ids()).collect()
}
