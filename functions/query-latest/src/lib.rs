//! Reading events.

use lately_keys::{Actor, EventId, Source, Subject, Topic, User};
use lately_kit::answer::Json;
use lately_kit::document::Description;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_model::{Event, EventQuery, FeedPage, FeedQuery, Page, SourceQuery, TimelineEvent, Unread};

/// The routes of this function.
pub fn routes<D: Description>() -> Routes<D> {
    let events = routes! { "Events"
        /// Get a page of a topic's events, newest first or oldest first
        ///
        /// On newest-first pages `next` is null at the end. On oldest-first pages `next` is never null: with `has_more`
        /// false the reader has caught up, and the same cursor later returns newer events. After `has_more` true, one
        /// empty page may follow.
        ///
        /// `newer`, on newest-first pages, continues oldest first after the page's newest event, or two seconds before
        /// the page was read if that is earlier: poll it for new events. It skips no event, and may repeat events of
        /// those two seconds; recognise them by `id`. Oldest-first pages end two seconds before now.
        GET "/topics/{topic}/events" OnTopic(Read) Read get_latest { 200 "A page."; else TopicNotFound }

        /// Get an event
        ///
        /// An event can be fetched as soon as a response has returned its id.
        GET "/topics/{topic}/events/{id}" OnTopic(Read) Read get_event {
            200 "The event.";
            else TopicNotFound, EventNotFound
        }

        /// Get an actor's events, newest first
        ///
        /// The events of topics that have this view and that the token may read. The timeline is written
        /// asynchronously, usually within a second.
        GET "/actors/{actor}/events" Holds(Read) ReadShared get_actor_events { 200 "A page."; else NotYetVisible }

        /// Get a subject's events, newest first
        ///
        /// The events of topics that have this view and that the token may read. The timeline is written
        /// asynchronously, usually within a second.
        GET "/subjects/{subject}/events" Holds(Read) ReadShared get_subject_events {
            200 "A page.";
            else NotYetVisible
        }
    };
    let feeds = routes! { "Feeds"
        /// Get a user's feed, newest first
        ///
        /// The events of the sources that the user follows, and the user's own posts, of topics that the token may
        /// read.
        GET "/feeds/{user}" AsUser(Read) ReadShared get_feed { 200 "A page."; else NotYetVisible }

        /// Count the unread entries of a feed
        ///
        /// Counts the entries that are newer than the seen mark and not the user's own. The count is exact, and costs a
        /// read of these entries. If `more` is true, the count stopped at 64 read units (at least 500 entries, if the feed
        /// pulls no sources), and there are at least `unread` entries.
        GET "/feeds/{user}/unread" AsUser(Read) ReadShared get_unread { 200 "The count."; }
    };
    events.and(feeds)
}

async fn get_latest(
    op: Op,
    Part(topic): Part<Topic>,
    Query(query): Query<EventQuery>,
) -> Result<Json<Page<Event>>, Problem> {
    Ok(Json(op.topic(&topic).latest(&query).await?))
}

async fn get_event(
    op: Op,
    Part(topic): Part<Topic>,
    Part(id): Part<EventId>,
) -> Result<Json<Event>, Problem> {
    Ok(Json(op.event(&topic, id).get().await?))
}

async fn get_actor_events(
    op: Op,
    Part(actor): Part<Actor>,
    Query(query): Query<SourceQuery>,
) -> Result<Json<Page<TimelineEvent>>, Problem> {
    Ok(Json(op.timeline(&Source::Actor(actor)).page(&query).await?))
}

async fn get_subject_events(
    op: Op,
    Part(subject): Part<Subject>,
    Query(query): Query<SourceQuery>,
) -> Result<Json<Page<TimelineEvent>>, Problem> {
    Ok(Json(op.timeline(&Source::Subject(subject)).page(&query).await?))
}

async fn get_feed(
    op: Op,
    Part(user): Part<User>,
    Query(query): Query<FeedQuery>,
) -> Result<Json<FeedPage>, Problem> {
    Ok(Json(op.feed(&user).page(&query).await?))
}

async fn get_unread(op: Op, Part(user): Part<User>) -> Result<Json<Unread>, Problem> {
    Ok(Json(op.feed(&user).unread().await?))
}
