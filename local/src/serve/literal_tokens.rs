//! The literal tokens of the local program: they are published, and valid on this machine only.

use lately_kit::token::Token;
use lately_model::NewSession;
use lately_model::limits::SESSION_SECONDS;
use lately_store::{Store, TableError};

/// The literal tokens: an admin, and users who read and write.
pub const LITERAL: [&str; 4] = ["dev", "ada", "bob", "carol"];

/// Creates the sessions of the literal tokens. They are ordinary sessions.
///
/// A table of an earlier run has its sessions unless they have expired, because records may belong to a session: an
/// admin's idempotency keys do.
pub(crate) async fn create(store: &Store) -> Result<(), TableError> {
    for literal in LITERAL {
        let hash = Token::of(literal).hash();
        if store.op().sessions().find(hash).await?.is_none() {
            store.op().sessions().create(&session(literal), hash).await?;
        }
    }
    Ok(())
}

/// Revokes the literal tokens.
pub(crate) async fn revoke(store: &Store) -> Result<(), TableError> {
    for literal in LITERAL {
        if let Some(session) = store.op().sessions().find(Token::of(literal).hash()).await? {
            store.op().sessions().revoke(session.id).await?;
        }
    }
    Ok(())
}

fn session(literal: &str) -> NewSession {
    let who = match literal {
        "dev" => r#""scopes":["admin"]"#.to_owned(),
        user => format!(r#""user":"{user}","scopes":["read","write"]"#),
    };
    let body = format!(r#"{{{who},"ttl_seconds":{SESSION_SECONDS}}}"#);
    NewSession::parse(body.as_bytes()).expect("the program's own sessions")
}
