//! Sessions: found by their token's hash, listed and revoked by their id.
//!
//! ```text
//! SESSION#{hash of the token} / same
//!   user S?, scopes S ("read write"), topics S? ("billing posts"), created_at N (milliseconds), expires_at N, gsi1pk, gsi1sk
//! ```
//!
//! A session that is over is refused when it is used, whether TTL has removed it or not. So to revoke one is to let it
//! end now: one conditional update, and a second one finds it ended.
//!
//! ```text
//! SESSION#{id} / same
//!   hash S (of the token), expires_at N
//! ```
//!
//! An id is looked up in the table, so a session that is not found by its id never was, or is over: whoever revokes a session
//! is told that it is over only if it is. The item of the id is written first, so no session is without one. Sessions of
//! before docs/adr/0011-sessions-by-id.md have none, and are found through the index that lists all of them.

use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use lately_keys::table::{SessionId, SessionKey, SessionListKey, SessionNameKey, TokenHash};
use lately_keys::{Place, TableKey, Topic, UnixMillis};
use lately_model::{NewSession, Session};

use crate::error::{FindError, TableError};
use crate::event::is_over;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::limits::LISTED_SESSIONS;
use crate::op::Op;

/// The session does not exist: it was never created, was revoked, or has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no session {id}")]
pub struct SessionNotFound {
    /// The session that was asked for.
    pub id: SessionId,
}

/// Why a session could not be read.
pub type SessionError = FindError<SessionNotFound>;

/// Some of the sessions, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionList {
    /// Those that are not over.
    pub sessions: Vec<Session>,
    /// Where the list goes on, if it does: behind this one.
    pub next: Option<SessionId>,
}

/// All sessions, in one request.
#[derive(Clone, Copy, Debug)]
pub struct SessionsHandle<'a> {
    pub(crate) op: &'a Op,
}

impl SessionsHandle<'_> {
    /// Keeps a session, under its token's hash.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub async fn create(self, new: &NewSession, hash: TokenHash) -> Result<Session, TableError> {
        let created_at = self.op.now();
        // In whole seconds, as TTL has it; rounded up, so it is good for no less than its time.
        let seconds = created_at.get().div_ceil(1000) + u64::from(new.ttl_seconds.get());
        let session = Session {
            id: SessionId::new(created_at, self.op.ambient().entropy()),
            user: new.user.clone(),
            scopes: new.scopes,
            topics: new.topics.clone(),
            created_at,
            expires_at: UnixMillis::new(seconds * 1000).unwrap_or(UnixMillis::MAX),
        };
        self.op.table.put_item(&encode_name(&session, hash)).await?;
        self.op.table.put_item(&encode(&session, hash)).await?;
        Ok(session)
    }

    /// The session that a token opens, by the token's hash; none if it is unknown or over. The read is consistent: what
    /// was made or revoked a moment ago is so.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub async fn find(self, hash: TokenHash) -> Result<Option<Session>, TableError> {
        let session = self.session_under(hash).await?;
        Ok(session)
    }

    /// A session by its id.
    ///
    /// # Errors
    /// See [`SessionError`].
    pub async fn get(self, id: SessionId) -> Result<Session, SessionError> {
        let hash = self.hash_of(id).await?.ok_or(SessionError::NotFound(SessionNotFound { id }))?;
        let session =
            self.session_under(hash).await?.ok_or(SessionError::NotFound(SessionNotFound { id }))?;
        self.op.table.meter.items(1);
        Ok(session)
    }

    /// Ends a session, if it has not ended. From then on its token is refused wherever it is looked up.
    ///
    /// # Errors
    /// If the table cannot be read or written.
    pub async fn revoke(self, id: SessionId) -> Result<(), TableError> {
        if let Some(hash) = self.hash_of(id).await? {
            let now = number(self.op.now().get() / 1000);
            let ended = self
                .op
                .table
                .call_if(|| {
                    self.op
                        .table
                        .client
                        .update_item()
                        .table_name(&*self.op.table.name)
                        .set_key(Some(keyed(Place::Table, SessionKey { hash }.encode())))
                        .update_expression("SET expires_at = :now")
                        .condition_expression("attribute_exists(pk) AND expires_at > :now")
                        .expression_attribute_values(":now", now.clone())
                        .return_consumed_capacity(ReturnConsumedCapacity::Total)
                        .send()
                })
                .await?;
            if let Some(answer) = ended {
                self.op.table.meter.write(answer.consumed_capacity());
            }
        }
        Ok(())
    }

    /// Sessions that are not over, newest first, some at a time. Those of the last moments may be missing, and those
    /// revoked in them may still be there.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub async fn list(self, after: Option<SessionId>) -> Result<SessionList, TableError> {
        // Behind the last one there is: every id sorts before it.
        let before = after.map_or_else(|| "~".to_owned(), |id| id.to_string());
        let answer = self
            .op
            .table
            .query(|query| {
                query
                    .set_index_name(Place::Gsi1.index().map(str::to_owned))
                    .key_condition_expression("gsi1pk = :sessions AND gsi1sk < :before")
                    .expression_attribute_values(":sessions", text(SessionListKey::PARTITION))
                    .expression_attribute_values(":before", text(before.clone()))
                    .scan_index_forward(false)
                    .limit(LISTED_SESSIONS)
            })
            .await?;
        self.op.table.meter.items(answer.items().len());
        let sessions: Vec<_> = answer.items().iter().map(decode).collect::<Result<_, _>>()?;
        let next =
            sessions.last().map(|session| session.id).filter(|_| answer.last_evaluated_key().is_some());
        let now = self.op.now();
        let sessions = sessions.into_iter().filter(|session| session.expires_at > now).collect();
        Ok(SessionList { sessions, next })
    }

    async fn session_under(self, hash: TokenHash) -> Result<Option<Session>, TableError> {
        let key = keyed(Place::Table, SessionKey { hash }.encode());
        let Some(item) = self.op.table.get_item(key).await? else { return Ok(None) };
        // What the table gave is what was asked for; compared once more, in constant time.
        if stored_hash(&item)? != hash || is_over(&item, self.op.now())? {
            return Ok(None);
        }
        Ok(Some(decode(&item)?))
    }

    /// Under which hash a session is kept; none if it never was, or TTL has removed it.
    async fn hash_of(self, id: SessionId) -> Result<Option<TokenHash>, TableError> {
        match self.op.table.get_item(keyed(Place::Table, SessionNameKey { id }.encode())).await? {
            Some(name) => Ok(Some(decode_name(&name)?)),
            None => self.look_up(id).await,
        }
    }

    /// As [`SessionsHandle::hash_of`], for a session that was created before sessions had an item by id.
    async fn look_up(self, id: SessionId) -> Result<Option<TokenHash>, TableError> {
        let key = SessionListKey { id }.encode();
        let answer = self
            .op
            .table
            .query(|query| {
                query
                    .set_index_name(Place::Gsi1.index().map(str::to_owned))
                    .key_condition_expression("gsi1pk = :sessions AND gsi1sk = :id")
                    .expression_attribute_values(":sessions", text(key.pk.clone()))
                    .expression_attribute_values(":id", text(key.sk.clone()))
            })
            .await?;
        Ok(answer.items().first().map(stored_hash).transpose()?)
    }
}

fn stored_hash(item: &Item) -> Result<TokenHash, Corrupt> {
    let fields = Fields(item);
    let key = SessionKey::decode(fields.text("pk")?, fields.text("sk")?);
    Ok(key.ok_or_else(|| fields.corrupt("key"))?.hash)
}

fn encode_name(session: &Session, hash: TokenHash) -> Item {
    let mut item = keyed(Place::Table, SessionNameKey { id: session.id }.encode());
    item.insert("hash".to_owned(), text(hash.to_string()));
    item.insert("expires_at".to_owned(), number(session.expires_at.get() / 1000));
    item
}

fn decode_name(item: &Item) -> Result<TokenHash, Corrupt> {
    let fields = Fields(item);
    TokenHash::parse(fields.text("hash")?).ok_or_else(|| fields.corrupt("hash"))
}

fn encode(session: &Session, hash: TokenHash) -> Item {
    let mut item = keyed(Place::Table, SessionKey { hash }.encode());
    item.extend(keyed(Place::Gsi1, SessionListKey { id: session.id }.encode()));
    item.insert("scopes".to_owned(), text(session.scopes.to_string()));
    item.insert("created_at".to_owned(), number(session.created_at.get()));
    item.insert("expires_at".to_owned(), number(session.expires_at.get() / 1000));
    if let Some(user) = &session.user {
        item.insert("user".to_owned(), text(user.as_str()));
    }
    if let Some(topics) = &session.topics {
        let topics: Vec<_> = topics.iter().map(Topic::as_str).collect();
        item.insert("topics".to_owned(), text(topics.join(" ")));
    }
    item
}

fn decode(item: &Item) -> Result<Session, Corrupt> {
    let fields = Fields(item);
    let millis = |name, factor: u64| {
        let number = fields.number::<u64>(name)?.checked_mul(factor);
        number.and_then(|millis| UnixMillis::new(millis).ok()).ok_or_else(|| fields.corrupt(name))
    };
    let topics = fields.optional_text("topics")?.map(|topics| topics.split(' ').map(str::parse).collect());
    Ok(Session {
        id: fields.parsed("gsi1sk")?,
        user: fields.optional_parsed("user")?,
        scopes: fields.parsed("scopes")?,
        topics: topics.transpose().map_err(|_| fields.corrupt("topics"))?,
        created_at: millis("created_at", 1)?,
        expires_at: millis("expires_at", 1000)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes_of_a_sessions_name() {
        let hash = TokenHash::from([0xab; 32]);
        let session = Session {
            id: "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap(),
            user: None,
            scopes: "read".parse().unwrap(),
            topics: None,
            created_at: UnixMillis::MIN,
            expires_at: UnixMillis::new(1_720_900_000_000).unwrap(),
        };
        let key = "SESSION#0190a4cd-d3e7-7222-9f99-fdb74feee752";
        let expected = [
            ("pk", text(key)),
            ("sk", text(key)),
            ("hash", text("ab".repeat(32))),
            ("expires_at", number(1_720_900_000_u64)),
        ];
        let item = encode_name(&session, hash);
        assert_eq!(item, expected.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!(decode_name(&item), Ok(hash));
    }
}
