//! The act on the topic's deletion: the topic that the run created goes, with its events, their copies and its
//! consumers.

use serde_json::json;

use crate::client::scenario::call::{ScenarioAnswer, StepFailure};
use crate::client::scenario::cast::Cast;
use crate::client::scenario::stage::{ActResult, Stage};

pub(super) async fn deletion(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let act = &DeletionAct {
        cast,
        path: format!("/topics/{}", cast.topic),
        delete: format!("/topics/{0}?confirm={0}", cast.topic),
    };
    stage.step("the deletion of the topic has a dry run, and needs the topic's name", act.preview()).await?;
    stage.step("a topic that is being deleted is hidden, and takes no writes", act.delete()).await?;
    stage.step("the topic's events are deleted", act.progress()).await?;
    Ok(())
}

/// The values that every step of the act uses.
struct DeletionAct<'a> {
    cast: &'a Cast<'a>,
    /// The route of the topic.
    path: String,
    /// The route of the topic, with its name as the confirmation.
    delete: String,
}

impl DeletionAct<'_> {
    async fn preview(&self) -> Result<ScenarioAnswer, StepFailure> {
        let (path, Cast { topic, admin, ada, .. }) = (&self.path, self.cast);
        ada.delete(&self.delete).refused(403, "forbidden").await?;
        admin.delete(path).refused(400, "invalid-query").await?;
        admin.get(format_args!("{path}/deletion")).refused(404, "not-found").await?;
        // So that there is something to delete, even if the other acts were skipped.
        let event = json!({"type": "note.added", "actor": ada.name});
        ada.post(format_args!("{path}/events")).json(&event).gives(201).await?;
        let preview = admin.delete(format_args!("{path}?dry_run=true")).gives(200).await?;
        let is_so = preview.at("/buckets").as_u64() > Some(0) && preview.at("/shards").as_u64() > Some(0);
        preview.shows("/topic", &**topic)?.holds(is_so, "buckets and shards")
    }

    async fn delete(&self) -> Result<ScenarioAnswer, StepFailure> {
        let (path, Cast { topic, admin, ada, .. }) = (&self.path, self.cast);
        let begun = admin.delete(&self.delete).gives(202).await?;
        let at = format!("{path}/deletion");
        let is_so = begun.header("location")? == at;
        let begun = begun.shows("/topic", &**topic)?.shows("/state", "deleting")?;
        begun.holds(is_so, format_args!("the location {at}"))?;
        // Caches may be some seconds behind. An event that is accepted meanwhile is deleted, too.
        let page = ada.get(format_args!("{path}/events"));
        page.until("404", |answer| answer.is(404, "topic-not-found")).await?;
        let event = json!({"type": "note.added", "actor": ada.name});
        let post = ada.post(format_args!("{path}/events")).json(&event);
        post.until("409", |answer| answer.is(409, "topic-is-being-deleted")).await?;
        admin.put(path).json(&json!({})).refused(409, "topic-is-being-deleted").await
    }

    /// The deletion ends a minute after its begin, at the earliest. The run does not wait for its end.
    async fn progress(&self) -> Result<ScenarioAnswer, StepFailure> {
        let progress = self.cast.admin.get(format_args!("{}/deletion", self.path));
        let is_so = |answer: &ScenarioAnswer| {
            ["/events", "/buckets"].iter().all(|count| answer.at(count).as_u64() > Some(0))
        };
        progress.until("deleted events and buckets", is_so).await
    }
}
