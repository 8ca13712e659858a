//! Older items: each read as what it is, and upgraded by that read, by a change, or in the background; and never over what
//! someone else has written meanwhile, whatever schema they know.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use lately_engine::fault::{Fault, Faults, Moment, Target, Throttle, When};
use lately_engine::{Engine, Lag, Operation, Options};
use lately_model::{Issue, Precondition, Revision};
use lately_store::limits::WRITE_BACKS_PER_PAGE;
use lately_store::{MigrationPlan, MigrationReport, Store};

use super::support::{
    answered, asking, befallen, change, changing, item, now, number, open, put, repository, stored, told,
};
use crate::support::{Item, TABLE, World, engine, items, pass, store};

/// An item that an older release, or a newer one, has left.
struct Old {
    name: String,
    number: u32,
    item: Item,
    /// The issue that it is.
    reads: serde_json::Value,
    /// What upgrades it.
    upgrade: Item,
}

impl Old {
    /// The item when it is upgraded.
    fn upgraded(&self) -> Item {
        let mut item = self.item.clone();
        item.extend(self.upgrade.clone());
        item
    }

    fn revision(&self) -> Revision {
        Revision::new(self.reads["revision"].as_u64().unwrap())
    }

    fn needs_upgrade(&self) -> bool {
        !self.upgrade.is_empty()
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
async fn world(options: Options) -> (World, Engine) {
    let world = World::new(1);
    let engine = engine(&world, options);
    for old in old() {
        put(&engine, old.item).await;
    }
    (world, engine)
}

/// All that is to be in the table when everything is upgraded.
fn all_upgraded() -> BTreeMap<u32, Item> {
    old().into_iter().map(|old| (old.number, old.upgraded())).collect()
}

/// An update as some other program makes it.
async fn update(engine: &Engine, of: u32, expression: &str, values: &[(&str, AttributeValue)]) {
    let values = values.iter().cloned().map(|(name, value)| (name.to_owned(), value)).collect();
    let key = old().into_iter().find(|old| old.number == of).unwrap().item;
    let update = engine.client().update_item().table_name(TABLE).update_expression(expression);
    update
        .key("pk", key["pk"].clone())
        .key("sk", key["sk"].clone())
        .expression_attribute_names("#status", "status")
        .condition_expression("attribute_exists(#status)")
        .set_expression_attribute_values(Some(values))
        .send()
        .await
        .unwrap();
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn texts(all: &[&str]) -> AttributeValue {
    AttributeValue::L(all.iter().map(|one| text(one)).collect())
}

#[tokio::test(start_paused = true)]
async fn each_old_item_is_read_as_what_it_is_and_upgraded_by_that_read_once() {
    let (world, engine) = world(Options::default()).await;
    let store = store(engine.client(), &world);
    for old in old() {
        let op = store.op();
        let issue = op.issue(&number(old.number)).get(false).await.unwrap();
        let cost = op.cost();
        assert_eq!(answered(&issue), old.reads, "{}", old.name);
        assert_eq!(cost.calls, 1 + u64::from(old.needs_upgrade()), "{}", old.name);
        assert_eq!(stored(&engine).await[&old.number], old.upgraded(), "{}", old.name);
        let op = store.op();
        let again = op.issue(&number(old.number)).get(true).await.unwrap();
        let cost = op.cost();
        assert_eq!((again, cost.calls), (issue, 1), "{}", old.name);
    }
    assert!(told(&engine).await.is_empty(), "nothing has happened");
}

#[tokio::test(start_paused = true)]
async fn a_page_upgrades_what_it_shows() {
    for (query, shown) in [
        ("", &[10, 9, 8, 7, 6, 5, 4, 3, 2, 1][..]),
        // Those that stand in the index where they belong, and where they do not.
        ("status=open", &[9, 7, 6, 5, 4, 1]),
        ("status=closed", &[2]),
        ("priority=low", &[7]),
    ] {
        let (world, engine) = world(Options::default()).await;
        let store = store(engine.client(), &world);
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
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_stood_in_the_wrong_place_of_an_index_is_listed_in_the_right_one() {
    let (world, engine) = world(Options::default()).await;
    let store = store(engine.client(), &world);
    store.op().repository(&repository()).list(&asking("")).await.unwrap();
    for (query, shown) in [
        ("status=open", &[9, 7, 6, 5, 4, 1][..]),
        ("status=closed", &[8, 3, 2]),
        ("priority=high", &[9, 8, 6, 1]),
        ("priority=medium", &[5, 2]),
        // What a newer release has put elsewhere, it knows where to find.
        ("priority=low", &[7, 4, 3]),
    ] {
        let op = store.op();
        let page = op.repository(&repository()).list(&asking(query)).await.unwrap();
        let cost = op.cost();
        let numbers: Vec<_> = page.issues.iter().map(|issue| issue.number.get()).collect();
        assert_eq!((&*numbers, cost.calls), (shown, 1), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_writes_back_no_more_than_it_may_and_the_next_goes_on() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let store = store(engine.client(), &world);
    let first = &old()[0];
    for number in 1..=60 {
        let mut item = first.item.clone();
        item.insert("sk".to_owned(), text(&format!("ISSUE#{number:08}")));
        item.insert("gsi1sk".to_owned(), text(&format!("ISSUE#OPEN#{number:08}")));
        put(&engine, item).await;
    }
    let most = u64::try_from(WRITE_BACKS_PER_PAGE).unwrap();
    for written in [most, most, 60 - 2 * most, 0] {
        let op = store.op();
        let page = op.repository(&repository()).list(&asking("limit=60")).await.unwrap();
        let cost = op.cost();
        assert_eq!((page.issues.len(), page.next), (60, None));
        assert_eq!(cost.calls, 1 + written);
    }
}

#[tokio::test(start_paused = true)]
async fn migrating_on_read_costs_a_call_and_a_unit_for_each_place() {
    let (world, engine) = world(Options::default()).await;
    let store = store(engine.client(), &world);
    // The table, the index by status, and the one by priority, where it was not.
    for (of, written) in [(1, "3.0"), (4, "3.0"), (9, "4.0"), (6, "0.0")] {
        let op = store.op();
        op.issue(&number(of)).get(false).await.unwrap();
        let cost = op.cost();
        assert_eq!(
            (cost.read_units.to_string(), cost.write_units.to_string()),
            ("0.5".into(), written.into()),
            "{of}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_is_answered_whatever_becomes_of_its_write_back() {
    for fault in [
        Fault::Throttle(Throttle::TableKeyRange),
        Fault::InternalServerError,
        Fault::TransactionConflict,
        Fault::ConditionFailed,
        Fault::Timeout(Moment::Before),
        Fault::Timeout(Moment::After),
    ] {
        let (world, engine) = world(Options::default()).await;
        let applied = fault == Fault::Timeout(Moment::After);
        let faults =
            Faults::default().rule(Target::operation(Operation::UpdateItem), When::Always, fault.clone());
        let client = engine.client_with(faults);
        let store = store(client.client(), &world);
        let op = store.op();
        let issue = op.issue(&number(1)).get(false).await.unwrap();
        let cost = op.cost();
        assert_eq!(
            (answered(&issue), cost.calls),
            (old()[0].reads.clone(), 2),
            "{fault:?}: it is tried once"
        );
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

/// A world in which reads that need not be consistent see what was there before.
async fn behind() -> (World, Engine, Store) {
    let lag = Lag { seed: 1, table: Duration::from_secs(10), index: Duration::from_secs(10), behind: 1.0 };
    let (world, engine) = world(Options { lag: Some(lag), ..Options::default() }).await;
    pass(Duration::from_secs(11)).await;
    let store = store(engine.client(), &world);
    (world, engine, store)
}

#[tokio::test(start_paused = true)]
async fn what_was_read_too_early_is_never_written_over_what_is_newer() {
    let (_, engine, store) = behind().await;
    for of in [1, 4, 8] {
        let known = old().into_iter().find(|old| old.number == of).unwrap().revision();
        let closed = r#"{"title":"New","labels":["enhancement"],"status":"closed"}"#;
        let changed = change(&store, of, closed, known).await.unwrap();
        assert_eq!(changed.revision, known.next());
        let now = stored(&engine).await;
        let op = store.op();
        let stale = op.issue(&number(of)).get(false).await.unwrap();
        let cost = op.cost();
        assert_eq!(
            (stale.revision, cost.calls),
            (known, 2),
            "it was read as it was before, and written back in vain"
        );
        assert_eq!(stored(&engine).await, now);
        assert_eq!(self::now(&store, of).await, changed);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_read_before_an_older_writer_wrote_is_not_written_either() {
    let (_, engine, store) = behind().await;
    // It knows no revisions, and no priority.
    update(&engine, 1, "SET labels = :labels, #status = #status", &[(":labels", texts(&["enhancement"]))])
        .await;
    let now = stored(&engine).await;
    let stale = store.op().issue(&number(1)).get(false).await.unwrap();
    assert_eq!(answered(&stale)["priority"], "high", "by its labels of before");
    assert_eq!(stored(&engine).await, now, "those would be wrong now");
    let fresh = self::now(&store, 1).await;
    assert_eq!(answered(&fresh)["priority"], "low");
    assert_eq!(stored(&engine).await[&1]["gsi2sk"], text("PRIORITY#LOW#00000001"));
}

#[tokio::test(start_paused = true)]
async fn an_older_writer_and_a_newer_reader_get_along() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let store = store(engine.client(), &world);
    let opened = open(&store, r#"{"title":"t","labels":["critical"]}"#).await;
    // Of schema 2: it closes and relabels, knows the index by status and revisions, and no priority.
    let next = AttributeValue::N(opened.revision.next().to_string());
    let values = [
        (":closed", text("closed")),
        (":sk", text("ISSUE#CLOSED#00000001")),
        (":labels", texts(&["enhancement"])),
        (":next", next),
    ];
    update(&engine, 1, "SET #status = :closed, gsi1sk = :sk, labels = :labels, revision = :next", &values)
        .await;
    let seen = now(&store, 1).await;
    let followed = changing(r#"{"status":"closed","labels":["enhancement"]}"#).apply_to(&opened);
    assert_eq!(seen, Issue { revision: opened.revision.next(), ..followed });
    assert_eq!(stored(&engine).await[&1]["gsi2sk"], text("PRIORITY#LOW#00000001"));
    // Who read before that is told.
    change(&store, 1, r#"{"title":"x"}"#, opened.revision).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn an_older_reader_finds_what_it_knows_in_what_a_newer_writer_wrote() {
    let world = World::new(1);
    let engine = engine(&world, Options::default());
    let store = store(engine.client(), &world);
    let opened = open(&store, r#"{"title":"t","body":"b","labels":["critical"]}"#).await;
    let closed = r#"{"status":"closed","priority":"low","labels":["ui","x"]}"#;
    let changed = change(&store, 1, closed, opened.revision).await.unwrap();
    let item = &stored(&engine).await[&1];
    let known: BTreeMap<_, _> = [
        ("title", text("t")),
        ("body", text("b")),
        ("labels", texts(&["ui", "x"])),
        ("status", text("closed")),
        ("opened_by", text("ada")),
        ("opened_at", AttributeValue::N("1773489600000".to_owned())),
        ("revision", AttributeValue::N(changed.revision.to_string())),
        ("gsi1pk", text("REPO#octo#hello")),
        ("gsi1sk", text("ISSUE#CLOSED#00000001")),
    ]
    .into();
    for (name, value) in known {
        assert_eq!(item[name], value, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_upgrades_too_and_leaves_alone_what_it_does_not_know() {
    let (world, engine) = world(Options::default()).await;
    let store = store(engine.client(), &world);
    for old in old() {
        let known = old.revision();
        let changed = change(&store, old.number, r#"{"title":"Other"}"#, known).await.unwrap();
        let mut wanted = old.upgraded();
        wanted.insert("title".to_owned(), text("Other"));
        wanted.insert("revision".to_owned(), AttributeValue::N(known.next().to_string()));
        wanted.insert("updated_at".to_owned(), AttributeValue::N(changed.updated_at.get().to_string()));
        assert_eq!(stored(&engine).await[&old.number], wanted, "{}", old.name);
    }
    // A change of what is so already is none, and still a read.
    let (world, engine) = self::world(Options::default()).await;
    let store = crate::support::store(engine.client(), &world);
    let same = change(&store, 1, r#"{"title":"Issue 1"}"#, old()[0].revision()).await.unwrap();
    assert_eq!(answered(&same), old()[0].reads);
    assert_eq!(stored(&engine).await[&1], old()[0].upgraded());
    assert!(told(&engine).await.is_empty());
}

/// What becomes of a change of an item of schema 1, if something happens between its read and its write.
async fn changed_while(happens: impl AsyncFnOnce(&Engine, &Store)) -> Item {
    let (world, engine) = world(Options::default()).await;
    let plain = store(engine.client(), &world);
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
async fn a_change_is_not_refused_for_an_upgrade_meanwhile_and_loses_nothing_of_an_older_writer() {
    let upgraded = changed_while(async |_, plain| drop(now(plain, 1).await)).await;
    assert_eq!((&upgraded["title"], &upgraded["gsi2sk"]), (&text("Other"), &text("PRIORITY#HIGH#00000001")));
    let relabelled = changed_while(async |engine, _| {
        let labels = [(":labels", texts(&["enhancement"]))];
        update(engine, 1, "SET labels = :labels, #status = #status", &labels).await;
    });
    let relabelled = relabelled.await;
    assert_eq!(relabelled["labels"], texts(&["enhancement"]));
    assert_eq!((&relabelled["title"], &relabelled["priority"]), (&text("Other"), &text("low")));
    assert_eq!(relabelled["gsi2sk"], text("PRIORITY#LOW#00000001"));
}

fn plan(run: bool, items_per_second: u32) -> MigrationPlan {
    MigrationPlan { run, items_per_second: NonZeroU32::new(items_per_second).unwrap() }
}

/// What the background finds among the old items.
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
async fn the_background_says_what_is_to_be_done_does_it_and_then_finds_nothing() {
    let (world, engine) = world(Options::default()).await;
    let store = store(engine.client(), &world);
    let before = stored(&engine).await;
    assert_eq!(store.op().issues().migrate(&plan(false, 1_000), |_| ()).await.unwrap(), found());
    assert_eq!(stored(&engine).await, before, "a dry run changes nothing");
    let report = store.op().issues().migrate(&plan(true, 1_000), |_| ()).await.unwrap();
    assert_eq!(report, MigrationReport { upgraded: 7, ..found() });
    assert_eq!(stored(&engine).await, all_upgraded());
    let changes = engine.stream(TABLE).unwrap().len();
    let schemas = [(3, 9), (4, 1)].into();
    let nothing = MigrationReport { items: 10, schemas, current: 9, newer: 1, ..MigrationReport::default() };
    assert_eq!(store.op().issues().migrate(&plan(true, 1_000), |_| ()).await.unwrap(), nothing);
    assert_eq!(engine.stream(TABLE).unwrap().len(), changes);
}

#[tokio::test(start_paused = true)]
async fn the_background_is_no_faster_than_it_may_be_and_tells_how_far_it_is() {
    let (world, engine) = world(Options::default()).await;
    let store = store(engine.client(), &world);
    // Other items are looked at too, and are no issues.
    for user in 0..20 {
        let key = lately_keys::table::ProfileKey { user: format!("u{user}").parse().unwrap() };
        let document = lately_model::Document::parse(b"{}").unwrap();
        store.op().record(&key).put(&document, Precondition::None).await.unwrap();
    }
    let begun = tokio::time::Instant::now();
    let mut told = Vec::new();
    let report = store
        .op()
        .issues()
        .migrate(&plan(true, 4), |report| told.push((report.items, begun.elapsed().as_secs())))
        .await
        .unwrap();
    assert_eq!((report.items, report.upgraded), (30, 7));
    // Four items each second, and the rest at once.
    let expected: Vec<_> = (1..=7).map(|page| (4 * page, page - 1)).chain([(30, 7)]).collect();
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn the_background_goes_on_after_it_died_at_any_call() {
    for moment in [Moment::Before, Moment::After] {
        for n in 1..=9 {
            let (world, engine) = world(Options::default()).await;
            let client = engine.client_with(Faults::default().nth(n, Target::any(), Fault::Crash(moment)));
            let victim = store(client.client(), &world);
            let lived = client.run(victim.op().issues().migrate(&plan(true, 1_000), |_| ())).await.is_some();
            assert_eq!(lived, n == 9, "a scan and seven updates");
            let all = all_upgraded();
            for (number, item) in stored(&engine).await {
                let old = old().into_iter().find(|old| old.number == number).unwrap();
                assert!(item == old.item || item == all[&number], "{}", old.name);
            }
            store(engine.client(), &world).op().issues().migrate(&plan(true, 1_000), |_| ()).await.unwrap();
            assert_eq!(stored(&engine).await, all);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_background_leaves_what_others_wrote_and_counts_what_failed() {
    let (world, engine) = world(Options::default()).await;
    let mut broken = old()[0].item.clone();
    broken.insert("sk".to_owned(), text("ISSUE#00000011"));
    broken.insert("title".to_owned(), text(""));
    put(&engine, broken).await;
    let one = MigrationReport { items: 11, failed: 1, ..found() };
    let schemas = [(1, 4), (2, 2), (3, 4), (4, 1)].into();
    let one = MigrationReport { schemas, ..one };
    for (fault, report) in [
        (Fault::ConditionFailed, MigrationReport { overtaken: 7, ..one.clone() }),
        (Fault::InternalServerError, MigrationReport { to_upgrade: 0, failed: 8, ..one }),
    ] {
        let target = Target::operation(Operation::UpdateItem);
        let client = engine.client_with(Faults::default().rule(target, When::Always, fault));
        let unlucky = store(client.client(), &world);
        assert_eq!(unlucky.op().issues().migrate(&plan(true, 1_000), |_| ()).await.unwrap(), report);
    }
    let plain = store(engine.client(), &world);
    assert_eq!(
        plain.op().issues().migrate(&plan(true, 1_000), |_| ()).await.unwrap().upgraded,
        7,
        "nothing was lost by it"
    );
    assert_eq!(items(&engine).await.len(), 11);
}
