//! Sessions: found by their token's hash, listed and revoked by id, and refused after they end.

use std::time::Duration;

use lately_engine::fault::{Fault, Faults, Moment, Network, Target, Throttle};
use lately_engine::{Lag, Operation, Options};
use lately_items::TokenHash;
use lately_keys::SessionId;
use lately_model::{NewSession, Session, SessionQuery};
use lately_store::{SessionError, Store};

use crate::listed::user;
use crate::support::{items, pass, start, start_with, store};

const HASH: [u8; 32] = [7; 32];

fn new(json: &str) -> NewSession {
    NewSession::parse(json.as_bytes()).unwrap()
}

fn hour() -> NewSession {
    new(r#"{"user":"ada","scopes":["read","write"],"topics":["posts","billing"],"ttl_seconds":3600}"#)
}

async fn found(store: &Store, hash: [u8; 32]) -> Option<Session> {
    store.op().sessions().find(TokenHash::from(hash)).await.unwrap()
}

async fn by_id(store: &Store, id: SessionId) -> Option<Session> {
    match store.op().sessions().get(id).await {
        Ok(session) => Some(session),
        Err(SessionError::NotFound(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_has_its_requested_properties_until_it_ends() {
    let (world, engine, store) = start(1);
    let op = store.op();
    let session = op.sessions().create(&hour(), HASH.into()).await.unwrap();
    // The item of the id, the entry in the user's list, the session, and its entry in the index.
    assert_eq!(op.cost().of_write(), "write_units=4.0, calls=3");
    assert_eq!((session.user.clone(), session.scopes), (hour().user, hour().scopes));
    assert_eq!((session.topics.clone(), session.created_at), (hour().topics, world.now()));
    assert_eq!(session.expires_at.get() - session.created_at.get(), 3_600_000);

    assert_eq!(found(&store, HASH).await.as_ref(), Some(&session));
    let op = store.op();
    op.sessions().find(HASH.into()).await.unwrap();
    assert!(op.cost().of_read().starts_with("read_units=1.0, calls=1, "));
    assert_eq!(by_id(&store, session.id).await.as_ref(), Some(&session));
    assert_eq!(found(&store, [8; 32]).await, None);

    pass(Duration::from_millis(3_599_999)).await;
    assert_eq!(found(&store, HASH).await.as_ref(), Some(&session));
    // The session is refused although its item exists: TTL may take days to remove the item.
    pass(Duration::from_millis(1)).await;
    assert_eq!((found(&store, HASH).await, by_id(&store, session.id).await), (None, None));
    assert_eq!(items(&engine).await.len(), 3);
    engine.expire(10).unwrap();
    assert_eq!(items(&engine).await.len(), 0);
    assert_eq!((found(&store, HASH).await, by_id(&store, session.id).await), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_revoked_session_is_refused_at_once() {
    let (_, engine, store) = start(1);
    let session = store.op().sessions().create(&hour(), HASH.into()).await.unwrap();
    let other = store.op().sessions().create(&hour(), [8; 32].into()).await.unwrap();
    for _ in 0..2 {
        let op = store.op();
        op.sessions().revoke(session.id).await.unwrap();
        assert_eq!(op.cost().calls, 2);
        assert_eq!((found(&store, HASH).await, by_id(&store, session.id).await), (None, None));
    }
    assert_eq!(found(&store, [8; 32]).await, Some(other), "no other session is revoked");
    // The revocation ended the session, so TTL removes its item.
    pass(Duration::from_secs(1)).await;
    assert_eq!(engine.expire(10).unwrap(), 1);
    store.op().sessions().revoke(session.id).await.unwrap();
    // Sessions that never existed.
    store.op().sessions().revoke("0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().unwrap()).await.unwrap();
    store.op().sessions().revoke("0190a4cd-d3e7-4222-9f99-fdb74feee752".parse().unwrap()).await.unwrap();
}

/// A store whose reads of the index are stale.
fn behind(index: Duration) -> Store {
    let lag = Lag { seed: 1, table: Duration::ZERO, index, behind: 1.0 };
    start_with(3, Options { lag: Some(lag), ..Options::default() }).2
}

#[tokio::test(start_paused = true)]
async fn a_session_is_revoked_even_if_the_index_is_behind() {
    for (millis, age) in [(1_000, 0), (20_000, 0), (300_000, 120_000)] {
        let store = behind(Duration::from_millis(millis));
        let session = store.op().sessions().create(&hour(), HASH.into()).await.unwrap();
        pass(Duration::from_millis(age)).await;
        assert_eq!(by_id(&store, session.id).await, Some(session.clone()), "{millis} ms behind");
        store.op().sessions().revoke(session.id).await.unwrap();
        assert_eq!(found(&store, HASH).await, None, "{millis} ms behind");
    }
}

#[tokio::test(start_paused = true)]
async fn all_sessions_of_a_user_are_revoked_even_if_the_index_is_behind() {
    let store = behind(Duration::from_secs(300));
    for number in 0..3 {
        store.op().sessions().create(&hour(), [number; 32].into()).await.unwrap();
    }
    let bobs = new(r#"{"user":"bob","scopes":["read"],"ttl_seconds":3600}"#);
    let bobs = store.op().sessions().create(&bobs, [9; 32].into()).await.unwrap();
    let ada = user("ada");
    let of_ada = SessionQuery { user: Some(ada.clone()), ..SessionQuery::default() };
    let op = store.op();
    assert_eq!(op.sessions().list(&of_ada).await.unwrap().sessions.len(), 3);
    assert!(op.cost().of_read().starts_with("read_units=4.0, calls=2, "), "a query and a batch of gets");
    for revoked in [3, 0] {
        assert_eq!(store.op().sessions().revoke_all_of(&ada).await.unwrap(), revoked);
        assert_eq!(store.op().sessions().list(&of_ada).await.unwrap().sessions, []);
    }
    for number in 0..3 {
        assert_eq!(found(&store, [number; 32]).await, None);
    }
    assert_eq!(found(&store, [9; 32]).await, Some(bobs), "no other user's session is revoked");
}

#[tokio::test(start_paused = true)]
async fn a_user_with_many_sessions_loses_them_in_several_calls() {
    let (world, engine, quick) = start(1);
    for number in 0..=255 {
        quick.op().sessions().create(&hour(), [number; 32].into()).await.unwrap();
    }
    let network = Network { seed: 1, longest: Duration::from_secs(1), stall: None };
    let slow = store(engine.client_with(Faults::default()).over(network), &world);
    let mut calls = 1;
    while slow.op_within(Duration::from_secs(10)).sessions().revoke_all_of(&user("ada")).await.is_err() {
        calls += 1;
    }
    assert!((2..10).contains(&calls), "{calls} calls");
    for number in 0..=255 {
        assert_eq!(found(&quick, [number; 32]).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retried_creation_makes_one_session() {
    let (world, engine, _) = start(1);
    let faults =
        [Fault::Timeout(Moment::After), Fault::Throttle(Throttle::Account), Fault::InternalServerError];
    for (number, fault) in faults.into_iter().enumerate() {
        let hash = [u8::try_from(number).unwrap(); 32];
        let put = Faults::default().nth(1, Target::operation(Operation::PutItem), fault.clone());
        let victim = store(engine.client_with(put).client(), &world);
        let session = victim.op().sessions().create(&hour(), hash.into()).await.unwrap();
        assert_eq!(items(&engine).await.len(), 3 * (number + 1));
        let update = Faults::default().nth(1, Target::operation(Operation::UpdateItem), fault);
        let victim = store(engine.client_with(update).client(), &world);
        victim.op().sessions().revoke(session.id).await.unwrap();
        assert_eq!(found(&victim, hash).await, None);
    }
}
