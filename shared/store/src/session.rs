//! Sessions: found by their token's hash, listed and revoked by their id.
//!
//! A token is refused once its session has ended, whether or not TTL has removed the session's item. So one conditional
//! update revokes a session: it sets the session's end to now. A second revocation finds the session ended.
//!
//! A session's id is looked up in the table, which is read consistently. So a session that is not found by its id was
//! never created or has ended, and a client that revokes a session hears that the session has ended only if it has. The
//! item of the id is written first, so that every session has one.
//!
//! A user's sessions are listed in the table too, and this item is also written before the session. So a revocation of
//! all of a user's sessions misses none that was created before it.

use lately_items::session;
use lately_items::{
    EXPIRES_AT, Record, SessionKey, SessionListKey, SessionNameKey, TokenHash, UserSessionKey,
};
use lately_keys::{Fingerprint, Order, Place, Position, SessionId, TableKey, UnixMillis, User};
use lately_model::{NewSession, PageSize, Session, SessionList, SessionQuery};
use lately_table::{Condition, Corrupt, Item, Query, TableError, Update};

use crate::at_once::collect_all;
use crate::error::FindError;
use crate::handle::SessionsHandle;
use crate::limits::WRITES_AT_ONCE;
use crate::list::{ListError, Pager};

/// The session does not exist: nobody created it, it was revoked, or it has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no session {id}")]
pub struct SessionNotFound {
    /// The id that was looked up.
    pub id: SessionId,
}

/// Why a session could not be read.
pub type SessionError = FindError<SessionNotFound>;

/// Sessions as they are stored, newest first, ended ones included. The list continues after a session; `None` at its end.
type StoredSessions = (Vec<Item>, Option<SessionId>);

impl SessionsHandle<'_> {
    /// Creates a session, under its token's hash.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub async fn create(self, new: &NewSession, hash: TokenHash) -> Result<Session, TableError> {
        let created_at = self.op.now();
        // In whole seconds, as TTL needs it. Rounded up, so that the session lasts no less than its time.
        let seconds = created_at.get().div_ceil(1000) + u64::from(new.ttl_seconds.get());
        let session = Session {
            id: SessionId::new(created_at, self.op.ambient().entropy()),
            user: new.user.clone(),
            scopes: new.scopes,
            topics: new.topics.clone(),
            created_at,
            expires_at: UnixMillis::new(seconds * 1000).unwrap_or(UnixMillis::MAX),
            limits: new.limits,
        };
        for name in session::encode_names(&session, hash) {
            self.op.table.put(&name).await?;
        }
        self.op.table.put(&session::encode(&session, hash)).await?;
        Ok(session)
    }

    /// The session of a token, by the token's hash; `None` if the token is unknown or the session has ended. The read
    /// is consistent, so it shows a creation or revocation of a moment ago.
    pub async fn find(self, hash: TokenHash) -> Result<Option<Session>, TableError> {
        let Some(item) = self.op.table.get(SessionKey { hash }.encode()).await? else { return Ok(None) };
        // The item's key must be the requested one. It is compared once more, in constant time.
        if item.key_as::<SessionKey>()?.hash != hash || item.is_over(self.op.now())? {
            return Ok(None);
        }
        Ok(Some(Session::decode(&item)?))
    }

    /// A session by its id.
    pub async fn get(self, id: SessionId) -> Result<Session, SessionError> {
        let not_found = SessionError::NotFound(SessionNotFound { id });
        let Some(hash) = self.hash_of(id).await? else { return Err(not_found) };
        let session = self.find(hash).await?.ok_or(not_found)?;
        self.op.table.meter().items(1);
        Ok(session)
    }

    /// Ends a session, if it has not ended. From then on, every lookup of its token refuses the token.
    ///
    /// # Errors
    /// If the table cannot be read or written.
    pub async fn revoke(self, id: SessionId) -> Result<(), TableError> {
        if let Some(hash) = self.hash_of(id).await? {
            self.end(hash).await?;
        }
        Ok(())
    }

    /// Ends all sessions of a user that were created before this call. The result is the number of sessions that this
    /// call ended.
    ///
    /// # Errors
    /// If the table cannot be read or written, or the time is over. Another call then continues: it only reads the
    /// sessions that have ended.
    pub async fn revoke_all_of(self, user: &User) -> Result<u64, TableError> {
        let (mut revoked, mut after) = (0, None);
        loop {
            let (sessions, next) = self.of_user(user, after, PageSize::MAX).await?;
            let now = self.op.now();
            let mut live = Vec::new();
            for stored in &sessions {
                if Session::decode(stored)?.expires_at > now {
                    live.push(stored.key_as::<SessionKey>()?.hash);
                }
            }
            for hashes in live.chunks(WRITES_AT_ONCE) {
                if self.op.table.time_left().is_zero() {
                    return Err(TableError::unavailable("there are more sessions to end"));
                }
                let ends = hashes.iter().map(|hash| self.end(*hash));
                let ended = collect_all(WRITES_AT_ONCE, ends).await?;
                revoked += ended.into_iter().filter(|is_new| *is_new).count() as u64;
            }
            after = next;
            if after.is_none() {
                return Ok(revoked);
            }
        }
    }

    /// A page of the sessions that have not ended, newest first. The list of all sessions is an index, so it may miss a
    /// creation or a revocation of the last moments. The list of a user's sessions misses nothing.
    pub async fn list(self, query: &SessionQuery) -> Result<SessionList, ListError> {
        let list = match &query.user {
            None => Fingerprint::of("sessions").finish(),
            Some(user) => Fingerprint::of("sessions of a user").text(user.as_str()).finish(),
        };
        let pager = Pager { list, order: Order::NewestFirst };
        let after = pager.after(query.cursor.as_deref())?;
        let (sessions, next) = match &query.user {
            None => {
                let all = Query::of(Place::Gsi1, SessionListKey::partition());
                self.page(all, after, query.limit).await?
            }
            Some(user) => self.of_user(user, after, query.limit).await?,
        };
        let now = self.op.now();
        let sessions: Result<Vec<_>, _> = sessions.iter().map(Session::decode).collect();
        let mut sessions = sessions.map_err(TableError::from)?;
        sessions.retain(|session| session.expires_at > now);
        Ok(SessionList { sessions, next: next.map(|id| pager.cursor(Position::Session(id))) })
    }

    /// Ends the session of a token, if it has not ended. True if this call ended it.
    async fn end(self, hash: TokenHash) -> Result<bool, TableError> {
        let now = self.op.now().get() / 1000;
        let is_open = Condition::any_item().and(Condition::above(EXPIRES_AT, now));
        let end = Update::of(&SessionKey { hash }).set(EXPIRES_AT, now).only_if(is_open);
        self.op.table.update(&end).await
    }

    /// A page of a user's sessions, read consistently.
    async fn of_user(
        self,
        user: &User,
        after: Option<SessionId>,
        limit: PageSize,
    ) -> Result<StoredSessions, TableError> {
        let entries = Query::partition(UserSessionKey::partition(user)).consistent(true);
        let (entries, next) = self.page(entries, after, limit).await?;
        let key = |entry: &Item| Ok(SessionKey { hash: session::decode_hash(entry)? }.encode());
        let keys: Result<Vec<_>, Corrupt> = entries.iter().map(key).collect();
        let mut sessions = self.op.table.get_many(&keys?, true).await?;
        sessions.sort_by_cached_key(|session| session.text("gsi1sk").map(str::to_owned).ok());
        sessions.reverse();
        Ok((sessions, next))
    }

    /// The newest items of a list after a session, and the session after which the list continues.
    async fn page(
        self,
        list: Query,
        after: Option<SessionId>,
        limit: PageSize,
    ) -> Result<StoredSessions, TableError> {
        // Every id sorts before `~`.
        let before = after.map_or_else(|| "~".to_owned(), |id| id.to_string());
        let page = self.op.table.query_items(&list.before(before).backward(true).limit(limit.get())).await?;
        self.op.table.meter().round();
        let last = page.items.last().filter(|_| page.next.is_some());
        let next = last.map(session::listed_id).transpose()?;
        Ok((page.items, next))
    }

    /// The hash that a session is stored under; `None` if the session was never created, or TTL has removed it.
    async fn hash_of(self, id: SessionId) -> Result<Option<TokenHash>, TableError> {
        let name = self.op.table.get(SessionNameKey { id }.encode()).await?;
        Ok(name.as_ref().map(session::decode_hash).transpose()?)
    }
}
