//! Report runs: begun once, continued by any invocation, committed by one attempt, finished by any invocation.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future;
use lately_engine::Operation;
use lately_engine::fault::{Fault, Faults, Target, When};
use lately_items::{AnyKey, ConsumerKey};
use lately_keys::{EventId, Tick};
use lately_model::{GroupBy, NewConsumer, RunSpec};
use lately_store::{Begun, Progress, RunError, Store};

use crate::consumers::{Files, LEASE, Rig, SETTLED, attempt, begin, nightly, read, report_later};
use crate::scene::{fan_out, key};
use crate::support::{HOUR, items, pass, seeds, store};

#[tokio::test(start_paused = true)]
async fn one_invocation_has_the_run_until_its_lease_ends() {
    let rig = Rig::new().await;
    let store = &rig.store;
    pass(SETTLED).await;
    let run = begin(store).await;
    let busy = Begun::Busy { until: store.now().saturating_add(60_000) };
    let again = store.op().runs(&nightly()).begin(&RunSpec::default(), LEASE).await.unwrap();
    assert_eq!((again, store.op().runs(&nightly()).resume(LEASE).await.unwrap()), (busy.clone(), busy));

    // The saved progress frees the run, and so does a release.
    let progress = Progress { object: "a/1".to_owned(), position: run.from, events: 0 };
    assert!(store.op().run(&run).save_progress(&progress).await.unwrap());
    let second = begin(store).await;
    assert_eq!(second.progress, Some(progress.clone()));
    assert!(
        !store.op().run(&run).save_progress(&progress).await.unwrap(),
        "another invocation has the run now"
    );
    store.op().run(&run).release().await.unwrap();
    assert!(matches!(store.op().runs(&nightly()).resume(LEASE).await.unwrap(), Begun::Busy { .. }));
    store.op().run(&second).release().await.unwrap();
    let third = begin(store).await;
    // The end and the spec of a run were decided when it began.
    assert_eq!((third.to, &third.spec), (run.to, &RunSpec::default()));

    pass(LEASE).await;
    let spec = RunSpec { group_by: GroupBy::Type, ..RunSpec::default() };
    let Begun::Run(fourth) = store.op().runs(&nightly()).begin(&spec, LEASE).await.unwrap() else { panic!() };
    assert_eq!((fourth.to, &fourth.spec), (run.to, &RunSpec::default()));
}

#[tokio::test(start_paused = true)]
async fn saved_progress_frees_a_run_and_a_commit_clears_it() {
    let rig = Rig::new().await;
    let store = &rig.store;
    pass(SETTLED).await;
    let run = begin(store).await;
    let stored = async || {
        let all = items(&rig.engine).await;
        all.into_iter().find(|item| matches!(key(item), AnyKey::Run(_))).unwrap()
    };
    let progress = Progress { object: "a/1".to_owned(), position: run.to, events: 3 };
    assert!(store.op().run(&run).save_progress(&progress).await.unwrap());
    let item = stored().await;
    assert_eq!(
        (item["progress"].as_s().unwrap().as_str(), item["lease"].as_n().unwrap().as_str()),
        ("a/1", "0")
    );
    store.op().run(&run).release().await.unwrap();
    assert_ne!(stored().await["lease"].as_n().unwrap(), "0");

    let winner = attempt("winner", store.now());
    let committed = store.op().run(&run).commit(&winner).await.unwrap();
    assert_eq!((committed.committed.as_ref(), committed.progress.as_ref()), (Some(&winner), None));
    assert!(!stored().await.contains_key("progress"));
    assert!(!store.op().run(&run).save_progress(&progress).await.unwrap());
    let other = store.op().run(&run).commit(&attempt("loser", store.now())).await.unwrap();
    assert_eq!(other.committed, Some(winner.clone()));
    // The next invocation finishes the run.
    let continued = begin(store).await;
    assert_eq!(continued.committed, Some(winner));
    assert!(matches!(store.op().run(&run).finish().await, Err(RunError::NotCommitted)));
    store.op().run(&continued).finish().await.unwrap();
    assert_eq!(
        store.op().runs(&nightly()).find(run.to).await.unwrap().unwrap().committed,
        continued.committed
    );
}

#[tokio::test(start_paused = true)]
async fn only_late_events_are_reported_as_late_and_once() {
    let mut rig = Rig::new().await;
    let mut files = Files::default();
    let first = report_later(&rig, &mut files).await;
    // These events were stored five seconds after their time, so the run may have passed them. It has not.
    let early = rig.write_many(20, Duration::from_secs(5)).await;
    let second = report_later(&rig, &mut files).await;
    let late = rig.write_many(20, HOUR).await;
    rig.tell().await;
    assert_eq!(rig.logged().await.len(), 40);
    let third = report_later(&rig, &mut files).await;
    assert_eq!(files.files[&first.to], [].into());
    assert_eq!(files.files[&second.to], early.iter().copied().collect());
    assert_eq!(files.files[&third.to], late.iter().copied().collect());
    assert_eq!(files.looks, 2, "the files of two runs cover the forty events");
    // Nothing was added to the log since then, so nothing is read.
    pass(SETTLED).await;
    let fourth = begin(&rig.store).await;
    let op = rig.store.op();
    let late = op.run(&fourth).late_ids(&mut files).await.unwrap();
    assert_eq!((late, op.cost().calls), (vec![], 0));
}

#[tokio::test(start_paused = true)]
async fn events_landing_during_a_run_are_left_to_the_next() {
    let (mut rig, mut files) = Rig::reported().await;
    let before = rig.write(HOUR).await;
    rig.tell().await;
    pass(SETTLED).await;
    let run = begin(&rig.store).await;
    // One event lies in the range and lands after the range was read. Another one is late, and fan-out gets it now.
    let mut found = read(&rig.store, &run, &mut files).await;
    let within = rig.write(Duration::from_millis(10_500)).await;
    let later = rig.write(HOUR).await;
    rig.tell().await;
    assert!(within > run.from && within <= run.to);
    found.extend(read(&rig.store, &run, &mut files).await.into_iter().filter(|id| *id == within));
    assert_eq!(
        found,
        [before, within],
        "the range, read again, has the event that landed meanwhile, and the late list does not"
    );
    let run = rig.store.op().run(&run).commit(&attempt("a", rig.store.now())).await.unwrap();
    files.files.insert(run.to, [before].into());
    rig.store.op().run(&run).finish().await.unwrap();
    let next = report_later(&rig, &mut files).await;
    assert_eq!(files.files[&next.to], [within, later].into());
    assert!(rig.has_read_log().await);
}

#[tokio::test(start_paused = true)]
async fn overlapping_attempts_report_the_same_late_events() {
    for seed in seeds(3) {
        let mut rig = Rig::new().await;
        let mut files = Files::default();
        report_later(&rig, &mut files).await;
        let mut late: BTreeSet<_> = rig.write_many(60, HOUR).await.into_iter().collect();
        rig.tell().await;
        // In every tenth story, the list has more than one page of 2,000 events.
        let is_long = seed.0.is_multiple_of(10);
        if is_long {
            let ago = Tick::first_of(rig.world.now().saturating_sub(7_200_000));
            let ids: Vec<_> = (0..2_100).map(|n| EventId::new(ago, 0.into(), n)).collect();
            let batches: Vec<_> = ids.chunks(100).map(<[EventId]>::to_vec).collect();
            rig.append(&batches).await;
            late.extend(ids);
        }
        let listed = late.clone();
        pass(SETTLED).await;
        let run = begin(&rig.store).await;
        // The attempts interleave at random, while fan-out notes more late events.
        let process = |n| {
            let faults = Faults::seeded(seed.0 * 3 + n).interleaved(9);
            store(rig.engine.client_with(faults).client(), &rig.world)
        };
        let stores: Vec<_> = (0..3).map(process).collect();
        let more = rig.write_many(100, HOUR).await;
        late.extend(&more);
        let news = rig.news();
        let noting = rig.engine.client_with(Faults::seeded(seed.0).interleaved(3));
        let noting = store(noting.client(), &rig.world);
        let list = async |store: &Store| {
            let mut files = files.clone();
            store.op().run(&run).late_ids(&mut files).await.unwrap()
        };
        let attempts = future::join3(list(&stores[0]), list(&stores[1]), list(&stores[2]));
        let (lists, _) = future::join(attempts, fan_out(&noting, &news)).await;
        assert!(lists.0 == lists.1 && lists.1 == lists.2);
        assert!(lists.0.is_sorted());
        assert_eq!(
            lists.0.iter().copied().collect::<BTreeSet<_>>(),
            listed,
            "the log's end was fixed before"
        );

        let run = rig.store.op().run(&run).commit(&attempt("a", rig.store.now())).await.unwrap();
        files.files.insert(run.to, lists.0.iter().copied().collect());
        // Several invocations finish the run too.
        let finishing = if is_long { &stores[..1] } else { &stores[..2] };
        let finish = async |store: &Store| store.op().run(&run).finish().await.unwrap();
        future::join_all(finishing.iter().map(finish)).await;
        report_later(&rig, &mut files).await;
        assert_eq!(files.reported(), late);
        assert!(rig.has_read_log().await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_leaves_logged_events_of_its_own_range_to_the_range() {
    let rig = Rig::new().await;
    let mut files = Files::default();
    let first = report_later(&rig, &mut files).await;
    // The log names events that lie in the next run's own range, so they are not late for it.
    let behind = first.to.at().saturating_add(1);
    let ids: Vec<_> = (0..32).map(|n| EventId::new(Tick::first_of(behind), 0.into(), n)).collect();
    rig.append(&[ids]).await;
    for _ in 0..2 {
        pass(SETTLED).await;
        let run = begin(&rig.store).await;
        let late = rig.store.op().run(&run).late_ids(&mut files).await.unwrap();
        assert_eq!(late, []);
        files.files.insert(run.to, BTreeSet::new());
        let run = rig.store.op().run(&run).commit(&attempt("a", rig.store.now())).await.unwrap();
        rig.store.op().run(&run).finish().await.unwrap();
    }
    assert!(rig.has_read_log().await);
}

#[tokio::test(start_paused = true)]
async fn a_run_reads_a_bounded_part_of_a_long_log_and_the_next_run_goes_on() {
    let rig = Rig::new().await;
    let mut files = Files::default();
    report_later(&rig, &mut files).await;
    let ago = Tick::first_of(rig.world.now().saturating_sub(3_600_000));
    let ids: Vec<_> = (0..2_500).map(|n| EventId::new(ago, 0.into(), n)).collect();
    let batches: Vec<_> = ids.iter().map(|id| vec![*id]).collect();
    rig.append(&batches).await;
    for expected in [2_000, 500, 0] {
        pass(SETTLED).await;
        let run = begin(&rig.store).await;
        let op = rig.store.op();
        let late = op.run(&run).late_ids(&mut files).await.unwrap();
        assert_eq!(late.len(), expected);
        assert!(op.cost().read_units.halves <= 2 * (2_000 + 10), "{}", op.cost().of_read());
        files.files.insert(run.to, late.into_iter().collect());
        let run = rig.store.op().run(&run).commit(&attempt("a", rig.store.now())).await.unwrap();
        rig.store.op().run(&run).finish().await.unwrap();
    }
    assert_eq!(files.reported(), ids.into_iter().collect());
}

#[tokio::test(start_paused = true)]
async fn a_run_does_not_report_events_before_the_consumers_start() {
    let mut rig = Rig::new().await;
    rig.store.op().consumer(&nightly()).put(&NewConsumer::default()).await.unwrap();
    let everything = ConsumerKey { name: "everything".parse().unwrap(), ..nightly() };
    let earliest = NewConsumer::parse(br#"{"start":"earliest"}"#).unwrap();
    rig.store.op().consumer(&everything).put(&earliest).await.unwrap();
    let mut files = Files::default();
    report_later(&rig, &mut files).await;
    let before_start = rig.write(HOUR).await;
    rig.tell().await;
    assert_eq!(rig.logged().await, [before_start].into(), "it is late for the other consumer");
    report_later(&rig, &mut files).await;
    assert_eq!(files.reported(), [].into());
}

#[tokio::test(start_paused = true)]
async fn a_run_begins_although_other_transactions_are_at_work() {
    let rig = Rig::new().await;
    pass(SETTLED).await;
    let transactions = Target::operation(Operation::TransactWriteItems);
    let faults = Faults::default().rule(transactions, When::First(4), Fault::TransactionConflict);
    let busy = rig.engine.client_with(faults);
    let run = begin(&store(busy.client(), &rig.world)).await;
    assert_eq!(busy.injected().len(), 4);
    assert_eq!(rig.store.op().runs(&nightly()).find(run.to).await.unwrap(), Some(run));
}
