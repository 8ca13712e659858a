//! The capacity units of the calls, by DynamoDB's billing rules. The prices in the project's other tests rest on them.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    ConsumedCapacity, KeysAndAttributes, Put, PutRequest, ReturnConsumedCapacity, TransactWriteItem,
    WriteRequest,
};

use crate::support::{Item, TABLE, engine, item, key, s};

const INDEXES: ReturnConsumedCapacity = ReturnConsumedCapacity::Indexes;

/// An item of exactly `bytes` bytes, by DynamoDB's count.
fn sized(pk: &str, sk: &str, bytes: usize) -> Item {
    let rest = bytes - (2 + pk.len()) - (2 + sk.len()) - "data".len();
    item(pk, sk, [("data", s("x".repeat(rest)))])
}

fn indexed(mut item: Item) -> Item {
    item.insert("gsi1pk".to_owned(), s("g"));
    item.insert("gsi1sk".to_owned(), s("1"));
    item
}

async fn put(client: &Client, item: Item) -> ConsumedCapacity {
    let put = client.put_item().table_name(TABLE).set_item(Some(item));
    let answer = put.return_consumed_capacity(INDEXES).send().await.unwrap();
    answer.consumed_capacity.unwrap()
}

fn units(consumed: &ConsumedCapacity) -> (f64, f64) {
    let table = consumed.table.as_ref().unwrap().capacity_units.unwrap();
    let indexes = consumed.global_secondary_indexes.iter().flatten();
    let indexes = indexes.map(|(_, index)| index.capacity_units.unwrap());
    (table, indexes.sum())
}

#[tokio::test]
async fn a_put_costs_its_kilobytes_in_the_table_and_each_index() {
    let client = engine().client();
    assert_eq!(units(&put(&client, sized("a", "1", 512)).await), (1.0, 0.0));
    assert_eq!(units(&put(&client, sized("a", "2", 1_024)).await), (1.0, 0.0));
    assert_eq!(units(&put(&client, sized("a", "3", 1_025)).await), (2.0, 0.0));
    assert_eq!(units(&put(&client, indexed(sized("a", "4", 512))).await), (1.0, 1.0));
    // A put that replaces a larger item costs as much as the larger one. An unchanged index costs nothing.
    assert_eq!(units(&put(&client, sized("a", "3", 100)).await), (2.0, 0.0));
    assert_eq!(units(&put(&client, indexed(sized("a", "4", 512))).await), (1.0, 0.0));
}

#[tokio::test]
async fn a_query_costs_its_total_size_in_steps_of_4_kb() {
    let client = engine().client();
    for i in 0..100 {
        put(&client, sized("a", &format!("{i:03}"), 512)).await;
    }
    for (limit, consistent, expected) in
        [(50, false, 3.5), (50, true, 7.0), (8, false, 0.5), (9, false, 1.0), (100, false, 6.5)]
    {
        let query = client
            .query()
            .table_name(TABLE)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", s("a"))
            .limit(limit)
            .consistent_read(consistent)
            .return_consumed_capacity(INDEXES);
        let answer = query.send().await.unwrap();
        let (table, _) = units(&answer.consumed_capacity.unwrap());
        assert_eq!(table, expected, "{limit} items, consistent {consistent}");
    }
    let nothing = client.query().table_name(TABLE).key_condition_expression("pk = :pk");
    let nothing = nothing.expression_attribute_values(":pk", s("none")).return_consumed_capacity(INDEXES);
    let answer = nothing.send().await.unwrap();
    assert_eq!(units(&answer.consumed_capacity.unwrap()).0, 0.5);
}

#[tokio::test]
async fn gets_and_batches_cost_units_per_item() {
    let client = engine().client();
    for i in 0..10 {
        put(&client, sized("a", &i.to_string(), 512)).await;
    }
    let get = client.get_item().table_name(TABLE).set_key(Some(key("a", "1")));
    let answer = get.return_consumed_capacity(INDEXES).send().await.unwrap();
    assert_eq!(units(&answer.consumed_capacity.unwrap()).0, 0.5);

    let keys = (0..10).map(|i| key("a", &i.to_string())).collect();
    let keys = KeysAndAttributes::builder().set_keys(Some(keys)).build().unwrap();
    let batch = client.batch_get_item().request_items(TABLE, keys);
    let answer = batch.return_consumed_capacity(INDEXES).send().await.unwrap();
    assert_eq!(units(&answer.consumed_capacity()[0]).0, 5.0);

    let request = |i: usize| {
        let put = PutRequest::builder().set_item(Some(sized("b", &i.to_string(), 512)));
        WriteRequest::builder().put_request(put.build().unwrap()).build()
    };
    let batch = client.batch_write_item().request_items(TABLE, (0..25).map(request).collect());
    let answer = batch.return_consumed_capacity(INDEXES).send().await.unwrap();
    assert_eq!(units(&answer.consumed_capacity()[0]).0, 25.0);
}

#[tokio::test]
async fn a_transaction_costs_twice_as_much_as_its_writes() {
    let client = engine().client();
    let action = |i: usize| {
        let put = Put::builder().table_name(TABLE).set_item(Some(sized("t", &i.to_string(), 512)));
        TransactWriteItem::builder().put(put.build().unwrap()).build()
    };
    let transaction = client.transact_write_items().set_transact_items(Some((0..3).map(action).collect()));
    let answer = transaction.return_consumed_capacity(INDEXES).send().await.unwrap();
    assert_eq!(units(&answer.consumed_capacity()[0]).0, 6.0);
}

#[tokio::test]
async fn an_update_without_change_costs_only_the_table_a_write() {
    let client = engine().client();
    put(&client, indexed(sized("a", "1", 512))).await;
    let update = client.update_item().table_name(TABLE).set_key(Some(key("a", "1")));
    let update = update.update_expression("SET gsi1sk = :same").expression_attribute_values(":same", s("1"));
    let answer = update.return_consumed_capacity(INDEXES).send().await.unwrap();
    assert_eq!(units(&answer.consumed_capacity.unwrap()), (1.0, 0.0));
}
