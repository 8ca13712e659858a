//! Following, and the seen marks of feeds.
//!
//! | route | does |
//! | --- | --- |
//! | `PUT /users/{user}/following/{source}` | follows a source |
//! | `DELETE /users/{user}/following/{source}` | stops following a source |
//! | `GET /users/{user}/following` | lists the sources that a user follows |
//! | `GET /sources/{source}/followers` | lists the followers of a source |
//! | `GET /sources/{source}` | returns the number of followers, and how the source's events come into feeds |
//! | `PUT /feeds/{user}/seen` | marks a feed as seen up to an event |

use axum::http::{Method, StatusCode};
use lately_keys::{Source, User};
use lately_kit::answer::Json;
use lately_kit::body::Body;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_model::{Backfill, FollowView, FollowerList, FollowingList, ListQuery, Seen, SourceView};
use lately_store::{Followed, Store};

/// The routes of this function.
pub fn routes(store: Store) -> Routes {
    Routes::new()
        .on(Method::PUT, "/users/{user}/following/{source}", put_following)
        .on(Method::DELETE, "/users/{user}/following/{source}", delete_following)
        .on(Method::GET, "/users/{user}/following", get_following)
        .on(Method::GET, "/sources/{source}/followers", get_followers)
        .on(Method::GET, "/sources/{source}", get_source)
        .on(Method::PUT, "/feeds/{user}/seen", put_seen)
        .with_store(&store)
}

async fn put_following(
    op: Op,
    Part(user): Part<User>,
    Part(source): Part<Source>,
    Body(backfill): Body<Backfill>,
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

async fn get_following(
    op: Op,
    Part(user): Part<User>,
    Query(query): Query<ListQuery>,
) -> Result<Json<FollowingList>, Problem> {
    Ok(Json(op.user(&user).following(&query).await?))
}

async fn get_followers(
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
