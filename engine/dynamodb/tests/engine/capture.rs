//! The records that writes leave in the stream.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeValue, Delete, Put, PutRequest, TransactWriteItem, Update, WriteRequest,
};
use lately_engine::Engine;
use lately_engine::stream::{EventName, Record, SequenceNumber};

use crate::support::{Item, TABLE, engine, item, key, n, s};

async fn put(client: &Client, item: Item) {
    let put = client.put_item().table_name(TABLE).set_item(Some(item));
    put.send().await.unwrap();
}

fn summary(engine: &Engine) -> Vec<(EventName, Option<Item>, Option<Item>)> {
    let records = engine.stream(TABLE).unwrap().all();
    let of = |r: &Record| (r.event, r.old_image(), r.new_image());
    records.iter().map(|r| of(r)).collect()
}

#[tokio::test]
async fn puts_updates_and_deletes_leave_records_with_both_images() {
    let engine = engine();
    let client = engine.client();
    put(&client, item("a", "1", [("n", n(1))])).await;
    put(&client, item("a", "1", [("n", n(2))])).await;
    client
        .update_item()
        .table_name(TABLE)
        .set_key(Some(key("a", "1")))
        .update_expression("SET n = n + :one")
        .expression_attribute_values(":one", n(1))
        .send()
        .await
        .unwrap();
    client.delete_item().table_name(TABLE).set_key(Some(key("a", "1"))).send().await.unwrap();

    let was = |number: i32| Some(item("a", "1", [("n", n(number))]));
    let expected = [
        (EventName::Insert, None, was(1)),
        (EventName::Modify, was(1), was(2)),
        (EventName::Modify, was(2), was(3)),
        (EventName::Remove, was(3), None),
    ];
    assert_eq!(summary(&engine), expected);
    let records = engine.stream(TABLE).unwrap().all();
    assert!(records.iter().all(|r| r.keys() == key("a", "1") && !r.expired));
    assert!(records.is_sorted_by(|a, b| a.sequence < b.sequence));
}

#[tokio::test]
async fn a_write_that_changes_nothing_leaves_no_record() {
    let engine = engine();
    let client = engine.client();
    let tags = |tags: [&str; 2]| AttributeValue::Ss(tags.map(str::to_owned).to_vec());
    let same = item("a", "1", [("n", n(1)), ("tags", tags(["x", "y"]))]);
    put(&client, same.clone()).await;
    let written_otherwise = item("a", "1", [("n", n("1.0")), ("tags", tags(["y", "x"]))]);
    put(&client, written_otherwise).await;
    let update = client.update_item().table_name(TABLE).set_key(Some(key("a", "1")));
    let update = update.update_expression("SET n = :n").expression_attribute_values(":n", n(1));
    update.send().await.unwrap();
    let delete = client.delete_item().table_name(TABLE).set_key(Some(key("a", "2")));
    delete.send().await.unwrap();
    let refused = client
        .put_item()
        .table_name(TABLE)
        .set_item(Some(item("a", "1", [("n", n(9))])))
        .condition_expression("attribute_not_exists(pk)")
        .send()
        .await;
    assert!(refused.unwrap_err().into_service_error().is_conditional_check_failed_exception());

    assert_eq!(summary(&engine), [(EventName::Insert, None, Some(same))]);
}

#[tokio::test]
async fn batches_and_transactions_leave_a_record_per_changed_item() {
    let engine = engine();
    let client = engine.client();
    let request = |i: usize| {
        let put = PutRequest::builder().set_item(Some(item("b", &i.to_string(), [])));
        WriteRequest::builder().put_request(put.build().unwrap()).build()
    };
    let batch = client.batch_write_item().request_items(TABLE, (0..25).map(request).collect());
    batch.send().await.unwrap();
    assert_eq!(summary(&engine).len(), 25);

    let put = Put::builder().table_name(TABLE).set_item(Some(item("t", "1", [])));
    let update = Update::builder().table_name(TABLE).set_key(Some(key("b", "3")));
    let update = update.update_expression("SET n = :n").expression_attribute_values(":n", n(1));
    let delete = Delete::builder().table_name(TABLE).set_key(Some(key("b", "4")));
    let transaction = client
        .transact_write_items()
        .client_request_token("once")
        .transact_items(TransactWriteItem::builder().put(put.build().unwrap()).build())
        .transact_items(TransactWriteItem::builder().update(update.build().unwrap()).build())
        .transact_items(TransactWriteItem::builder().delete(delete.build().unwrap()).build());
    transaction.clone().send().await.unwrap();
    let expected = [
        (EventName::Insert, None, Some(item("t", "1", []))),
        (EventName::Modify, Some(item("b", "3", [])), Some(item("b", "3", [("n", n(1))]))),
        (EventName::Remove, Some(item("b", "4", [])), None),
    ];
    assert_eq!(summary(&engine)[25..], expected);

    // The same transaction with the same token does nothing, so it leaves no record.
    transaction.send().await.unwrap();
    assert_eq!(summary(&engine).len(), 28);

    let condition = Put::builder().table_name(TABLE).set_item(Some(item("b", "1", [("n", n(1))])));
    let condition = condition.condition_expression("attribute_not_exists(pk)");
    let other = Put::builder().table_name(TABLE).set_item(Some(item("new", "1", [])));
    let cancelled = client
        .transact_write_items()
        .transact_items(TransactWriteItem::builder().put(other.build().unwrap()).build())
        .transact_items(TransactWriteItem::builder().put(condition.build().unwrap()).build())
        .send()
        .await;
    let error = cancelled.unwrap_err().into_service_error();
    assert!(error.is_transaction_canceled_exception(), "{error:?}");
    assert_eq!(summary(&engine).len(), 28);
}

#[tokio::test]
async fn partitions_spread_over_shards_and_none_is_in_two() {
    let engine = engine();
    let client = engine.client();
    for i in 0..64 {
        put(&client, item(&format!("p{}", i % 16), &i.to_string(), [])).await;
    }
    let stream = engine.stream(TABLE).unwrap();
    let mut partitions_of = Vec::new();
    for shard in 0..stream.shards() {
        let batch = stream.read(shard, SequenceNumber::START, 100, u64::MAX);
        let of = |r: &Record| r.keys()["pk"].as_s().unwrap().clone();
        let partitions: BTreeSet<_> = batch.records.iter().map(|r| of(r)).collect();
        assert_eq!(batch.next, stream.latest(shard));
        partitions_of.push(partitions);
    }
    assert!(partitions_of.iter().all(|p| !p.is_empty()), "{partitions_of:?}");
    let all: usize = partitions_of.iter().map(BTreeSet::len).sum();
    assert_eq!(all, 16, "a partition in two shards: {partitions_of:?}");
}

#[tokio::test]
async fn a_waiting_reader_is_woken_by_a_record() {
    let engine = engine();
    let mut changes = engine.stream(TABLE).unwrap().changes();
    let client = engine.client();
    let writer = tokio::spawn(async move { put(&client, item("a", "1", [])).await });
    let woken = tokio::time::timeout(Duration::from_secs(5), changes.changed()).await;
    woken.expect("a record wakes a waiting reader").unwrap();
    assert_eq!(changes.borrow().0, 1);
    writer.await.unwrap();
}

#[tokio::test]
async fn a_record_has_the_json_of_a_lambda_event() {
    let engine = engine();
    put(&engine.client(), item("a", "1", [("text", s("é"))])).await;
    let stream = engine.stream(TABLE).unwrap();
    let event = stream.lambda_event(&stream.all());
    let event: serde_json::Value = serde_json::from_str(&event).unwrap();
    let expected = serde_json::json!({"Records": [{
        "eventID": "00000000000000000000000000000001",
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "dynoxide",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_767_225_600,
            "Keys": {"pk": {"S": "a"}, "sk": {"S": "1"}},
            "NewImage": {"pk": {"S": "a"}, "sk": {"S": "1"}, "text": {"S": "é"}},
            "SequenceNumber": "100000000000000000001",
            "SizeBytes": 18,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": stream.arn(),
    }]});
    assert_eq!(event, expected);
}

#[tokio::test]
async fn a_table_describes_its_stream() {
    let engine = engine();
    let client = engine.client();
    let table = client.describe_table().table_name(TABLE).send().await.unwrap();
    let table = table.table.unwrap();
    assert!(table.stream_specification.unwrap().stream_enabled);
    let arn = engine.stream(TABLE).unwrap().arn().to_owned();
    assert_eq!(table.latest_stream_arn, Some(arn.clone()));
    let tags = client.list_tags_of_resource().resource_arn(table.table_arn.unwrap());
    assert_eq!(tags.send().await.unwrap().tags.unwrap_or_default(), []);
}
