//! Live streams of server-sent events.
//!
//! The gateway does not stream. So on AWS the function has a URL of its own, and asks the authorizer's code for the
//! caller of each request ([`router`]). The local program serves the same routes beside the others.
//!
//! | for | see |
//! | --- | --- |
//! | the body of a stream | `stream.rs` |
//! | the caller's rights while the stream is open | `access.rs` |
//! | following a timeline without a gap | `lately-store`, `live/` |

mod access;
pub mod limits;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRequestParts, Request};
use axum::http::HeaderName;
use axum::http::request::Parts;
use axum::middleware::from_fn_with_state;
use lately_authorize::{Authorizer, authorize};
use lately_items::Timeline;
use lately_keys::{Actor, Source, Subject, Topic, User};
use lately_kit::answer::EventStream;
use lately_kit::caller::Caller;
use lately_kit::code::Code;
use lately_kit::document::Description;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::quota::Permission;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_model::{LiveQuery, SourceLiveQuery};
use lately_store::{Op, OpenStream, Store};
use tokio::sync::watch;

use crate::access::Rights;
use crate::limits::{STREAM_TIME, STREAM_TIME_SPREAD};
use crate::stream::LiveStream;

/// The header with which a client that connects again continues.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The parts that all streams share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Live {
    store: Store,
    authorizer: Authorizer,
    /// All streams end when this changes.
    stop: Arc<watch::Sender<()>>,
    /// A stream ends after this.
    time: Duration,
}

impl Live {
    /// Streams of a store's timelines, for callers that this authorizer knows.
    pub fn new(store: Store, authorizer: Authorizer) -> Self {
        Self { store, authorizer, stop: Arc::new(watch::Sender::new(())), time: STREAM_TIME }
    }

    /// The same, but the streams end after this time at the latest.
    #[must_use]
    pub fn lasting(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    /// The same, but the streams end when a value is sent here.
    pub fn ending_with(self, stop: Arc<watch::Sender<()>>) -> Self {
        Self { stop, ..self }
    }

    async fn stream(
        &self,
        request: Request,
        timeline: Timeline,
        query: SourceLiveQuery,
    ) -> Result<EventStream, Problem> {
        let (mut parts, _) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, &()).await?;
        let op = parts.extensions.get::<Op>().cloned().expect("the gate adds the store's handle");
        let SourceLiveQuery { live, topic } = query;
        let live = LiveQuery { cursor: last_event_id(&parts)?.or(live.cursor), ..live };
        let permission = Permission::from_request_parts(&mut parts, &()).await?;
        let with_topics = !matches!(timeline, Timeline::Topic(_));
        let mut open = OpenStream::open(&op, &caller.quota_holder(), self.time).await?;
        let follower = match Box::pin(op.follow(timeline, &live, topic.as_ref())).await {
            Ok(follower) => follower,
            Err(error) => {
                open.close().await;
                return Err(error.into());
            }
        };
        let [random, ..] = self.store.ambient().entropy().to_le_bytes();
        let time = self.time - self.time / STREAM_TIME_SPREAD * u32::from(random) / 255;
        let stopped = self.stop.subscribe();
        let rights = Rights { authorizer: self.authorizer.clone(), parts, permission, open };
        Ok(LiveStream::new(follower, with_topics, rights, stopped, time).into_response())
    }
}

/// The cursor in the header `Last-Event-ID`.
fn last_event_id(parts: &Parts) -> Result<Option<String>, Problem> {
    let Some(id) = parts.headers.get(LAST_EVENT_ID).filter(|id| !id.is_empty()) else { return Ok(None) };
    let id = id.to_str().map_err(|_| {
        Problem::new(Code::InvalidCursor, "The header Last-Event-ID is not a live stream id.")
    })?;
    Ok(Some(id.to_owned()))
}

/// The routes of this function.
pub fn routes<D: Description>(live: &Live) -> Routes<D> {
    let of = || live.clone();
    let (topics, actors, subjects, feeds) = (of(), of(), of(), of());
    let stream_topic_events =
        async move |Part(topic): Part<Topic>, Query(live): Query<LiveQuery>, request: Request| {
            let query = SourceLiveQuery { live, topic: None };
            topics.stream(request, Timeline::Topic(topic), query).await
        };
    let stream_actor_events =
        async move |Part(actor): Part<Actor>, Query(query): Query<SourceLiveQuery>, request: Request| {
            let timeline = Timeline::Source(Source::Actor(actor));
            actors.stream(request, timeline, query).await
        };
    let stream_subject_events =
        async move |Part(subject): Part<Subject>, Query(query): Query<SourceLiveQuery>, request: Request| {
            let timeline = Timeline::Source(Source::Subject(subject));
            subjects.stream(request, timeline, query).await
        };
    let stream_feed = async move |Part(user): Part<User>, Query(live): Query<LiveQuery>, request: Request| {
        let query = SourceLiveQuery { live, topic: None };
        feeds.stream(request, Timeline::Feed(user), query).await
    };
    let of_events = routes! { "Events"
        /// Follow a topic live
        ///
        /// The events of the topic, as they arrive.
        GET "/topics/{topic}/live" OnTopic(Read) Stream stream_topic_events {
            200 "A stream of server-sent events.";
            else TopicNotFound
        }

        /// Follow an actor live
        ///
        /// The actor's events of topics that have this view and that the token may read, as they arrive.
        GET "/actors/{actor}/live" Holds(Read) Stream stream_actor_events { 200 "A stream of server-sent events."; }

        /// Follow a subject live
        ///
        /// The subject's events of topics that have this view and that the token may read, as they arrive.
        GET "/subjects/{subject}/live" Holds(Read) Stream stream_subject_events {
            200 "A stream of server-sent events.";
        }
    };
    let of_feeds = routes! { "Feeds"
        /// Follow a user's feed live
        ///
        /// The events of the sources that the user follows, and the user's own posts, as they arrive.
        GET "/feeds/{user}/live" AsUser(Read) Stream stream_feed { 200 "A stream of server-sent events."; }
    };
    of_events.and(of_feeds).with_store(&live.store)
}

/// The routes behind the authorizer's code, for a function without a gateway.
pub fn router(live: Live) -> Router {
    let authorizer = from_fn_with_state(live.authorizer.clone(), authorize);
    // Only known routes, as behind the gateway.
    routes::<()>(&live).into_router().route_layer(authorizer)
}
