//! The routes of profiles and settings: documents that clients read, replace under their revision, and delete.

use axum::http::StatusCode;
use lately_items::{ProfileKey, SettingsKey};
use lately_keys::{App, User};
use lately_kit::answer::Json;
use lately_kit::body::Body;
use lately_kit::document::Description;
use lately_kit::op::Op;
use lately_kit::path::{Part, PathPart};
use lately_kit::precondition::{ETag, Under};
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_model::{Document, RecordQuery};
use lately_store::DocumentKey;

/// The routes of this file.
pub(crate) fn routes<D: Description>() -> Routes<D> {
    let (get_profile, get_settings) = (get::<User, ProfileKey>, get::<App, SettingsKey>);
    let (put_profile, put_settings) = (put::<User, ProfileKey>, put::<App, SettingsKey>);
    let (delete_profile, delete_settings) = (delete::<User, ProfileKey>, delete::<App, SettingsKey>);
    routes! { "Records"
        /// Get a user's profile
        ///
        /// Without `consistent`, the response may be a version that was replaced a moment ago.
        GET "/users/{user}/profile" AsUser(Read) Read get_profile {
            200 "The document as it was sent.";
            else NotFound
        }

        /// Create or replace a user's profile
        ///
        /// To replace an existing profile, send its `ETag` as `If-Match`.
        PUT "/users/{user}/profile" AsUser(Write) Write put_profile {
            200 "The document was replaced.";
            201 "The document was created.";
        }

        /// Delete a user's profile
        ///
        /// To delete an existing profile, send its `ETag` as `If-Match`.
        DELETE "/users/{user}/profile" AsUser(Write) Write delete_profile {
            204 "The document is deleted, or did not exist.";
        }

        /// Get an application's settings
        ///
        /// Without `consistent`, the response may be a version that was replaced a moment ago.
        GET "/settings/{app}" Holds(Read) Read get_settings { 200 "The document as it was sent."; else NotFound }

        /// Create or replace an application's settings
        ///
        /// To replace existing settings, send their `ETag` as `If-Match`.
        PUT "/settings/{app}" Holds(Admin) Write put_settings {
            200 "The document was replaced.";
            201 "The document was created.";
        }

        /// Delete an application's settings
        ///
        /// To delete existing settings, send their `ETag` as `If-Match`.
        DELETE "/settings/{app}" Holds(Admin) Write delete_settings {
            204 "The document is deleted, or did not exist.";
        }
    }
}

async fn get<N: PathPart, K: DocumentKey + From<N>>(
    op: Op,
    Part(name): Part<N>,
    Query(RecordQuery { consistent }): Query<RecordQuery>,
) -> Result<(ETag, Json<Document>), Problem> {
    let found = op.record(&K::from(name)).get(consistent).await?;
    Ok((ETag(found.revision), Json(found.document)))
}

async fn put<N: PathPart, K: DocumentKey + From<N>>(
    op: Op,
    Part(name): Part<N>,
    Under(precondition): Under,
    Body(document): Body<Document>,
) -> Result<(StatusCode, ETag, Json<Document>), Problem> {
    let (revision, created) = op.record(&K::from(name)).put(&document, precondition).await?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, ETag(revision), Json(document)))
}

async fn delete<N: PathPart, K: DocumentKey + From<N>>(
    op: Op,
    Part(name): Part<N>,
    Under(precondition): Under,
) -> Result<StatusCode, Problem> {
    op.record(&K::from(name)).delete(precondition).await?;
    Ok(StatusCode::NO_CONTENT)
}
