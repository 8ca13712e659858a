//! The routes of sessions.

use axum::http::StatusCode;
use axum::response::Response;
use lately_keys::SessionId;
use lately_kit::answer::{self, Json};
use lately_kit::body::Body;
use lately_kit::caller::Caller;
use lately_kit::op::Op;
use lately_kit::path::Part;
use lately_kit::problem::Problem;
use lately_kit::query::Query;
use lately_kit::token::Token;
use lately_model::{
    NewSession, OwnSession, RevocationQuery, RevokedSessions, Session, SessionList, SessionQuery,
    SessionToken,
};

pub(crate) async fn post(op: Op, Body(new): Body<NewSession>) -> Result<Response, Problem> {
    let token = Token::random()?;
    let session = op.sessions().create(&new, token.hash()).await?;
    let created =
        SessionToken { id: session.id, token: token.reveal().into(), expires_at: session.expires_at };
    Ok(answer::json(StatusCode::CREATED, &created))
}

pub(crate) async fn list(op: Op, Query(query): Query<SessionQuery>) -> Result<Json<SessionList>, Problem> {
    Ok(Json(op.sessions().list(&query).await?))
}

pub(crate) async fn delete_of_user(
    op: Op,
    Query(RevocationQuery { user }): Query<RevocationQuery>,
) -> Result<Json<RevokedSessions>, Problem> {
    Ok(Json(RevokedSessions { revoked: op.sessions().revoke_all_of(&user).await? }))
}

/// The caller's own token, as the authorizer found it.
pub(crate) async fn get_own(caller: Caller) -> Json<OwnSession> {
    let Caller { user, scopes, topics, expires_at, issuer, limits, .. } = caller;
    Json(OwnSession { user, scopes, topics, expires_at: Some(expires_at), issuer, limits })
}

pub(crate) async fn get(op: Op, Part(id): Part<SessionId>) -> Result<Json<Session>, Problem> {
    Ok(Json(op.sessions().get(id).await?))
}

pub(crate) async fn delete(op: Op, Part(id): Part<SessionId>) -> Result<StatusCode, Problem> {
    op.sessions().revoke(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
