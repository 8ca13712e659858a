//! The requests of a load. Posts are sent when they are due, whether earlier ones are answered or not, as many
//! independent producers do; no request is repeated.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use lately_client::{Answer, FollowOptions, Followed, Lately, PageQuery, PostKey, Problem, TryStreamExt};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep};

use crate::client::load::tally::{LoadTally, Side};

/// The most requests of posts a second: at higher rates, each has several events.
pub(super) const POSTS_A_SECOND: u32 = 100;

/// The most posts that wait for a response. Further ones are not sent.
const POSTS_AT_ONCE: usize = 1_000;

/// Follows that are made or removed at the same time.
const FOLLOWS_AT_ONCE: usize = 10;

/// The pause between two measurements of fan-out.
const SAMPLE_PAUSE: Duration = Duration::from_millis(100);

/// The events that each topic has before the load begins: a page.
const PAGE: u16 = 50;

/// An accepted event, and when it was accepted.
type LastAccepted = Option<(String, Instant)>;

/// A load that runs.
#[derive(Debug)]
pub(super) struct Traffic {
    pub(super) lately: Lately,
    pub(super) topics: Vec<String>,
    pub(super) actors: Vec<String>,
    /// The users who follow all actors.
    pub(super) followers: Vec<String>,
    /// The events of a post.
    pub(super) batch: u64,
    pub(super) bytes: usize,
    pub(super) tally: Mutex<LoadTally>,
    pub(super) accepted: watch::Sender<LastAccepted>,
}

impl Traffic {
    pub(super) fn tally(&self) -> MutexGuard<'_, LoadTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates topics and follows, and posts a page of events to each topic.
    pub(super) async fn set_up(&self) -> lately_client::Result<()> {
        for topic in &self.topics {
            self.lately.topic(topic).put(&json!({})).await?;
        }
        let follow = |user: String, source| async move {
            self.lately.user(user).follow_with(source, &json!({ "backfill": 0 })).await.map(drop)
        };
        self.each_follow(follow).await?;
        let mut last = None;
        for topic in &self.topics {
            let events: Vec<_> = (0..PAGE.into()).map(|number| self.event(topic, number)).collect();
            last = self.lately.topic(topic).post_all(&PostKey::None, events).await?.pop();
        }
        // The load begins when fan-out has caught up. If it does not, the delays will say so.
        if let (Some(event), Some(user)) = (last, self.followers.first()) {
            drop(self.feed_with(user, &event.id.to_string()).await);
        }
        Ok(())
    }

    /// Removes what `set_up` and the posts have created. The service deletes the events on its own from then on.
    pub(super) async fn clean_up(&self) -> lately_client::Result<()> {
        let unfollow = |user: String, source| async move { self.lately.user(user).unfollow(source).await };
        let unfollowed = self.each_follow(unfollow).await;
        for topic in &self.topics {
            match self.lately.topic(topic).delete().await {
                Err(problem) if problem.status != 404 => return Err(problem),
                _ => {}
            }
        }
        unfollowed
    }

    async fn each_follow<F: Future<Output = lately_client::Result<()>>>(
        &self,
        call: impl Fn(String, String) -> F,
    ) -> lately_client::Result<()> {
        let follows =
            self.followers.iter().flat_map(|user| self.actors.iter().map(move |actor| (user, actor)));
        let calls = follows.map(|(user, actor)| call(user.clone(), format!("actor:{actor}")));
        stream::iter(calls.collect::<Vec<_>>()).buffer_unordered(FOLLOWS_AT_ONCE).try_collect().await
    }

    /// Sends the posts of a number, or counts them as not sent.
    pub(super) fn offer(self: &Arc<Self>, number: u64, posts: &mut JoinSet<()>) {
        self.tally().offered += self.batch;
        if posts.len() < POSTS_AT_ONCE {
            let traffic = Arc::clone(self);
            posts.spawn(async move { traffic.post(number).await });
        } else {
            self.tally().refuse("not-sent", self.batch);
        }
    }

    async fn post(&self, number: u64) {
        let index = usize::try_from(number).unwrap_or_default() % self.topics.len();
        let topic = &self.topics[index];
        let events: Vec<_> = (0..self.batch).map(|of| self.event(topic, number * self.batch + of)).collect();
        let posted = self.once().topic(topic).post_batch(&PostKey::None, &events).answer().await;
        let now = Instant::now();
        let mut tally = self.tally();
        let (cost, ids, code) = match posted {
            Ok(Answer { value, cost, .. }) => {
                let ids = value.events.iter().map(|event| event.id.to_string());
                (cost, ids.collect::<Vec<_>>(), "invalid-response".to_owned())
            }
            Err(problem) => {
                let ids = problem.accepted.iter().map(|event| event.id.to_string()).collect();
                (problem.cost, ids, problem.code)
            }
        };
        tally.write_units += cost.write_units;
        tally.accepted += ids.len() as u64;
        tally.refuse(&code, self.batch.saturating_sub(ids.len() as u64));
        if index == 0 {
            ids.iter().for_each(|id| tally.show(id, Side::Post, now));
        }
        if let Some(id) = ids.into_iter().next() {
            self.accepted.send_replace(Some((id, now)));
        }
    }

    /// A client that repeats no request.
    fn once(&self) -> Lately {
        self.lately.using(|options| options.attempts = 1)
    }

    /// An event whose item has the size that was asked for.
    fn event(&self, topic: &str, number: u64) -> Value {
        let actor = &self.actors[usize::try_from(number).unwrap_or_default() % self.actors.len()];
        let keys = "pkEVENTS##2026-01-01#SHARD0sk".len() + topic.len() + 36;
        let rest = "tload.postedavasfd\"\"".len() + actor.len();
        let text = "x".repeat(self.bytes.saturating_sub(keys + rest));
        json!({ "type": "load.posted", "actor": actor, "data": text })
    }

    /// Reads the first page of a topic once a second.
    pub(super) async fn read(self: Arc<Self>, reader: u32, readers: u32) {
        sleep(Duration::from_secs(1) * reader / readers).await;
        let topic = &self.topics[reader as usize % self.topics.len()];
        let topic = self.once().topic(topic);
        let query = PageQuery { limit: Some(PAGE), ..PageQuery::default() };
        let mut seconds = interval(Duration::from_secs(1));
        loop {
            seconds.tick().await;
            let page = topic.page(&query).reading::<IgnoredAny>().answer().await;
            let mut tally = self.tally();
            match page {
                Ok(page) => {
                    tally.pages += 1;
                    tally.read_units += page.cost.read_units;
                }
                Err(problem) => tally.refuse_page(&problem),
            }
        }
    }

    /// Measures, again and again, when an accepted event is in a follower's feed.
    pub(super) async fn follow_feed(self: Arc<Self>, user: String) {
        let mut accepted = self.accepted.subscribe();
        while accepted.changed().await.is_ok() {
            let last = accepted.borrow_and_update().clone();
            let Some((id, at)) = last else { continue };
            match self.feed_with(&user, &id).await {
                Err(problem) if problem.code != "not-yet-visible" => self.tally().refuse_page(&problem),
                // An event that is not there after 5 s counts with this time.
                _ => self.tally().fan_out.add(at.elapsed()),
            }
            sleep(SAMPLE_PAUSE).await;
        }
    }

    /// True if the stream has still to show events, or if no feed has shown any.
    pub(super) fn awaits_delays(&self) -> bool {
        let tally = self.tally();
        let awaits_feed = !self.followers.is_empty() && tally.accepted > 0 && tally.fan_out.is_empty();
        tally.awaits_stream() || awaits_feed
    }

    /// Reads a feed as soon as it has an event.
    async fn feed_with(&self, user: &str, id: &str) -> Result<(), Box<Problem>> {
        let query = PageQuery { limit: Some(1), wait_for: Some(id.to_owned()), ..PageQuery::default() };
        self.lately.feed(user).page(&query).await.map(drop)
    }

    /// Follows the first topic live, and notes when its events come.
    pub(super) async fn follow_topic(self: Arc<Self>) {
        let mut events = self.lately.topic(&self.topics[0]).follow(FollowOptions::default());
        while let Some(followed) = events.next().await {
            match followed {
                Ok(Followed { event, .. }) => {
                    self.tally().show(&event.id.to_string(), Side::Stream, Instant::now());
                }
                Err(problem) => self.tally().refuse_page(&problem),
            }
        }
    }
}
