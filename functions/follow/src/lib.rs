//! Following, and the seen marks of feeds.

use axum::http::StatusCode;
use lately_keys::{Source, User};
use lately_kit::answer::Json;
use lately_kit::body::Body;
use lately_kit::document::Description;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_model::{Follow, FollowView, FollowerList, FollowingList, ListQuery, Seen, SourceView};
use lately_store::Followed;

/// The routes of this function.
pub fn routes<D: Description>() -> Routes<D> {
    routes! { "Feeds"
        /// Follow a source
        ///
        /// The feed also gets the latest earlier events of the source (`backfill`), if their topics fan out.
        PUT "/users/{user}/following/{source}" AsUser(Write) Write put_following {
            200 "The user already followed the source; nothing is backfilled again.";
            201 "The user follows the source from now on.";
            else TooManyPullSources
        }

        /// Unfollow a source
        ///
        /// Events that came only from this source are removed from the feed.
        DELETE "/users/{user}/following/{source}" AsUser(Write) Write delete_following {
            204 "The user does not follow the source any more, or did not before.";
        }

        /// List the sources that a user follows
        GET "/users/{user}/following" AsUser(Read) Read list_following { 200 "A page of the list."; }

        /// List the followers of a source
        GET "/sources/{source}/followers" Holds(Read) Read list_followers { 200 "A page of the list."; }

        /// Get a source's number of followers, and its mode
        ///
        /// The response to a source without followers is 200, too.
        GET "/sources/{source}" Holds(Read) Read get_source { 200 "The source."; }

        /// Mark a feed as seen up to an event
        ///
        /// The mark never moves back.
        PUT "/feeds/{user}/seen" AsUser(Write) Write put_seen { 204 "The feed is marked as seen."; }
    }
}

async fn put_following(
    op: Op,
    Part(user): Part<User>,
    Part(source): Part<Source>,
    Body(Follow { backfill }): Body<Follow>,
) -> Result<(StatusCode, Json<FollowView>), Problem> {
    let Followed { since, created } = op.user(&user).follow(&source, backfill).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(FollowView { source, since })))
}

async fn delete_following(
    op: Op,
    Part(user): Part<User>,
    Part(source): Part<Source>,
) -> Result<StatusCode, Problem> {
    op.user(&user).unfollow(&source).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list_following(
    op: Op,
    Part(user): Part<User>,
    Query(query): Query<ListQuery>,
) -> Result<Json<FollowingList>, Problem> {
    Ok(Json(op.user(&user).following(&query).await?))
}

async fn list_followers(
    op: Op,
    Part(source): Part<Source>,
    Query(query): Query<ListQuery>,
) -> Result<Json<FollowerList>, Problem> {
    Ok(Json(op.source(&source).followers(&query).await?))
}

async fn get_source(op: Op, Part(source): Part<Source>) -> Result<Json<SourceView>, Problem> {
    Ok(Json(op.source(&source).view().await?))
}

async fn put_seen(
    op: Op,
    Part(user): Part<User>,
    Body(Seen { id }): Body<Seen>,
) -> Result<StatusCode, Problem> {
    op.feed(&user).see(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
