//! The life of a person before its erasure: ada and bob have left every trace that they can leave.

use lately_items::{ConsumerKey, ProfileKey, TokenHash};
use lately_model::{Document, NewConsumer, NewErasure, NewEvent, NewSession, PollRequest, Precondition};
use lately_store::FeedSettings;

use crate::faults::keyed;
use crate::issues::support as issues;
use crate::listed::user;
use crate::scene::Scene;
use crate::support::{change, event, pass, topic};

pub(crate) fn asked(actor: Option<&str>, user: Option<&str>) -> NewErasure {
    let confirm = actor.or(user).unwrap().to_owned();
    let (actor, user) = (actor.map(|name| name.parse().unwrap()), user.map(|name| name.parse().unwrap()));
    NewErasure { actor, user, confirm }
}

/// The erasure of everything that is named ada.
pub(crate) fn of_ada() -> NewErasure {
    asked(Some("ada"), Some("ada"))
}

pub(crate) fn by(actor: &str, subject: Option<&str>) -> NewEvent {
    let subject = subject.map(|subject| subject.parse().unwrap());
    NewEvent { actor: actor.parse().unwrap(), subject, ..event("note", Some("1".to_owned())) }
}

/// Puts a user's profile, and creates a session.
async fn sign_in(scene: &Scene, who: &str) {
    let op = scene.store.op();
    let document = Document::parse(br#"{"likes":"tea"}"#).unwrap();
    op.record(&ProfileKey { user: user(who) }).put(&document, Precondition::Absent).await.unwrap();
    let session = format!(r#"{{"user":"{who}","scopes":["read"],"ttl_seconds":3600}}"#);
    let session = NewSession::parse(session.as_bytes()).unwrap();
    op.sessions().create(&session, TokenHash::from([who.as_bytes()[0]; 32])).await.unwrap();
}

/// A short life: few traces of each kind. A consumer has announced that it reads up to now.
pub(crate) async fn lived_shortly(settings: FeedSettings) -> Scene {
    let mut scene = Scene::new(settings).await;
    let unlisted = topic("unlisted");
    let op = scene.store.op();
    let narrow = r#"{"views":["subject"],"fan_out":false,"min_shards":2}"#;
    op.topic(&unlisted).put(&change(narrow)).await.unwrap();
    for (who, what) in [("bob", "actor:ada"), ("cy", "subject:s"), ("ada", "actor:bob")] {
        scene.follow(who, what, 0).await;
    }
    scene.settle().await;
    let consumer = ConsumerKey { topic: scene.posts.clone(), name: "nightly".parse().unwrap() };
    op.consumer(&consumer).put(&NewConsumer::parse(br#"{"start":"earliest"}"#).unwrap()).await.unwrap();
    op.consumer(&consumer).poll(PollRequest::default()).await.unwrap();
    let late = Some(scene.world.now().saturating_sub(50_000));
    for (topic, actor, at) in
        [(&scene.posts, "ada", late), (&scene.posts, "bob", None), (&unlisted, "ada", None)]
    {
        scene.post(topic, vec![NewEvent { at, ..by(actor, Some("s")) }]).await;
    }
    issues::open(&scene.store, r#"{"title":"of ada"}"#).await;
    sign_in(&scene, "ada").await;
    scene.settle().await;
    scene
}

/// A long life: also events of others, imports, a keyed event, and traces of bob.
pub(super) async fn lived(settings: FeedSettings) -> Scene {
    let mut scene = lived_shortly(settings).await;
    for (who, what) in [
        ("cy", "actor:ada"),
        ("dee", "subject:s"),
        ("dee", "actor:bob"),
        ("ada", "subject:t"),
        ("ada", "actor:ada"),
    ] {
        scene.follow(who, what, 0).await;
    }
    scene.settle().await;
    let late = scene.world.now().saturating_sub(600_000);
    let (logs, unlisted) = (scene.logs.clone(), topic("unlisted"));
    for (topic, at) in [(&scene.posts, None), (&logs, None), (&unlisted, None), (&scene.posts, Some(late))] {
        for (actor, subject) in
            [("ada", Some("s")), ("bob", Some("s")), ("bob", Some("t")), ("ada", None), ("cy", Some("s"))]
        {
            scene.post(topic, vec![NewEvent { at, ..by(actor, subject) }]).await;
        }
    }
    let op = scene.store.op();
    op.topic(&scene.posts).write(keyed("once", vec![by("ada", None)])).await.unwrap();
    let of_bob = issues::new(r#"{"title":"of bob"}"#);
    op.repository(&issues::repository()).open(&of_bob, &"bob".parse().unwrap()).await.unwrap();
    sign_in(&scene, "bob").await;
    scene.settle().await;
    let seen = scene.shown("ada").await[0];
    op.feed(&user("ada")).see(seen).await.unwrap();
    op.feed(&user("bob")).see(seen).await.unwrap();
    pass(std::time::Duration::from_secs(1)).await;
    scene.settle().await;
    scene
}
