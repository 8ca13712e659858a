//! The routes of sessions.

use axum::http::StatusCode;
use lately_keys::SessionId;
use lately_kit::answer::Json;
use lately_kit::body::Body;
use lately_kit::caller::Caller;
use lately_kit::document::Description;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::route::Routes;
use lately_kit::routes;
use lately_kit::token::Token;
use lately_model::{
    NewSession, OwnSession, RevocationQuery, RevokedSessions, Session, SessionList, SessionQuery,
    SessionToken,
};

/// The routes of this file.
pub(crate) fn routes<D: Description>() -> Routes<D> {
    routes! { "Sessions"
        /// Create a session
        ///
        /// For example, a backend creates short-lived sessions for its users.
        POST "/sessions" Unlimited(Admin) Write post_session {
            201 "The session was created. Only this response contains its token.";
        }

        /// List the sessions, without their tokens
        ///
        /// Newest first. Only sessions that have not ended are listed, so a page may have fewer than the limit. The
        /// list of all sessions may miss a session of the last moments; the list of a user misses none, except
        /// sessions that were created before there was such a list.
        GET "/sessions" Unlimited(Admin) Read list_sessions { 200 "A page of the list."; }

        /// Revoke all sessions of a user
        ///
        /// Sessions that are created meanwhile are not revoked. If the response is 503, send the request again: it
        /// continues. On AWS a token may be accepted for as long as the gateway caches it: a minute by default.
        DELETE "/sessions" Unlimited(Admin) Write delete_sessions { 200 "All sessions of the user are revoked."; }

        /// Get the caller's own session or JWT
        ///
        /// The response says for which user the token acts, what the token may do, when it expires, its limits and,
        /// for a JWT, which issuer made it.
        GET "/sessions/self" Known Read get_own_session { 200 "The caller's own session or JWT."; }

        /// Get a session, without its token
        GET "/sessions/{id}" Unlimited(Admin) Read get_session { 200 "The session."; else NotFound }

        /// Revoke a session
        ///
        /// On AWS the token may be accepted for as long as the gateway caches it: a minute by default.
        DELETE "/sessions/{id}" Unlimited(Admin) Write delete_session {
            204 "The session is revoked, or did not exist.";
        }
    }
}

async fn post_session(
    op: Op,
    Body(new): Body<NewSession>,
) -> Result<(StatusCode, Json<SessionToken>), Problem> {
    let token = Token::random()?;
    let session = op.sessions().create(&new, token.hash()).await?;
    let token = token.reveal().to_owned();
    Ok((StatusCode::CREATED, Json(SessionToken { id: session.id, token, expires_at: session.expires_at })))
}

async fn list_sessions(op: Op, Query(query): Query<SessionQuery>) -> Result<Json<SessionList>, Problem> {
    Ok(Json(op.sessions().list(&query).await?))
}

async fn delete_sessions(
    op: Op,
    Query(RevocationQuery { user }): Query<RevocationQuery>,
) -> Result<Json<RevokedSessions>, Problem> {
    Ok(Json(RevokedSessions { revoked: op.sessions().revoke_all_of(&user).await? }))
}

/// The caller's own token, as the authorizer found it.
async fn get_own_session(caller: Caller) -> Json<OwnSession> {
    let Caller { user, scopes, topics, expires_at, issuer, limits, .. } = caller;
    Json(OwnSession { user, scopes, topics, expires_at: Some(expires_at), issuer, limits })
}

async fn get_session(op: Op, Part(id): Part<SessionId>) -> Result<Json<Session>, Problem> {
    Ok(Json(op.sessions().get(id).await?))
}

async fn delete_session(op: Op, Part(id): Part<SessionId>) -> Result<StatusCode, Problem> {
    op.sessions().revoke(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
