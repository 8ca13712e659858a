//! The act on issues: it opens, lists and closes them, and finds the event of each change.

use serde_json::json;

use crate::client::scenario::call::{ScenarioAnswer, StepFailure};
use crate::client::scenario::cast::Cast;
use crate::client::scenario::stage::{ActResult, Stage};

pub(super) async fn issues(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let act = &IssuesAct {
        cast,
        path: format!("/repos/octo-{}/world/issues", cast.run),
        subject: format!("repo:octo-{}:world", cast.run),
    };
    let tag = stage.step("issues are opened, numbered and read", act.open()).await?;
    stage.step("issues are listed by number, priority and status", act.list()).await?;
    stage.step("an issue is closed with its revision, and listed as closed", act.close(&tag)).await?;
    let told = "each change appears as an event in the topic issues and in feeds";
    stage.step(told, act.show_events()).await?;
    Ok(())
}

/// The values that every step of the act uses.
struct IssuesAct<'a> {
    cast: &'a Cast<'a>,
    /// The route of the repository's issues.
    path: String,
    /// The repository, as the subject of events.
    subject: String,
}

fn numbers(list: &ScenarioAnswer) -> Vec<String> {
    list.list("/issues", "number")
}

impl IssuesAct<'_> {
    /// Opens two issues. The result is the first one's entity tag.
    async fn open(&self) -> Result<String, StepFailure> {
        let (path, Cast { ada, bob, scenario, .. }) = (&self.path, self.cast);
        let following = format!("/users/{}/following/subject:{}", bob.name, self.subject);
        bob.put(&following).json(&json!({})).gives(201).await?;
        scenario.leaves(following);
        let issue = json!({"title": "It runs backwards", "body": "Since yesterday.", "labels": ["critical"]});
        let opened = ada.post(path).json(&issue).gives(201).await?;
        let tag = opened.header("etag")?;
        opened.shows("/number", 1)?.shows("/status", "open")?.shows("/priority", "high")?;
        let issue = json!({"title": "It could run faster", "labels": ["enhancement"]});
        ada.post(path).json(&issue).gives(201).await?.shows("/number", 2)?.shows("/priority", "low")?;
        let shown = bob.get(format_args!("{path}/1?consistent=true")).gives(200).await?;
        shown.shows("/opened_by", &*ada.name)?;
        Ok(tag)
    }

    async fn list(&self) -> Result<ScenarioAnswer, StepFailure> {
        let (path, Cast { bob, .. }) = (&self.path, self.cast);
        let all = bob.get(format_args!("{path}?order=asc"));
        all.until("both issues", |list| numbers(list) == ["1", "2"]).await?;
        for (query, number) in [("from=2&to=2", "2"), ("priority=high", "1"), ("priority=low", "2")] {
            let list = bob.get(format_args!("{path}?{query}"));
            list.until("the issue", |list| numbers(list) == [number]).await?;
        }
        let open = bob.get(format_args!("{path}?status=open"));
        open.until("both issues", |list| numbers(list) == ["2", "1"]).await
    }

    async fn close(&self, tag: &str) -> Result<ScenarioAnswer, StepFailure> {
        let (path, Cast { ada, bob, .. }) = (&self.path, self.cast);
        let first = format!("{path}/1");
        let close = json!({"status": "closed"});
        ada.patch(&first).json(&close).refused(428, "revision-required").await?;
        let changed = ada.patch(&first).header("if-match", tag).json(&close).gives(200).await?;
        let revision = changed.at("/revision").to_string();
        changed.shows("/status", "closed")?;
        ada.patch(&first).header("if-match", tag).json(&close).refused(412, "revision-mismatch").await?;
        let list = bob.get(format_args!("{path}?status=closed&wait_for=1@{revision}"));
        list.until("the closed issue", |list| numbers(list) == ["1"]).await
    }

    async fn show_events(&self) -> Result<ScenarioAnswer, StepFailure> {
        let Cast { ada, bob, scenario, .. } = self.cast;
        let page = bob.get(format_args!("/subjects/{}/events?topic=issues", self.subject));
        let told = ["issue.closed", "issue.opened", "issue.opened"];
        let page =
            page.until("the three events of the issues", |page| page.list("/events", "type") == told).await?;
        let ids = page.ids();
        ids.iter().for_each(|id| scenario.leaves(format!("/topics/issues/events/{id}")));
        let event = bob.get(format_args!("/topics/issues/events/{}", ids[0]));
        let event = event.until("the event", |answer| answer.status() == 200).await?;
        event.shows("/data/number", 1)?.shows("/actor", &*ada.name)?;
        let feed = bob.get(format_args!("/feeds/{}", bob.name));
        feed.until("the same events in a follower's feed", |page| {
            ids.iter().all(|id| page.ids().contains(id))
        })
        .await
    }
}
