//! The removal of what a step lists. Everything here may be done twice.

use lately_items::issue::OPENED_BY;
use lately_items::{ErasedPageKey, ErasureStep, EventKey, ListedEvents, place_in_feed};
use lately_keys::{Actor, EventId, Source, TableKey, User};
use lately_table::{Condition, TableError, Update};

use crate::at_once::run_each;
use crate::fan_out::batch::FanOut;
use crate::limits::{ERASED_IDS_SECONDS, WRITES_AT_ONCE};
use crate::op::Op;
use crate::work::delete_each;

/// Unfollows of one user that an erasure makes at the same time. They work on different sources.
const UNFOLLOWS_AT_ONCE: usize = 4;

/// The name that replaces an erased user's in issues.
const ERASED_BY: &str = "erased";

/// Removes what a step lists.
pub(super) async fn remove_listed(fan_out: FanOut<'_>, step: &ErasureStep) -> Result<(), TableError> {
    let (op, listed) = (fan_out.op, &step.listed);
    remove_events(fan_out, step).await?;
    if let Some(user) = &step.user {
        fan_out.delete(listed.feed.iter().map(|id| place_in_feed(*id, user)).collect()).await?;
        let unfollow = async |source| op.user(user).unfollow(source).await;
        run_each(UNFOLLOWS_AT_ONCE, listed.follows.iter().map(unfollow)).await?;
    }
    forget_opener(op, step).await?;
    delete_each(op, listed.keys.clone()).await?;
    if let Some(actor) = &step.actor {
        let source = Source::Actor(actor.clone());
        // All of them change the same counts, so they wait for each other anyway.
        for follower in &listed.followers {
            op.user(follower).unfollow(&source).await?;
        }
    }
    Ok(())
}

/// Deletes events, after their ids are in the pages. Fan-out removes their entries when the events' records come.
async fn remove_events(fan_out: FanOut<'_>, step: &ErasureStep) -> Result<(), TableError> {
    let (op, events) = (fan_out.op, &step.listed.events);
    let mut ids: Vec<_> = events.iter().flat_map(|events| events.ids.iter().copied()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    ids.sort_unstable();
    let page = ErasedPageKey { erasure: step.erasure, page: step.name.number };
    op.table.put(&page.item(&ids, op.now().get() / 1000 + ERASED_IDS_SECONDS)).await?;
    for keyed in events.iter().filter(|events| events.is_keyed) {
        let note = async |id: &EventId| op.event(&keyed.topic, *id).note_deletion().await;
        run_each(WRITES_AT_ONCE, keyed.ids.iter().map(note)).await?;
    }
    let keys = events.iter().flat_map(|ListedEvents { topic, width, ids, .. }| {
        ids.iter().map(|id| EventKey::new(topic.clone(), *width, *id).encode())
    });
    fan_out.delete(keys.collect()).await
}

/// Replaces the name of those who opened issues.
async fn forget_opener(op: &Op, step: &ErasureStep) -> Result<(), TableError> {
    let (actor, user) = (step.actor.as_ref().map(Actor::as_str), step.user.as_ref().map(User::as_str));
    let is_opener = actor.into_iter().chain(user).map(|name| Condition::equals(OPENED_BY, name));
    let Some(is_opener) = is_opener.reduce(Condition::or) else { return Ok(()) };
    let updates = step.listed.issues.iter().map(async |key| {
        let update = Update::under(key.clone()).set(OPENED_BY, ERASED_BY).only_if(is_opener.clone());
        op.table.update(&update).await.map(drop)
    });
    run_each(WRITES_AT_ONCE, updates).await
}
