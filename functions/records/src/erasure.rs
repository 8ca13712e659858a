//! The routes of erasures.

use axum::http::StatusCode;
use lately_keys::ErasureId;
use lately_kit::answer::{Json, Location};
use lately_kit::body::Body;
use lately_kit::document::Description;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_model::{Erasure, ErasureList, ListQuery, NewErasure};

/// The routes of this file.
pub(crate) fn routes<D: Description>() -> Routes<D> {
    routes! { "Erasures"
        /// Erase an actor, a user, or both
        ///
        /// `actor` covers the actor's events, with their entries in timelines and feeds, and the actor's followers.
        /// `user` covers the user's profile, sessions, feed and follows, batches of consumers, and `opened_by` of
        /// issues, which becomes `erased`. The response is sent when the erasure has begun; fan-out continues it. The
        /// same request again returns the erasure that is under way. While it runs, a write of the actor's events is
        /// 409 `actor-is-being-erased`. `confirm` repeats the actor's name, or the user's if no actor is named.
        POST "/erasures" Unlimited(Admin) Write post_erasure { 202 "The erasure has begun."; }

        /// List the erasures of the last days
        ///
        /// The erasures that run, and those that were done within two days, newest first. The list does not contain
        /// the erased names.
        GET "/erasures" Unlimited(Admin) Read list_erasures { 200 "A page of the list."; }

        /// Get an erasure
        ///
        /// When `state` is `done`, this is the receipt. It does not contain the erased names.
        GET "/erasures/{id}" Unlimited(Admin) Read get_erasure {
            200 "The erasure, with its counts so far.";
            else NotFound
        }
    }
}

async fn post_erasure(
    op: Op,
    Body(new): Body<NewErasure>,
) -> Result<(StatusCode, Location, Json<Erasure>), Problem> {
    let erasure = op.erasures().begin(&new).await?;
    Ok((StatusCode::ACCEPTED, Location(format!("/erasures/{}", erasure.id)), Json(erasure)))
}

async fn list_erasures(op: Op, Query(query): Query<ListQuery>) -> Result<Json<ErasureList>, Problem> {
    Ok(Json(op.erasures().list(&query).await?))
}

async fn get_erasure(op: Op, Part(id): Part<ErasureId>) -> Result<Json<Erasure>, Problem> {
    Ok(Json(op.erasures().get(id).await?))
}
