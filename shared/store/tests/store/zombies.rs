//! Processes that wake hours later, and work that was begun for a consumer that was deleted and created again.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future;
use lately_engine::fault::{Fault, Faults, Moment, Target};
use lately_items::{AnyKey, ReportedLateKey};
use lately_model::{NewConsumer, RunSpec};
use lately_store::{ConsumerError, Progress, Run, RunError, TableError};

use crate::consumers::{Files, LEASE, Rig, SETTLED, attempt, begin, nightly, read, report, report_later};
use crate::listed::put;
use crate::scene::{fan_out, key};
use crate::support::{HOUR, Item, pass, seeds, store, table, with_a_death_at_each_call};

/// The table's items of consumers, without the times at which lists of late events expire.
async fn consumers(rig: &Rig) -> BTreeMap<[String; 2], Item> {
    let mut all = table(&rig.engine).await;
    all.retain(|_, item| {
        item.remove("expires_at");
        matches!(
            key(item),
            AnyKey::Consumer(_) | AnyKey::Run(_) | AnyKey::ReportedLate(_) | AnyKey::Announcement(_)
        )
    });
    all
}

/// Takes every step of a run once more.
async fn walk_again(rig: &Rig, run: &Run, files: &Files) {
    let store = &rig.store;
    // This gives the run's list of late events, if any of it is left.
    store.op().run(run).late_ids(&mut files.clone()).await.unwrap();
    let progress = Progress { object: "zombie".to_owned(), position: run.to, events: 9 };
    assert!(!store.op().run(run).save_progress(&progress).await.unwrap());
    store.op().run(run).release().await.unwrap();
    match store.op().run(run).commit(&attempt("zombie", store.now())).await {
        Ok(committed) => assert_ne!(committed.committed.unwrap().attempt, "zombie"),
        Err(error) => assert!(matches!(error, RunError::NotFound(_)), "{error}"),
    }
    store.op().run(run).finish().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn work_for_a_deleted_consumer_never_reaches_its_successor() {
    let (mut rig, mut files) = Rig::reported().await;
    let written: BTreeSet<_> = rig.write_many(30, HOUR).await.into_iter().collect();
    let news = rig.news();
    fan_out(&rig.store, &news).await;
    pass(SETTLED).await;
    let begun = begin(&rig.store).await;
    let found = read(&rig.store, &begun, &mut files).await;
    assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), written);
    let run = rig.store.op().run(&begun).commit(&attempt("a", rig.store.now())).await.unwrap();
    files.files.insert(run.to, found.into_iter().collect());

    rig.store.op().consumer(&nightly()).delete().await.unwrap();
    assert!(consumers(&rig).await.is_empty());
    walk_again(&rig, &run, &files).await;
    assert!(consumers(&rig).await.is_empty());

    // The consumer that is created again reports all events, in files of its own.
    let mut files = Files::default();
    pass(HOUR).await;
    let first = report(&rig.store, &mut files).await;
    assert!(first.incarnation > run.incarnation);
    assert_eq!(files.reported(), written);
    fan_out(&rig.store, &news).await;
    let late = rig.write_many(5, HOUR * 2).await;
    rig.tell().await;
    let before = consumers(&rig).await;
    walk_again(&rig, &run, &files).await;
    assert_eq!(consumers(&rig).await, before);
    report_later(&rig, &mut files).await;
    assert_eq!(files.reported(), written.into_iter().chain(late).collect());
}

#[tokio::test(start_paused = true)]
async fn an_earlier_consumers_list_of_late_events_hides_nothing_from_its_successor() {
    let (mut rig, mut files) = Rig::reported().await;
    let old = report_later(&rig, &mut files).await;
    rig.store.op().consumer(&nightly()).delete().await.unwrap();
    let mut files = Files::default();
    let first = report_later(&rig, &mut files).await;
    assert_ne!(first.incarnation, old.incarnation);
    let late = rig.write(HOUR).await;
    rig.tell().await;
    // A process that woke after the deletion has put a list for the earlier consumer.
    let covering = first.to;
    let key = ReportedLateKey { consumer: nightly(), covering, to: old.to, page: 0 };
    put(&rig.engine.client(), [key.item(old.incarnation, &[late], 9_999_999_999).into_attributes()]).await;
    let next = report_later(&rig, &mut files).await;
    assert_eq!(files.files[&next.to], [late].into());
}

#[test]
fn a_deletion_that_died_at_any_call_can_be_finished() {
    let calls = with_a_death_at_each_call(async |call, faults| {
        let (mut rig, mut files) = Rig::reported().await;
        rig.write_many(5, HOUR).await;
        rig.tell().await;
        report_later(&rig, &mut files).await;
        let victim = rig.engine.client_with(faults);
        let victims = store(victim.client(), &rig.world);
        let done = victim.run(victims.op().consumer(&nightly()).delete()).await.is_some();
        if !done {
            rig.store.op().consumer(&nightly()).delete().await.unwrap();
        }
        assert_eq!(consumers(&rig).await, BTreeMap::new(), "{call}");
        !done
    });
    assert!(calls > 6, "{calls} calls");
}

#[tokio::test(start_paused = true)]
async fn a_consumers_name_is_free_after_its_deletion() {
    let (rig, _) = Rig::reported().await;
    // The deletion has marked the consumer, and nothing more.
    let faults = Faults::default().nth(2, Target::any(), Fault::Crash(Moment::After));
    let victim = rig.engine.client_with(faults);
    assert!(
        victim.run(store(victim.client(), &rig.world).op().consumer(&nightly()).delete()).await.is_none()
    );
    assert!(matches!(rig.store.op().consumer(&nightly()).view().await, Err(ConsumerError::NotFound(_))));
    let begun = rig.store.op().runs(&nightly()).begin(&RunSpec::default(), LEASE).await;
    assert!(matches!(begun, Err(RunError::NotFound(_))));
    let put = rig.store.op().consumer(&nightly()).put(&NewConsumer::default()).await;
    assert!(matches!(put, Err(ConsumerError::Table(TableError::Unavailable(_)))));
    rig.store.op().consumer(&nightly()).delete().await.unwrap();
    assert!(rig.store.op().consumer(&nightly()).put(&NewConsumer::default()).await.unwrap().1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_deletion_leaves_the_new_consumer_whole_or_gone() {
    let mut left = 0;
    for seed in seeds(20) {
        let (mut rig, _) = Rig::reported().await;
        rig.write_many(3, HOUR).await;
        rig.tell().await;
        let slow = rig.engine.client_with(Faults::seeded(seed.0).interleaved(40));
        let slow = store(slow.client(), &rig.world);
        let swift = async {
            for _ in 0..(seed.0 % 20) * 60 {
                tokio::task::yield_now().await;
            }
            rig.store.op().consumer(&nightly()).delete().await.unwrap();
            rig.world.shift(HOUR);
            // The slow deletion may have marked the new consumer, because it took it for the one to delete.
            rig.store.op().runs(&nightly()).begin(&RunSpec::default(), LEASE).await.ok()
        };
        let (deleted, _) = future::join(slow.op().consumer(&nightly()).delete(), swift).await;
        deleted.unwrap();
        let here = consumers(&rig).await;
        // Either the slow deletion deleted the new consumer, or its checkpoint, run and announcement are all there.
        assert!(here.is_empty() || here.len() == 3, "{here:?}");
        left += here.len() / 3;
    }
    // A run of a few named seeds may delete every new consumer.
    assert!(left > 3 || lately_rig::are_named(), "{left}");
}
