//! Injected faults have DynamoDB's errors and effects.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{
    Get, KeysAndAttributes, Put, PutRequest, TransactGetItem, TransactWriteItem, WriteRequest,
};
use lately_engine::fault::{Fault, Faults, Injected, Moment, Target, Throttle, When};
use lately_engine::{Engine, Operation};

use crate::support::{Item, START, TABLE, engine, item, key, n, s};

fn put(client: &Client, pk: &str) -> aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder {
    client.put_item().table_name(TABLE).set_item(Some(item(pk, "1", [])))
}

async fn is_there(engine: &Engine, pk: &str) -> bool {
    let get = engine.client().get_item().table_name(TABLE).set_key(Some(key(pk, "1")));
    get.send().await.unwrap().item.is_some()
}

#[tokio::test]
async fn a_throttle_names_its_reason_and_spares_other_partitions() {
    let engine = engine();
    let faults = Faults::default().rule(
        Target::writes().partition("EVENTS#hot"),
        When::Always,
        Fault::Throttle(Throttle::TableKeyRange),
    );
    let faulty = engine.client_with(faults);
    put(&faulty.client(), "EVENTS#cool").send().await.unwrap();
    let error = put(&faulty.client(), "EVENTS#hot#1").send().await.unwrap_err();
    let error = error.into_service_error();
    let aws_sdk_dynamodb::operation::put_item::PutItemError::ThrottlingException(error) = error else {
        panic!("{error:?}");
    };
    let reason = &error.throttling_reasons()[0];
    assert_eq!(reason.reason(), Some("TableWriteKeyRangeThroughputExceeded"));
    assert_eq!(reason.resource(), Some("arn:aws:dynamodb:dynoxide:000000000000:table/lately"));
    assert!(!is_there(&engine, "EVENTS#hot#1").await);
}

#[tokio::test]
async fn every_limit_has_its_own_error_and_reason() {
    let engine = engine();
    let cases = [
        (
            Throttle::IndexKeyRange("gsi1".into()),
            "ThrottlingException",
            "IndexWriteKeyRangeThroughputExceeded",
            "/index/gsi1",
        ),
        (
            Throttle::OnDemandMaximum,
            "ThrottlingException",
            "TableWriteMaxOnDemandThroughputExceeded",
            "table/lately",
        ),
        (Throttle::Account, "RequestLimitExceeded", "TableWriteAccountLimitExceeded", "table/lately"),
        (
            Throttle::Provisioned,
            "ProvisionedThroughputExceededException",
            "TableWriteProvisionedThroughputExceeded",
            "table/lately",
        ),
    ];
    for (throttle, code, reason, resource) in cases {
        let faults = Faults::default().rule(Target::any(), When::Always, Fault::Throttle(throttle));
        let error = put(&engine.client_with(faults).client(), "a").send().await.unwrap_err();
        use aws_sdk_dynamodb::operation::put_item::PutItemError;
        let error = error.into_service_error();
        assert_eq!(error.meta().code(), Some(code));
        let reasons = match &error {
            PutItemError::ThrottlingException(e) => e.throttling_reasons(),
            PutItemError::RequestLimitExceeded(e) => e.throttling_reasons(),
            PutItemError::ProvisionedThroughputExceededException(e) => e.throttling_reasons(),
            other => panic!("{other:?}"),
        };
        assert_eq!(reasons[0].reason(), Some(reason));
        assert!(reasons[0].resource().unwrap().ends_with(resource), "{reasons:?}");
    }
}

#[tokio::test]
async fn a_service_failure_writes_nothing() {
    let engine = engine();
    for (fault, status) in [(Fault::InternalServerError, 500), (Fault::ServiceUnavailable, 503)] {
        let faulty = engine.client_with(Faults::default().nth(1, Target::any(), fault));
        let error = put(&faulty.client(), "a").send().await.unwrap_err();
        assert_eq!(error.raw_response().unwrap().status().as_u16(), status);
        assert!(!is_there(&engine, "a").await);
    }
}

#[tokio::test]
async fn a_timeout_hides_whether_the_write_was_applied() {
    let engine = engine();
    for (moment, applied) in [(Moment::Before, false), (Moment::After, true)] {
        let pk = format!("{moment:?}");
        let faulty = engine.client_with(Faults::default().nth(1, Target::any(), Fault::Timeout(moment)));
        let error = put(&faulty.client(), &pk).send().await.unwrap_err();
        let SdkError::DispatchFailure(failure) = error else {
            panic!("{error:?}");
        };
        assert!(failure.is_timeout());
        assert_eq!(is_there(&engine, &pk).await, applied);
        let injected = Injected {
            call: 1,
            operation: Operation::PutItem,
            fault: Fault::Timeout(moment),
            at: START,
            partition: Some(pk),
        };
        assert_eq!(faulty.injected(), [injected]);
    }
}

fn batch(
    client: &Client,
    pk: &str,
) -> aws_sdk_dynamodb::operation::batch_write_item::builders::BatchWriteItemFluentBuilder {
    let request = |i: usize| {
        let put = PutRequest::builder().set_item(Some(item(pk, &i.to_string(), [("n", n(i))])));
        WriteRequest::builder().put_request(put.build().unwrap()).build()
    };
    client.batch_write_item().request_items(TABLE, (0..25).map(request).collect())
}

#[tokio::test]
async fn unprocessed_items_are_not_written_and_can_be_sent_again() {
    let engine = engine();
    let faults = Faults::seeded(1).nth(1, Target::any(), Fault::Unprocessed(0.5));
    let faulty = engine.client_with(faults);
    let answer = batch(&faulty.client(), "a").send().await.unwrap();
    let unprocessed = answer.unprocessed_items.unwrap();
    let count = unprocessed[TABLE].len();
    assert!((5..20).contains(&count), "{count}");
    assert_eq!(engine.stream(TABLE).unwrap().len(), 25 - count);
    let again = faulty.client().batch_write_item().set_request_items(Some(unprocessed));
    assert!(again.send().await.unwrap().unprocessed_items.unwrap().is_empty());
    assert_eq!(engine.stream(TABLE).unwrap().len(), 25);

    let keys = (0..25).map(|i| key("a", &i.to_string())).collect();
    let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build().unwrap();
    let reader = engine.client_with(Faults::seeded(2).nth(1, Target::any(), Fault::Unprocessed(0.5)));
    let answer = reader.client().batch_get_item().request_items(TABLE, keys).send().await.unwrap();
    let unprocessed = &answer.unprocessed_keys.unwrap()[TABLE];
    assert_eq!(unprocessed.keys().len() + answer.responses.unwrap()[TABLE].len(), 25);
    assert_eq!(unprocessed.consistent_read(), Some(true));
}

#[tokio::test]
async fn a_batch_without_any_processed_item_is_throttled() {
    let engine = engine();
    let faulty = engine.client_with(Faults::default().nth(1, Target::any(), Fault::Unprocessed(1.0)));
    let error = batch(&faulty.client(), "a").send().await.unwrap_err().into_service_error();
    assert!(error.is_throttling_exception(), "{error:?}");
    assert!(engine.stream(TABLE).unwrap().is_empty());
}

#[tokio::test]
async fn a_conflict_fails_a_write_and_cancels_a_transaction() {
    let engine = engine();
    let conflict = || {
        let target = Target::writes().partition("b");
        engine.client_with(Faults::default().rule(target, When::Always, Fault::TransactionConflict))
    };
    let error = put(&conflict().client(), "b").send().await.unwrap_err().into_service_error();
    assert!(error.is_transaction_conflict_exception(), "{error:?}");

    let action = |pk: &str| {
        let put = Put::builder().table_name(TABLE).set_item(Some(item(pk, "1", [])));
        TransactWriteItem::builder().put(put.build().unwrap()).build()
    };
    let transaction = conflict().client().transact_write_items();
    let transaction = transaction.transact_items(action("a")).transact_items(action("b"));
    let error = transaction.send().await.unwrap_err().into_service_error();
    let error = match error {
        aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError::TransactionCanceledException(e) => e,
        other => panic!("{other:?}"),
    };
    let codes: Vec<_> = error.cancellation_reasons().iter().map(|r| r.code().unwrap()).collect();
    assert_eq!(codes, ["None", "TransactionConflict"]);
    assert!(!is_there(&engine, "a").await);
}

#[tokio::test]
async fn a_crash_ends_the_work_and_all_later_calls() {
    for (moment, written) in [(Moment::Before, 1), (Moment::After, 2)] {
        let engine = engine();
        let faulty = engine.client_with(Faults::default().nth(2, Target::any(), Fault::Crash(moment)));
        let client = faulty.client();
        let work = async {
            for pk in ["a", "b", "c"] {
                put(&client, pk).send().await.unwrap();
            }
        };
        assert_eq!(faulty.run(work).await, None);
        assert_eq!(engine.stream(TABLE).unwrap().len(), written);
        // The process is dead, so its later calls never return.
        let later = put(&client, "d").send();
        let waited = tokio::time::timeout(std::time::Duration::from_millis(20), later).await;
        assert!(waited.is_err());
        assert!(!is_there(&engine, "d").await);
    }
}

#[tokio::test]
async fn work_that_ends_before_a_crash_returns_its_result() {
    let engine = engine();
    let faulty = engine.client_with(Faults::default().nth(9, Target::any(), Fault::Crash(Moment::Before)));
    let client = faulty.client();
    let result = faulty.run(async { put(&client, "a").send().await.is_ok() }).await;
    assert_eq!(result, Some(true));
    assert_eq!(faulty.calls(), [Operation::PutItem]);
}

/// The order of the writes of two tasks that each write ten items.
async fn order(seed: u64) -> Vec<String> {
    let engine = engine();
    let faulty = engine.client_with(Faults::seeded(seed).interleaved(3));
    let task = |name: &'static str| {
        let client = faulty.client();
        tokio::spawn(async move {
            for i in 0..10 {
                put(&client, &format!("{name}{i}")).send().await.unwrap();
            }
        })
    };
    let (a, b) = (task("a"), task("b"));
    a.await.unwrap();
    b.await.unwrap();
    let records = engine.stream(TABLE).unwrap().all();
    records.iter().map(|r| r.keys()["pk"].as_s().unwrap().clone()).collect()
}

#[tokio::test]
async fn a_seed_decides_how_tasks_interleave() {
    let orders = [order(1).await, order(2).await, order(3).await];
    assert_ne!(orders[0], orders[1]);
    assert_ne!(orders[1], orders[2]);
    assert_eq!(order(1).await, orders[0]);
}

#[tokio::test]
async fn the_same_seed_and_calls_have_the_same_faults() {
    let run = async |seed| {
        let engine = engine();
        let faults = Faults::seeded(seed)
            .sometimes(0.2, Target::any(), Fault::InternalServerError)
            .sometimes(0.2, Target::writes(), Fault::Timeout(Moment::After));
        let faulty = engine.client_with(faults);
        for i in 0..50 {
            drop(put(&faulty.client(), &i.to_string()).send().await);
        }
        faulty.injected()
    };
    assert_eq!(run(5).await, run(5).await);
    assert_ne!(run(5).await, run(6).await);
}

#[tokio::test]
async fn a_live_client_has_faults_until_they_end_or_are_replaced() {
    let engine = engine();
    let live = engine.live_client();
    let client = live.client();
    put(&client, "HOT#1").send().await.unwrap();
    let until = engine.clock().now() + Duration::from_secs(5);
    let hot = || Target::writes().partition("HOT#");
    let throttle = Fault::Throttle(Throttle::TableKeyRange);
    let batches = Faults::default().rule_until(until, hot(), When::Always, Fault::Unprocessed(1.0));
    live.set_faults(&batches.rule_until(until, hot(), When::Always, throttle));
    put(&client, "HOT#2").send().await.unwrap_err();
    put(&client, "COOL").send().await.unwrap();
    assert!(is_there(&engine, "HOT#1").await, "reads have no fault");
    put(&engine.client(), "HOT#3").send().await.unwrap();
    // Only the batch's items in that partition are unprocessed.
    let of = |pk: &str| {
        let put = PutRequest::builder().set_item(Some(item(pk, "1", []))).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let batch = client.batch_write_item().request_items(TABLE, vec![of("HOT#4"), of("COOL#4")]);
    let unprocessed = batch.send().await.unwrap().unprocessed_items.unwrap();
    assert_eq!(unprocessed[TABLE], [of("HOT#4")]);
    assert!(is_there(&engine, "COOL#4").await && !is_there(&engine, "HOT#4").await);

    engine.clock().advance(Duration::from_secs(5));
    put(&client, "HOT#2").send().await.unwrap();
    live.set_faults(&Faults::default().rule(hot(), When::Always, Fault::ServiceUnavailable));
    for n in 0..60 {
        put(&client, &format!("HOT#{n}")).send().await.unwrap_err();
    }
    live.set_faults(&Faults::default());
    put(&client, "HOT#5").send().await.unwrap();
    // The client records the latest 50 faults.
    let injected = live.injected();
    let partitions: Vec<_> = injected.iter().map(|it| it.partition.clone().unwrap()).collect();
    assert_eq!(partitions, (10..60).map(|n| format!("HOT#{n}")).collect::<Vec<_>>());
}

/// A transaction that writes the items, each with a number.
fn transaction(
    client: &Client,
    items: &[&str],
    number: u64,
) -> aws_sdk_dynamodb::operation::transact_write_items::builders::TransactWriteItemsFluentBuilder {
    let put = |pk: &&str| {
        let put = Put::builder().table_name(TABLE).set_item(Some(item(pk, "1", [("n", n(number))])));
        TransactWriteItem::builder().put(put.build().unwrap()).build()
    };
    client.transact_write_items().set_transact_items(Some(items.iter().map(put).collect()))
}

/// A client whose transactions show the changes in one partition up to a second later.
fn half_visible(engine: &Engine, partition: &str) -> Client {
    let fault = Fault::HalfVisible { share: 1.0, longest: Duration::from_secs(1) };
    let faults = Faults::default().rule(Target::any().partition(partition), When::Always, fault);
    engine.client_with(faults).client()
}

fn number(item: Option<&Item>) -> Option<&str> {
    Some(item?["n"].as_n().unwrap())
}

/// The items' numbers in consistent reads outside of transactions. Get, query and batch read return the same.
async fn plainly(engine: &Engine, items: &[&str]) -> Vec<Option<String>> {
    let mut found = Vec::new();
    for pk in items {
        let client = engine.client();
        let get = client.get_item().table_name(TABLE).set_key(Some(key(pk, "1"))).consistent_read(true);
        let got = get.send().await.unwrap().item;
        let query = client.query().table_name(TABLE).key_condition_expression("pk = :pk");
        let query = query.expression_attribute_values(":pk", s(*pk)).consistent_read(true);
        assert_eq!(query.send().await.unwrap().items().first(), got.as_ref());
        let keys = KeysAndAttributes::builder().keys(key(pk, "1")).consistent_read(true).build().unwrap();
        let batch = client.batch_get_item().request_items(TABLE, keys).send().await.unwrap();
        assert_eq!(batch.responses.unwrap()[TABLE].first(), got.as_ref());
        found.push(number(got.as_ref()).map(str::to_owned));
    }
    found
}

/// The items' numbers in one transactional read.
async fn together(engine: &Engine, items: &[&str]) -> Vec<Option<String>> {
    let get = |pk: &&str| {
        let get = Get::builder().table_name(TABLE).set_key(Some(key(pk, "1")));
        TransactGetItem::builder().get(get.build().unwrap()).build()
    };
    let read = engine.client().transact_get_items();
    let read = read.set_transact_items(Some(items.iter().map(get).collect()));
    let answer = read.send().await.unwrap();
    answer.responses().iter().map(|one| number(one.item()).map(str::to_owned)).collect()
}

fn stream_keys(engine: &Engine) -> Vec<String> {
    let records = engine.stream(TABLE).unwrap().all();
    records.iter().map(|record| record.keys()["pk"].as_s().unwrap().clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_half_visible_transaction_shows_its_items_one_by_one() {
    let engine = engine();
    transaction(&engine.client(), &["a", "b", "c"], 1).send().await.unwrap();
    let writing = tokio::spawn(transaction(&half_visible(&engine, "b"), &["a", "b", "c"], 2).send());
    tokio::task::yield_now().await;
    let numbers = |of: [&str; 3]| of.map(|number| Some(number.to_owned())).to_vec();
    assert_eq!(plainly(&engine, &["a", "b", "c"]).await, numbers(["2", "1", "2"]));
    assert_eq!(stream_keys(&engine), ["a", "b", "c", "a", "c"]);
    assert!(!writing.is_finished(), "the response waits until all changes are shown");

    writing.await.unwrap().unwrap();
    assert_eq!(plainly(&engine, &["a", "b", "c"]).await, numbers(["2", "2", "2"]));
    assert_eq!(stream_keys(&engine), ["a", "b", "c", "a", "c", "b"]);
    let record = engine.stream(TABLE).unwrap().all().pop().unwrap();
    assert_eq!(number(record.old_image().as_ref()), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn writes_and_transactions_see_all_of_a_half_visible_transaction() {
    for pk in ["read", "conditional", "transaction", "again"] {
        let engine = engine();
        let client = half_visible(&engine, pk);
        let first = transaction(&client, &["a", pk], 1).client_request_token("token");
        drop(tokio::spawn(first.clone().send()));
        tokio::task::yield_now().await;
        assert_eq!(plainly(&engine, &["a", pk]).await, [Some("1".to_owned()), None]);
        match pk {
            "read" => {
                assert_eq!(together(&engine, &["a", pk]).await, [Some("1".to_owned()), Some("1".to_owned())])
            }
            "conditional" => {
                let put = put(&engine.client(), pk).condition_expression("attribute_not_exists(pk)");
                let error = put.send().await.unwrap_err().into_service_error();
                assert!(error.is_conditional_check_failed_exception(), "{error:?}");
            }
            "transaction" => drop(transaction(&engine.client(), &[pk, "z"], 1).send().await.unwrap()),
            _ => drop(first.send().await.unwrap()),
        }
        assert_eq!(plainly(&engine, &[pk]).await, [Some("1".to_owned())]);
        assert_eq!(stream_keys(&engine)[..2], ["a", pk]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_half_visible_transaction_is_shown_after_its_process_dies() {
    let engine = engine();
    let writing = tokio::spawn(transaction(&half_visible(&engine, "b"), &["a", "b"], 1).send());
    tokio::task::yield_now().await;
    writing.abort();
    assert_eq!(plainly(&engine, &["a", "b"]).await, [Some("1".to_owned()), None]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(plainly(&engine, &["b"]).await, [Some("1".to_owned())]);
    assert_eq!(stream_keys(&engine), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_seed_decides_the_order_in_which_changes_are_shown() {
    let items = ["a", "b", "c", "d", "e", "f"];
    let run = async |seed| {
        let engine = engine();
        let fault = Fault::HalfVisible { share: 0.5, longest: Duration::from_secs(1) };
        let faulty = engine.client_with(Faults::seeded(seed).rule(Target::any(), When::Always, fault));
        transaction(&faulty.client(), &items, 1).send().await.unwrap();
        let keys = stream_keys(&engine);
        assert_eq!(keys.len(), items.len());
        keys
    };
    assert_eq!(run(5).await, run(5).await);
    assert_ne!(run(5).await, run(6).await);
}
