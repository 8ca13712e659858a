//! Deleting: by the actor or by anyone who may, to the same effect however often.

use std::time::Duration;

use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_engine::{Operation, Options};
use lately_keys::EventId;
use lately_store::{DeleteEventError, GetEventError, Store, TopicError};

use crate::support::{World, change, engine, event, ids, items, query, store, submission, topic};

async fn post(store: &Store, name: &str) -> EventId {
    let (written, _) = store.write(submission(&topic(name), vec![event("note", None)])).await.unwrap();
    written.events[0].id
}

#[tokio::test(start_paused = true)]
async fn an_event_is_deleted_by_its_actor_and_by_no_other() {
    let world = World::new(1);
    let store = store(engine(&world, Options::default()).client(), &world);
    let posts = topic("posts");
    store.put_topic(&posts, &change("{}")).await.unwrap();
    let id = post(&store, "posts").await;

    let bob = "bob".parse().unwrap();
    assert!(matches!(
        store.delete_event(&posts, id, Some(&bob)).await,
        Err(DeleteEventError::NotYours { .. })
    ));
    assert_eq!(store.event(&posts, id).await.unwrap().0.id, id);

    let ada = "ada".parse().unwrap();
    let cost = store.delete_event(&posts, id, Some(&ada)).await.unwrap();
    assert_eq!(cost.of_write(), "write_units=1.0, calls=1");
    assert!(matches!(store.event(&posts, id).await, Err(GetEventError::NotFound(_))));
    assert!(store.latest(&posts, &query(10)).await.unwrap().0.events.is_empty());
    // Gone is gone, for whoever asks.
    store.delete_event(&posts, id, Some(&bob)).await.unwrap();

    let other = post(&store, "posts").await;
    store.delete_event(&posts, other, None).await.unwrap();
    assert!(matches!(store.event(&posts, other).await, Err(GetEventError::NotFound(_))));
    let unknown = topic("unknown");
    assert!(matches!(
        store.delete_event(&unknown, other, None).await,
        Err(DeleteEventError::Topic(TopicError::NotFound(_)))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_walk_goes_on_over_what_was_deleted_meanwhile() {
    let world = World::new(1);
    let store = store(engine(&world, Options::default()).client(), &world);
    let posts = topic("posts");
    store.put_topic(&posts, &change(r#"{"min_shards":4}"#)).await.unwrap();
    let (written, _) = store.write(submission(&posts, vec![event("note", None); 40])).await.unwrap();
    let mut newest_first = ids(&written.events);
    newest_first.reverse();

    let (page, _) = store.latest(&posts, &query(10)).await.unwrap();
    assert_eq!(ids(&page.events), newest_first[..10]);
    // The position itself, and the next five.
    for id in &newest_first[9..15] {
        store.delete_event(&posts, *id, None).await.unwrap();
    }
    let next = lately_model::EventQuery { cursor: page.next, ..query(10) };
    let (page, _) = store.latest(&posts, &next).await.unwrap();
    assert_eq!(ids(&page.events), newest_first[15..25]);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_dies_at_any_call_leaves_a_topic_and_an_event_there_or_not() {
    for moment in [Moment::Before, Moment::After] {
        for call in 1..=4 {
            let world = World::new(call);
            let engine = engine(&world, Options::default());
            let whole = store(engine.client(), &world);
            let posts = topic("posts");
            let faults = || Faults::default().nth(call, Target::any(), Fault::Crash(moment));

            let dying = engine.client_with(faults());
            let put = store(dying.client(), &world);
            drop(dying.run(put.put_topic(&posts, &change("{}"))).await);
            let (view, _, _) = whole.put_topic(&posts, &change("{}")).await.unwrap();
            assert_eq!(view.settings, change("{}").create().unwrap());

            let id = post(&whole, "posts").await;
            let dying = engine.client_with(faults());
            let delete = store(dying.client(), &world);
            drop(dying.run(delete.delete_event(&posts, id, None)).await);
            whole.delete_event(&posts, id, None).await.unwrap();
            assert!(matches!(whole.event(&posts, id).await, Err(GetEventError::NotFound(_))));
            // The topic, its bucket's entry, and that of its actor's feed, which fan-out removes; and nothing else.
            assert_eq!(items(&engine).await.len(), 3);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_delete_whose_answer_was_lost_is_still_the_actors() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let whole = store(engine.client(), &world);
    let posts = topic("posts");
    whole.put_topic(&posts, &change("{}")).await.unwrap();
    let id = post(&whole, "posts").await;
    let lost = Fault::Timeout(Moment::After);
    let faults = Faults::default().nth(1, Target::operation(Operation::DeleteItem), lost);
    let faulty = store(engine.client_with(faults).client(), &world);
    let cost = faulty.delete_event(&posts, id, Some(&"ada".parse().unwrap())).await.unwrap();
    assert_eq!(cost.calls, 3, "the topic, the delete, and the delete again");
    assert!(matches!(whole.event(&posts, id).await, Err(GetEventError::NotFound(_))));
}

#[tokio::test(start_paused = true)]
async fn a_process_whose_clock_once_stood_ahead_gives_no_ids_from_the_future() {
    let world = World::new(1);
    let store = store(engine(&world, Options::default()).client(), &world);
    let posts = topic("posts");
    store.put_topic(&posts, &change("{}")).await.unwrap();
    world.shift(Duration::from_secs(3600));
    post(&store, "posts").await;
    world.shift(Duration::ZERO);
    let refused = store.write(submission(&posts, vec![event("note", None)])).await;
    assert!(matches!(refused, Err(lately_store::WriteError::Table(_))));
}
