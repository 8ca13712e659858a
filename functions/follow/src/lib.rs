//! Following, and how far a feed was seen.
//!
//! | route | does |
//! | --- | --- |
//! | `PUT /users/{user}/following/{source}` | follows a source |
//! | `DELETE /users/{user}/following/{source}` | no longer follows it |
//! | `GET /users/{user}/following` | what a user follows |
//! | `GET /sources/{source}/followers` | who follows a source |
//! | `GET /sources/{source}` | how many follow it, and how its events come into feeds |
//! | `PUT /feeds/{user}/seen` | marks a feed as seen up to an event |

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use lately_keys::{Source, User};
use lately_kit::answer;
use lately_kit::body::Body;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_model::{Backfill, FollowView, ListQuery, Seen};
use lately_store::{Followed, Store};

/// The routes of this function.
#[must_use]
pub fn routes(store: Store) -> Routes {
    Routes::new()
        .on(Method::PUT, "/users/{user}/following/{source}", put_following)
        .on(Method::DELETE, "/users/{user}/following/{source}", delete_following)
        .on(Method::GET, "/users/{user}/following", get_following)
        .on(Method::GET, "/sources/{source}/followers", get_followers)
        .on(Method::GET, "/sources/{source}", get_source)
        .on(Method::PUT, "/feeds/{user}/seen", put_seen)
        .with_state(store)
}

async fn put_following(
    State(store): State<Store>,
    Part(user): Part<User>,
    Part(source): Part<Source>,
    Body(backfill): Body<Backfill>,
) -> Result<Response, Problem> {
    let (Followed { since, created }, cost) = store.follow(&user, &source, backfill).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(answer::written(answer::json(status, &FollowView { source, since }), &cost))
}

async fn delete_following(
    State(store): State<Store>,
    Part(user): Part<User>,
    Part(source): Part<Source>,
) -> Result<Response, Problem> {
    let cost = store.unfollow(&user, &source).await?;
    Ok(answer::written(StatusCode::NO_CONTENT.into_response(), &cost))
}

async fn get_following(
    State(store): State<Store>,
    Part(user): Part<User>,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let (list, cost) = store.following(&user, &query).await?;
    Ok(answer::read(&list, &cost))
}

async fn get_followers(
    State(store): State<Store>,
    Part(source): Part<Source>,
    Query(query): Query<ListQuery>,
) -> Result<Response, Problem> {
    let (list, cost) = store.followers(&source, &query).await?;
    Ok(answer::read(&list, &cost))
}

async fn get_source(State(store): State<Store>, Part(source): Part<Source>) -> Result<Response, Problem> {
    let (view, cost) = store.source(&source).await?;
    Ok(answer::read(&view, &cost))
}

async fn put_seen(
    State(store): State<Store>,
    Part(user): Part<User>,
    Body(Seen { id }): Body<Seen>,
) -> Result<Response, Problem> {
    let cost = store.see(&user, id).await?;
    Ok(answer::written(StatusCode::NO_CONTENT.into_response(), &cost))
}
