//! Deletions: by the event's actor, or by a caller who may delete any event. A repeated deletion has the same effect.

use std::time::Duration;

use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_engine::{Operation, Options};
use lately_keys::EventId;
use lately_store::{DeleteEventError, GetEventError, Store, TopicError};

use crate::support::{World, change, engine, event, ids, items, query, store, submission, topic};

async fn post(store: &Store, name: &str) -> EventId {
    let written = store.op().write(submission(&topic(name), vec![event("note", None)])).await.unwrap();
    written.events[0].id
}

#[tokio::test(start_paused = true)]
async fn an_event_is_deleted_by_its_actor_and_no_other_actor() {
    let world = World::new(1);
    let store = store(engine(&world, Options::default()).client(), &world);
    let posts = topic("posts");
    store.op().topic(&posts).put(&change("{}")).await.unwrap();
    let id = post(&store, "posts").await;

    let bob = "bob".parse().unwrap();
    assert!(matches!(
        store.op().topic(&posts).delete_event(id, Some(&bob)).await,
        Err(DeleteEventError::NotYours { .. })
    ));
    assert_eq!(store.op().topic(&posts).event(id).await.unwrap().id, id);

    let ada = "ada".parse().unwrap();
    let op = store.op();
    op.topic(&posts).delete_event(id, Some(&ada)).await.unwrap();
    let cost = op.cost();
    assert_eq!(cost.of_write(), "write_units=1.0, calls=1");
    assert!(matches!(store.op().topic(&posts).event(id).await, Err(GetEventError::NotFound(_))));
    assert!(store.op().topic(&posts).latest(&query(10)).await.unwrap().events.is_empty());
    // A deleted event counts as deleted, whoever asks.
    store.op().topic(&posts).delete_event(id, Some(&bob)).await.unwrap();

    let other = post(&store, "posts").await;
    store.op().topic(&posts).delete_event(other, None).await.unwrap();
    assert!(matches!(store.op().topic(&posts).event(other).await, Err(GetEventError::NotFound(_))));
    let unknown = topic("unknown");
    assert!(matches!(
        store.op().topic(&unknown).delete_event(other, None).await,
        Err(DeleteEventError::Topic(TopicError::NotFound(_)))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_walk_continues_across_deleted_events() {
    let world = World::new(1);
    let store = store(engine(&world, Options::default()).client(), &world);
    let posts = topic("posts");
    store.op().topic(&posts).put(&change(r#"{"min_shards":4}"#)).await.unwrap();
    let written = store.op().write(submission(&posts, vec![event("note", None); 40])).await.unwrap();
    let mut newest_first = ids(&written.events);
    newest_first.reverse();

    let page = store.op().topic(&posts).latest(&query(10)).await.unwrap();
    assert_eq!(ids(&page.events), newest_first[..10]);
    // The event at the cursor's position, and the next five.
    for id in &newest_first[9..15] {
        store.op().topic(&posts).delete_event(*id, None).await.unwrap();
    }
    let next = lately_model::EventQuery { cursor: page.next, ..query(10) };
    let page = store.op().topic(&posts).latest(&next).await.unwrap();
    assert_eq!(ids(&page.events), newest_first[15..25]);
}

#[tokio::test(start_paused = true)]
async fn a_crash_leaves_topics_and_events_whole_or_absent() {
    for moment in [Moment::Before, Moment::After] {
        for call in 1..=4 {
            let world = World::new(call);
            let engine = engine(&world, Options::default());
            let whole = store(engine.client(), &world);
            let posts = topic("posts");
            let faults = || Faults::default().nth(call, Target::any(), Fault::Crash(moment));

            let dying = engine.client_with(faults());
            let put = store(dying.client(), &world);
            drop(dying.run(put.op().topic(&posts).put(&change("{}"))).await);
            let (view, _) = whole.op().topic(&posts).put(&change("{}")).await.unwrap();
            assert_eq!(view.settings, change("{}").create().unwrap());

            let id = post(&whole, "posts").await;
            let dying = engine.client_with(faults());
            let delete = store(dying.client(), &world);
            drop(dying.run(delete.op().topic(&posts).delete_event(id, None)).await);
            whole.op().topic(&posts).delete_event(id, None).await.unwrap();
            assert!(matches!(whole.op().topic(&posts).event(id).await, Err(GetEventError::NotFound(_))));
            // The topic, its bucket's entry, and the entry in the actor's feed, which fan-out removes, are left.
            assert_eq!(items(&engine).await.len(), 3);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_with_a_lost_response_succeeds() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let whole = store(engine.client(), &world);
    let posts = topic("posts");
    whole.op().topic(&posts).put(&change("{}")).await.unwrap();
    let id = post(&whole, "posts").await;
    let lost = Fault::Timeout(Moment::After);
    let faults = Faults::default().nth(1, Target::operation(Operation::DeleteItem), lost);
    let faulty = store(engine.client_with(faults).client(), &world);
    let op = faulty.op();
    op.topic(&posts).delete_event(id, Some(&"ada".parse().unwrap())).await.unwrap();
    let cost = op.cost();
    assert_eq!(cost.calls, 3, "the topic, the delete, and its retry");
    assert!(matches!(whole.op().topic(&posts).event(id).await, Err(GetEventError::NotFound(_))));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumped_back_gives_no_future_ids() {
    let world = World::new(1);
    let store = store(engine(&world, Options::default()).client(), &world);
    let posts = topic("posts");
    store.op().topic(&posts).put(&change("{}")).await.unwrap();
    world.shift(Duration::from_secs(3600));
    post(&store, "posts").await;
    world.shift(Duration::ZERO);
    let refused = store.op().write(submission(&posts, vec![event("note", None)])).await;
    assert!(matches!(refused, Err(lately_store::WriteError::Table(_))));
}
