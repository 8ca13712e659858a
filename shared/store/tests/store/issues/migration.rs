//! Issues of older schemas. A read, a change or the background migration upgrades them. An upgrade never overwrites a
//! later write, whichever schema its writer knows.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_engine::fault::{Fault, Faults, Moment, Target, Throttle, When};
use lately_engine::{Engine, Lag, Operation, Options};
use lately_model::{Precondition, Revision};
use lately_store::limits::WRITE_BACKS_PER_PAGE;
use lately_store::{MigrationPlan, MigrationReport, Store};

use super::support::{answered, asking, befallen, change, item, now, number, repository, stored, told};
use crate::listed::{put, text};
use crate::support::{Item, TABLE, World, items, pass, start, start_with, store, with_a_death_at_each_call};

/// An item that an older release, or a newer one, has written.
struct Old {
    name: String,
    number: u32,
    item: Item,
    /// The issue that a read must give.
    reads: serde_json::Value,
    /// The attributes that the upgrade adds or changes.
    upgrade: Item,
}

impl Old {
    /// The item after its upgrade.
    fn upgraded(&self) -> Item {
        let mut item = self.item.clone();
        item.extend(self.upgrade.clone());
        item
    }

    fn revision(&self) -> Revision {
        Revision::new(self.reads["revision"].as_u64().unwrap())
    }
}

fn old() -> Vec<Old> {
    let all: serde_json::Value = serde_json::from_str(include_str!("../data/issues.json")).unwrap();
    let old = all.as_array().unwrap().iter().map(|old| Old {
        name: old["name"].as_str().unwrap().to_owned(),
        number: u32::try_from(old["reads"]["number"].as_u64().unwrap()).unwrap(),
        item: item(&old["item"]),
        reads: old["reads"].clone(),
        upgrade: item(&old["upgrade"]),
    });
    old.collect()
}

/// A world with a table of old items.
async fn world(options: Options) -> (World, Engine, Store) {
    let (world, engine, store) = start_with(1, options);
    put(&engine.client(), old().into_iter().map(|old| old.item)).await;
    (world, engine, store)
}

/// The table's issues after all upgrades.
fn all_upgraded() -> BTreeMap<u32, Item> {
    old().into_iter().map(|old| (old.number, old.upgraded())).collect()
}

/// Another program gives issue 1 other labels. It knows neither revisions nor priorities.
async fn relabel(engine: &Engine) {
    let key = old().into_iter().find(|old| old.number == 1).unwrap().item;
    let update = engine.client().update_item().table_name(TABLE);
    update
        .key("pk", key["pk"].clone())
        .key("sk", key["sk"].clone())
        .update_expression("SET labels = :labels")
        .expression_attribute_values(":labels", texts(&["enhancement"]))
        .condition_expression("attribute_exists(title)")
        .send()
        .await
        .unwrap();
}

fn texts(all: &[&str]) -> AttributeValue {
    AttributeValue::L(all.iter().copied().map(text).collect())
}

#[tokio::test(start_paused = true)]
async fn a_read_upgrades_an_old_item_once() {
    let (_, engine, store) = world(Options::default()).await;
    for old in old() {
        let op = store.op();
        let issue = op.issue(&number(old.number)).get(false).await.unwrap();
        let cost = op.cost();
        assert_eq!(answered(&issue), old.reads, "{}", old.name);
        assert_eq!(cost.calls, 1 + u64::from(!old.upgrade.is_empty()), "{}", old.name);
        // One unit for the table and one for each index, or two for an index within which the item moves.
        if let Some((_, units)) = [(1, 3), (4, 3), (9, 4), (6, 0)].iter().find(|(of, _)| *of == old.number) {
            assert_eq!((cost.read_units.halves, cost.write_units.halves), (1, 2 * units), "{}", old.name);
        }
        assert_eq!(stored(&engine).await[&old.number], old.upgraded(), "{}", old.name);
        let op = store.op();
        let again = op.issue(&number(old.number)).get(true).await.unwrap();
        assert_eq!((again, op.cost().calls), (issue, 1), "{}", old.name);
    }
    assert!(told(&engine).await.is_empty(), "an upgrade has no event");
}

#[tokio::test(start_paused = true)]
async fn a_page_upgrades_the_issues_that_it_shows() {
    for (query, shown) in [
        ("", &[10, 9, 8, 7, 6, 5, 4, 3, 2, 1][..]),
        // The page of an index shows issues with the right keys, and leaves out those with wrong ones.
        ("status=open", &[9, 7, 6, 5, 4, 1]),
        ("status=closed", &[2]),
        ("priority=low", &[7]),
    ] {
        let (_, engine, store) = world(Options::default()).await;
        let page = store.op().repository(&repository()).list(&asking(query)).await.unwrap();
        let numbers: Vec<_> = page.issues.iter().map(|issue| issue.number.get()).collect();
        assert_eq!(numbers, shown, "{query}");
        let old = old();
        for issue in &page.issues {
            let old = old.iter().find(|old| old.number == issue.number.get()).unwrap();
            assert_eq!(answered(issue), old.reads, "{}", old.name);
            assert_eq!(stored(&engine).await[&old.number], old.upgraded(), "{}", old.name);
        }
        if query.is_empty() {
            assert_eq!(stored(&engine).await, all_upgraded());
            assert_right_places(&store).await;
        }
    }
}

/// Asserts that all issues are in the right places of the indexes.
async fn assert_right_places(store: &Store) {
    for (query, shown) in [
        ("status=open", &[9, 7, 6, 5, 4, 1][..]),
        ("status=closed", &[8, 3, 2]),
        ("priority=high", &[9, 8, 6, 1]),
        ("priority=medium", &[5, 2]),
        // Issue 10 has the keys of a newer release. Only that release finds it here.
        ("priority=low", &[7, 4, 3]),
    ] {
        let op = store.op();
        let page = op.repository(&repository()).list(&asking(query)).await.unwrap();
        let numbers: Vec<_> = page.issues.iter().map(|issue| issue.number.get()).collect();
        assert_eq!((&*numbers, op.cost().calls), (shown, 1), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_limits_its_write_backs_and_the_next_continues() {
    let (_, engine, store) = start(1);
    let first = &old()[0];
    for number in 1..=60 {
        let mut item = first.item.clone();
        item.insert("sk".to_owned(), text(format!("ISSUE#{number:08}")));
        item.insert("gsi1sk".to_owned(), text(format!("ISSUE#OPEN#{number:08}")));
        put(&engine.client(), [item]).await;
    }
    let most = u64::try_from(WRITE_BACKS_PER_PAGE).unwrap();
    for written in [most, most, 60 - 2 * most, 0] {
        let op = store.op();
        let page = op.repository(&repository()).list(&asking("limit=60")).await.unwrap();
        assert_eq!((page.issues.len(), page.next), (60, None));
        assert_eq!(op.cost().calls, 1 + written);
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_succeeds_even_if_its_write_back_fails() {
    for fault in [
        Fault::Throttle(Throttle::TableKeyRange),
        Fault::InternalServerError,
        Fault::TransactionConflict,
        Fault::ConditionFailed,
        Fault::Timeout(Moment::Before),
        Fault::Timeout(Moment::After),
    ] {
        let (world, engine, _) = world(Options::default()).await;
        let applied = fault == Fault::Timeout(Moment::After);
        let target = Target::operation(Operation::UpdateItem);
        let client = engine.client_with(Faults::default().rule(target, When::Always, fault.clone()));
        let store = store(client.client(), &world);
        let op = store.op();
        let issue = op.issue(&number(1)).get(false).await.unwrap();
        assert_eq!(answered(&issue), old()[0].reads, "{fault:?}");
        assert_eq!(op.cost().calls, 2, "{fault:?}: the write-back is tried once");
        let page = store.op().repository(&repository()).list(&asking("")).await.unwrap();
        assert_eq!(page.issues.len(), 10, "{fault:?}");
        let now = stored(&engine).await;
        if applied {
            assert_eq!(now, all_upgraded());
        } else {
            assert_eq!(now, old().into_iter().map(|old| (old.number, old.item)).collect(), "{fault:?}");
        }
    }
}

/// A world in which reads that are not consistent return items as they were before.
async fn behind() -> (World, Engine, Store) {
    let lag = Lag { seed: 1, table: Duration::from_secs(10), index: Duration::from_secs(10), behind: 1.0 };
    let behind = world(Options { lag: Some(lag), ..Options::default() }).await;
    pass(Duration::from_secs(11)).await;
    behind
}

#[tokio::test(start_paused = true)]
async fn a_stale_read_never_overwrites_a_newer_write() {
    let (_, engine, store) = behind().await;
    for of in [1, 4, 8] {
        let known = old().into_iter().find(|old| old.number == of).unwrap().revision();
        let closed = r#"{"title":"New","labels":["enhancement"],"status":"closed"}"#;
        let changed = change(&store, of, closed, known).await.unwrap();
        assert_eq!(changed.revision, known.next());
        let now = stored(&engine).await;
        let op = store.op();
        let stale = op.issue(&number(of)).get(false).await.unwrap();
        assert_eq!((stale.revision, op.cost().calls), (known, 2), "its write-back is refused");
        assert_eq!(stored(&engine).await, now);
        assert_eq!(self::now(&store, of).await, changed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_read_never_overwrites_an_older_releases_write() {
    let (_, engine, store) = behind().await;
    relabel(&engine).await;
    let now = stored(&engine).await;
    let stale = store.op().issue(&number(1)).get(false).await.unwrap();
    assert_eq!(answered(&stale)["priority"], "high", "the priority follows from the old labels");
    assert_eq!(stored(&engine).await, now, "the old priority would be wrong now");
    let fresh = self::now(&store, 1).await;
    assert_eq!(answered(&fresh)["priority"], "low");
    assert_eq!(stored(&engine).await[&1]["gsi2sk"], text("PRIORITY#LOW#00000001"));
}

#[tokio::test(start_paused = true)]
async fn a_change_upgrades_the_item_and_keeps_unknown_attributes() {
    let (_, engine, store) = world(Options::default()).await;
    for old in old() {
        let known = old.revision();
        let changed = change(&store, old.number, r#"{"title":"Other"}"#, known).await.unwrap();
        let mut wanted = old.upgraded();
        wanted.insert("title".to_owned(), text("Other"));
        wanted.insert("revision".to_owned(), AttributeValue::N(known.next().to_string()));
        wanted.insert("updated_at".to_owned(), AttributeValue::N(changed.updated_at.get().to_string()));
        assert_eq!(stored(&engine).await[&old.number], wanted, "{}", old.name);
    }
    // A change to the same values is no change, but a read that upgrades.
    let (_, engine, store) = world(Options::default()).await;
    let same = change(&store, 1, r#"{"title":"Issue 1"}"#, old()[0].revision()).await.unwrap();
    assert_eq!(answered(&same), old()[0].reads);
    assert_eq!(stored(&engine).await[&1], old()[0].upgraded());
    assert!(told(&engine).await.is_empty());
}

/// Changes an item of schema 1 while something happens between the change's read and its write. Returns the item.
async fn changed_while(happens: impl AsyncFnOnce(&Engine, &Store)) -> Item {
    let (world, engine, plain) = world(Options::default()).await;
    let busy = Target::operation(Operation::TransactWriteItems);
    let client = engine.client_with(Faults::default().nth(1, busy, Fault::TransactionConflict));
    let victim = store(client.client(), &world);
    let meanwhile = async {
        befallen(&client).await;
        happens(&engine, &plain).await;
    };
    let changing = change(&victim, 1, r#"{"title":"Other"}"#, old()[0].revision());
    let (changed, ()) = tokio::join!(changing, meanwhile);
    assert_eq!(now(&plain, 1).await, changed.unwrap());
    assert_eq!(told(&engine).await.len(), 1);
    stored(&engine).await[&1].clone()
}

#[tokio::test(start_paused = true)]
async fn a_change_survives_a_concurrent_upgrade_or_older_write() {
    let upgraded = changed_while(async |_, plain| drop(now(plain, 1).await)).await;
    assert_eq!((&upgraded["title"], &upgraded["gsi2sk"]), (&text("Other"), &text("PRIORITY#HIGH#00000001")));
    let relabelled = changed_while(async |engine, _| relabel(engine).await).await;
    assert_eq!(relabelled["labels"], texts(&["enhancement"]));
    assert_eq!((&relabelled["title"], &relabelled["priority"]), (&text("Other"), &text("low")));
    assert_eq!(relabelled["gsi2sk"], text("PRIORITY#LOW#00000001"));
}

fn plan(run: bool, items_per_second: u32) -> MigrationPlan {
    MigrationPlan { run, items_per_second: NonZeroU32::new(items_per_second).unwrap() }
}

/// Runs the background migration.
async fn upgrade(store: &Store) -> MigrationReport {
    store.op().issues().migrate(&plan(true, 1_000), |_| ()).await.unwrap()
}

/// The background migration's report on the old items.
fn found() -> MigrationReport {
    MigrationReport {
        items: 10,
        schemas: [(1, 3), (2, 2), (3, 4), (4, 1)].into(),
        current: 2,
        newer: 1,
        to_upgrade: 7,
        ..MigrationReport::default()
    }
}

#[tokio::test(start_paused = true)]
async fn the_migration_reports_upgrades_and_then_finds_nothing() {
    let (_, engine, store) = world(Options::default()).await;
    let before = stored(&engine).await;
    assert_eq!(store.op().issues().migrate(&plan(false, 1_000), |_| ()).await.unwrap(), found());
    assert_eq!(stored(&engine).await, before, "a dry run changes nothing");
    assert_eq!(upgrade(&store).await, MigrationReport { upgraded: 7, ..found() });
    assert_eq!(stored(&engine).await, all_upgraded());
    let changes = engine.stream(TABLE).unwrap().len();
    let schemas = [(3, 9), (4, 1)].into();
    let nothing = MigrationReport { items: 10, schemas, current: 9, newer: 1, ..MigrationReport::default() };
    assert_eq!(upgrade(&store).await, nothing);
    assert_eq!(engine.stream(TABLE).unwrap().len(), changes);
}

#[tokio::test(start_paused = true)]
async fn the_migration_keeps_its_rate_and_reports_progress() {
    let (_, _, store) = world(Options::default()).await;
    // The migration also looks at other items, which are no issues.
    for user in 0..20 {
        let key = lately_items::ProfileKey { user: format!("u{user}").parse().unwrap() };
        let document = lately_model::Document::parse(b"{}").unwrap();
        store.op().record(&key).put(&document, Precondition::None).await.unwrap();
    }
    let begun = tokio::time::Instant::now();
    let mut told = Vec::new();
    let tell = |report: &MigrationReport| told.push((report.items, begun.elapsed().as_secs()));
    let report = store.op().issues().migrate(&plan(true, 4), tell).await.unwrap();
    assert_eq!((report.items, report.upgraded), (30, 7));
    // Four items a second, and the last two after seven seconds.
    let expected: Vec<_> = (1..=7).map(|page| (4 * page, page - 1)).chain([(30, 7)]).collect();
    assert_eq!(told, expected);
}

#[test]
fn the_migration_continues_after_a_crash_at_any_call() {
    let calls = with_a_death_at_each_call(async |call, faults| {
        let (world, engine, plain) = world(Options::default()).await;
        let client = engine.client_with(faults);
        let lived = client.run(upgrade(&store(client.client(), &world))).await.is_some();
        let there = stored(&engine).await;
        for old in old() {
            let item = &there[&old.number];
            assert!(*item == old.item || *item == old.upgraded(), "{call}: {}", old.name);
        }
        upgrade(&plain).await;
        assert_eq!(stored(&engine).await, all_upgraded(), "{call}");
        !lived
    });
    assert_eq!(calls, 8, "a scan and seven updates");
}

#[tokio::test(start_paused = true)]
async fn the_migration_counts_overtaken_and_failed_items() {
    let (world, engine, plain) = world(Options::default()).await;
    let mut broken = old()[0].item.clone();
    broken.insert("sk".to_owned(), text("ISSUE#00000011"));
    broken.insert("title".to_owned(), text(""));
    put(&engine.client(), [broken]).await;
    let schemas = [(1, 4), (2, 2), (3, 4), (4, 1)].into();
    let one = MigrationReport { items: 11, failed: 1, schemas, ..found() };
    for (fault, report) in [
        (Fault::ConditionFailed, MigrationReport { overtaken: 7, ..one.clone() }),
        (Fault::InternalServerError, MigrationReport { to_upgrade: 0, failed: 8, ..one }),
    ] {
        let target = Target::operation(Operation::UpdateItem);
        let client = engine.client_with(Faults::default().rule(target, When::Always, fault));
        assert_eq!(upgrade(&store(client.client(), &world)).await, report);
    }
    let after = upgrade(&plain).await;
    assert_eq!(after.upgraded, 7, "a failed upgrade loses nothing");
    assert_eq!(items(&engine).await.len(), 11);
}
