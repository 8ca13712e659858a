//! The act on feeds: a follow adds events to a feed, and a deletion or an unfollow removes them.

use serde_json::json;

use crate::client::scenario::call::{ScenarioAnswer, StepFailure};
use crate::client::scenario::cast::Cast;
use crate::client::scenario::stage::{ActResult, Stage};

pub(super) async fn feeds(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let Cast { topic, ada, bob, .. } = cast;
    let source = format!("actor:{}", ada.name);
    let following = format!("/users/{}/following", bob.name);
    let act = &FeedsAct {
        cast,
        feed: format!("/feeds/{}", bob.name),
        timeline: format!("/actors/{}/events", ada.name),
        events: format!("/topics/{topic}/events"),
        follow: format!("{following}/{source}"),
        source,
        following,
    };
    stage.step("a follow adds the latest post to the feed", act.follow()).await?;
    let posted = "a post appears in the feeds of its followers and its author";
    let id = stage.step(posted, act.show_post()).await?;
    stage.step("unread events are counted until they are seen", act.see(&id)).await?;
    stage.step("follows are listed by user and by source", act.list()).await?;
    let deleted = "a deleted event leaves its topic, timeline and feed";
    stage.step(deleted, act.delete(&id)).await?;
    stage.step("an unfollow removes the events from the feed", act.unfollow()).await?;
    Ok(())
}

/// The values that every step of the act uses. Bob follows ada.
struct FeedsAct<'a> {
    cast: &'a Cast<'a>,
    /// Ada, as a source.
    source: String,
    /// The route of bob's feed.
    feed: String,
    /// The route of ada's timeline.
    timeline: String,
    /// The route of the topic's events.
    events: String,
    /// The route of the list of sources that bob follows.
    following: String,
    /// The route of bob's follow of ada.
    follow: String,
}

impl FeedsAct<'_> {
    async fn post(&self, words: &str) -> Result<String, StepFailure> {
        let ada = &self.cast.ada;
        let event = json!({"type": "post.created", "actor": ada.name, "data": {"words": words}});
        ada.post(&self.events).json(&event).gives(201).await?.text("/id")
    }

    async fn follow(&self) -> Result<ScenarioAnswer, StepFailure> {
        let Cast { bob, scenario, .. } = self.cast;
        let before = self.post("before").await?;
        let page = bob.get(&self.timeline);
        page.until("the earlier post", |page| page.ids().contains(&before)).await?;
        let followed = bob.put(&self.follow).json(&json!({"backfill": 1})).gives(201).await?;
        scenario.leaves(&*self.follow);
        followed.shows("/source", &*self.source)?;
        bob.put(&self.follow).json(&json!({})).gives(200).await?;
        bob.get(&self.feed).until("the earlier post", |page| page.ids().contains(&before)).await
    }

    async fn show_post(&self) -> Result<String, StepFailure> {
        let Cast { ada, bob, .. } = self.cast;
        let id = self.post("after").await?;
        let waited = bob.get(format_args!("{}?wait_for={id}", self.feed));
        let page = waited.until("the new post", |page| page.ids().first() == Some(&id)).await?;
        page.shows("/events/0/data/words", "after")?;
        let own = ada.get(format_args!("/feeds/{}", ada.name));
        own.until("the author's own post", |page| page.ids().contains(&id)).await?;
        Ok(id)
    }

    async fn see(&self, id: &str) -> Result<ScenarioAnswer, StepFailure> {
        let (feed, Cast { bob, .. }) = (&self.feed, self.cast);
        let unread = bob.get(format_args!("{feed}/unread"));
        unread.until("unread events", |answer| answer.at("/unread").as_u64() > Some(0)).await?;
        bob.put(format_args!("{feed}/seen")).json(&json!({"id": id})).gives(204).await?;
        let unread = bob.get(format_args!("{feed}/unread"));
        unread.until("no unread events", |answer| answer.at("/unread") == 0).await
    }

    async fn list(&self) -> Result<ScenarioAnswer, StepFailure> {
        let (source, Cast { ada, bob, .. }) = (&self.source, self.cast);
        let list = bob.get(&self.following);
        list.until("the followed source", |list| list.list("/following", "source") == [&**source]).await?;
        let list = ada.get(format_args!("/sources/{source}/followers"));
        list.until("the follower", |list| list.list("/followers", "user") == [&*bob.name]).await?;
        let view = ada.get(format_args!("/sources/{source}"));
        view.until("one follower, and the mode push", |view| {
            view.at("/followers") == 1 && view.at("/mode") == "push"
        })
        .await
    }

    async fn delete(&self, id: &str) -> Result<(), StepFailure> {
        let (events, Cast { ada, bob, .. }) = (&self.events, self.cast);
        ada.delete(format_args!("{events}/{id}")).gives(204).await?;
        let event = bob.get(format_args!("{events}/{id}"));
        event.until("404", |answer| answer.is(404, "event-not-found")).await?;
        for target in [&self.timeline, &self.feed] {
            let is_without =
                |page: &ScenarioAnswer| page.status() == 200 && page.ids().iter().all(|it| it != id);
            bob.get(target).until("a page without the deleted event", is_without).await?;
        }
        Ok(())
    }

    async fn unfollow(&self) -> Result<ScenarioAnswer, StepFailure> {
        let Cast { bob, .. } = self.cast;
        bob.delete(&self.follow).gives(204).await?;
        let list = bob.get(&self.following);
        list.until("an empty list of sources", |list| list.at("/following") == &json!([])).await?;
        bob.get(&self.feed).until("an empty feed", |page| page.at("/events") == &json!([])).await
    }
}
