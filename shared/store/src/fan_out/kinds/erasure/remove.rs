//! The removal of what a step lists. Everything here may be done twice.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use lately_items::issue::OPENED_BY;
use lately_items::{ErasureList, ErasureStep, EventKey, IssueKey, LateEventKey, ListedEvents, place_in_feed};
use lately_keys::{Actor, Key, Source, TableKey, User};
use lately_table::{Condition, TableError, Update};

use crate::erasure::ids::ErasedIds;
use crate::fan_out::batch::FanOut;
use crate::limits::WRITES_AT_ONCE;

/// Unfollows of one user that an erasure makes at the same time. They work on different sources.
const UNFOLLOWS_AT_ONCE: usize = 4;

/// The name that replaces an erased user's in issues.
const ERASED_BY: &str = "erased";

/// The removal of what one step lists.
#[derive(Clone, Copy)]
pub(super) struct Removing<'a> {
    pub(super) fan_out: FanOut<'a>,
    pub(super) step: &'a ErasureStep,
}

impl Removing<'_> {
    pub(super) async fn remove_listed(self) -> Result<(), TableError> {
        let ErasureList { feed, keys, follows, followers, issues, .. } = &self.step.listed;
        self.remove_events().await?;
        if let Some(user) = &self.step.user {
            let entries = feed.iter().map(|id| place_in_feed(*id, user)).collect();
            self.fan_out.delete(entries).await?;
            self.unfollow(user, follows).await?;
        }
        self.forget_opener(issues).await?;
        self.fan_out.queue().delete_each(keys.clone()).await?;
        match &self.step.actor {
            Some(actor) => self.lose_followers(actor, followers).await,
            None => Ok(()),
        }
    }

    /// Deletes events, after their ids are in the pages. Fan-out removes their entries when the events' records come.
    async fn remove_events(self) -> Result<(), TableError> {
        let op = self.fan_out.op;
        let events = &self.step.listed.events;
        let mut ids: Vec<_> = events.iter().flat_map(|events| events.ids.iter().copied()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        ids.sort_unstable();
        ErasedIds { op, erasure: self.step.erasure }.put_page(self.step.name.number, &ids).await?;
        for keyed in events.iter().filter(|events| events.is_keyed) {
            let notes: Vec<_> =
                keyed.ids.iter().map(async |id| op.topic(&keyed.topic).note_deletion(*id).await).collect();
            stream::iter(notes).buffer_unordered(WRITES_AT_ONCE).try_collect::<()>().await?;
        }
        self.fan_out.queue().delete_each(self.late_keys(events).await?).await?;
        let keys = events.iter().flat_map(|events| keys_of(events).map(|key| key.encode()));
        self.fan_out.delete(keys.collect()).await
    }

    async fn unfollow(self, user: &User, sources: &[Source]) -> Result<(), TableError> {
        let op = self.fan_out.op;
        let unfollows: Vec<_> =
            sources.iter().map(async |source| op.user(user).unfollow(source).await).collect();
        stream::iter(unfollows).buffer_unordered(UNFOLLOWS_AT_ONCE).try_collect().await
    }

    /// Lets users no longer follow the actor.
    async fn lose_followers(self, actor: &Actor, followers: &[User]) -> Result<(), TableError> {
        let op = self.fan_out.op;
        let source = Source::Actor(actor.clone());
        // All of them change the same counts, so they wait for each other anyway.
        for follower in followers {
            op.user(follower).unfollow(&source).await?;
        }
        Ok(())
    }

    /// Replaces the name of those who opened issues.
    async fn forget_opener(self, issues: &[Key]) -> Result<(), TableError> {
        let op = self.fan_out.op;
        let (actor, user) =
            (self.step.actor.as_ref().map(Actor::as_str), self.step.user.as_ref().map(User::as_str));
        let is_opener = actor.into_iter().chain(user).map(|name| Condition::equals(OPENED_BY, name));
        let Some(is_opener) = is_opener.reduce(Condition::or) else { return Ok(()) };
        let updates: Vec<_> = issues
            .iter()
            .filter_map(|key| IssueKey::decode(&key.pk, &key.sk))
            .map(|key| Update::of(&key).set(OPENED_BY, ERASED_BY).only_if(is_opener.clone()))
            .map(async |update| op.table.update(&update).await.map(drop))
            .collect();
        stream::iter(updates).buffer_unordered(WRITES_AT_ONCE).try_collect().await
    }

    /// The keys of the events' notes in the late ledgers of the topics' consumers.
    async fn late_keys(self, events: &[ListedEvents]) -> Result<Vec<Key>, TableError> {
        let op = self.fan_out.op;
        let mut keys = Vec::new();
        for ListedEvents { topic, ids, .. } in events {
            for announced in op.topic(topic).announcements().await? {
                let consumer = announced.consumer;
                keys.extend(
                    ids.iter().map(|id| LateEventKey { consumer: consumer.clone(), id: *id }.encode()),
                );
            }
        }
        Ok(op.table.existing(&keys).await?.into_iter().collect())
    }
}

/// The keys of the events.
fn keys_of(listed: &ListedEvents) -> impl Iterator<Item = EventKey> {
    listed.ids.iter().map(|id| EventKey::new(listed.topic.clone(), listed.width, *id))
}
