//! Applies random writes to the engine and to a simple model, then compares the model with the table and with the items
//! that the stream's records give.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{Delete, DeleteRequest, Put, PutRequest, TransactWriteItem, WriteRequest};
use lately_engine::Engine;
use lately_engine::fault::{Fault, Faults, Moment, Target};
use proptest::prelude::*;

use crate::support::{Item, TABLE, engine, item, key, n};

/// One item's new number, or its removal.
type Write = (u8, Option<u8>);

#[derive(Debug, Clone)]
enum Step {
    Single(Write),
    /// A write on the condition that the item exists.
    Conditional(Write),
    Batch(Vec<Write>),
    Transaction(Vec<Write>),
}

type Model = BTreeMap<u8, u8>;

fn write() -> impl Strategy<Value = Write> {
    (0..6u8, prop::option::weighted(0.7, 0..3u8))
}

/// Writes to different items, which batches and transactions require.
fn writes() -> impl Strategy<Value = Vec<Write>> {
    let number = prop::option::weighted(0.7, 0..3u8);
    prop::collection::btree_map(0..6u8, number, 1..5).prop_map(|m| m.into_iter().collect())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        write().prop_map(Step::Single),
        write().prop_map(Step::Conditional),
        writes().prop_map(Step::Batch),
        writes().prop_map(Step::Transaction),
    ];
    prop::collection::vec(step, 1..30)
}

fn names(id: u8) -> (String, String) {
    (format!("p{}", id % 3), id.to_string())
}

fn key_of(id: u8) -> Item {
    let (pk, sk) = names(id);
    key(&pk, &sk)
}

fn item_of(id: u8, number: u8) -> Item {
    let (pk, sk) = names(id);
    item(&pk, &sk, [("n", n(number))])
}

/// Sends a step, and returns whether it was applied. `None`: the response was lost.
async fn send(client: &aws_sdk_dynamodb::Client, step: &Step) -> Option<bool> {
    macro_rules! outcome {
        ($call:expr) => {
            match $call.send().await {
                Ok(_) => Some(true),
                Err(error) if error.as_service_error().is_some() => Some(false),
                Err(_) => None,
            }
        };
    }
    let table = || TABLE.to_owned();
    match step {
        Step::Single((id, Some(number))) | Step::Conditional((id, Some(number))) => {
            let mut put = client.put_item().table_name(TABLE).set_item(Some(item_of(*id, *number)));
            if matches!(step, Step::Conditional(_)) {
                put = put.condition_expression("attribute_exists(pk)");
            }
            outcome!(put)
        }
        Step::Single((id, None)) | Step::Conditional((id, None)) => {
            let mut delete = client.delete_item().table_name(TABLE).set_key(Some(key_of(*id)));
            if matches!(step, Step::Conditional(_)) {
                delete = delete.condition_expression("attribute_exists(pk)");
            }
            outcome!(delete)
        }
        Step::Batch(writes) => {
            let request = |(id, number): &Write| match number {
                Some(number) => {
                    let put = PutRequest::builder().set_item(Some(item_of(*id, *number)));
                    WriteRequest::builder().put_request(put.build().unwrap()).build()
                }
                None => {
                    let delete = DeleteRequest::builder().set_key(Some(key_of(*id)));
                    WriteRequest::builder().delete_request(delete.build().unwrap()).build()
                }
            };
            let requests = writes.iter().map(request).collect();
            outcome!(client.batch_write_item().request_items(TABLE, requests))
        }
        Step::Transaction(writes) => {
            let action = |(id, number): &Write| match number {
                Some(number) => {
                    let put = Put::builder().table_name(table()).set_item(Some(item_of(*id, *number)));
                    TransactWriteItem::builder().put(put.build().unwrap()).build()
                }
                None => {
                    let delete = Delete::builder().table_name(table()).set_key(Some(key_of(*id)));
                    TransactWriteItem::builder().delete(delete.build().unwrap()).build()
                }
            };
            let actions = writes.iter().map(action).collect();
            outcome!(client.transact_write_items().set_transact_items(Some(actions)))
        }
    }
}

fn apply(model: &mut Model, step: &Step) {
    let mut write = |(id, number): &Write| match number {
        Some(number) => drop(model.insert(*id, *number)),
        None => drop(model.remove(id)),
    };
    match step {
        Step::Single(one) => write(one),
        Step::Conditional(one) => {
            if model.contains_key(&one.0) {
                apply(model, &Step::Single(*one));
            }
        }
        Step::Batch(all) | Step::Transaction(all) => all.iter().for_each(write),
    }
}

/// The items of the table now.
async fn table(engine: &Engine) -> BTreeMap<String, Item> {
    let scan = engine.client().scan().table_name(TABLE).consistent_read(true);
    let items = scan.send().await.unwrap().items.unwrap_or_default();
    items.into_iter().map(|item| (item["sk"].as_s().unwrap().clone(), item)).collect()
}

/// The items after a replay of the stream. Each record's old image must be the image before it.
fn replayed(engine: &Engine) -> BTreeMap<String, Item> {
    let mut items: BTreeMap<String, Item> = BTreeMap::new();
    for record in engine.stream(TABLE).unwrap().all() {
        let sk = record.keys()["sk"].as_s().unwrap().clone();
        let (old, new) = (record.old_image(), record.new_image());
        assert_eq!(items.get(&sk), old.as_ref(), "the old image is the item before the change");
        assert_ne!(old, new, "a record is a change");
        match new {
            Some(item) => items.insert(sk, item),
            None => items.remove(&sk),
        };
    }
    items
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.unwrap().block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn table_and_stream_agree_with_the_model(steps in steps()) {
        block_on(async {
            let engine = engine();
            let mut model = Model::new();
            for step in &steps {
                let applied = send(&engine.client(), step).await;
                let held = match step {
                    Step::Conditional((id, _)) => model.contains_key(id),
                    _ => true,
                };
                assert_eq!(applied, Some(held));
                apply(&mut model, step);
            }
            let expected: BTreeMap<_, _> =
                model.iter().map(|(id, number)| (id.to_string(), item_of(*id, *number))).collect();
            assert_eq!(table(&engine).await, expected);
            assert_eq!(replayed(&engine), expected);
        });
    }

    #[test]
    fn each_fault_decides_whether_its_call_is_applied(steps in steps(), seed: u64) {
        block_on(async {
            let engine = engine();
            let faults = Faults::seeded(seed)
                .sometimes(0.2, Target::any(), Fault::InternalServerError)
                .sometimes(0.2, Target::any(), Fault::Timeout(Moment::Before))
                .sometimes(0.2, Target::any(), Fault::Timeout(Moment::After))
                .sometimes(0.1, Target::any(), Fault::TransactionConflict);
            let faulty = engine.client_with(faults);
            let mut model = Model::new();
            for step in &steps {
                let outcome = send(&faulty.client(), step).await;
                let call = faulty.calls().len() as u64;
                let fault = faulty.injected().pop().filter(|injected| injected.call == call);
                match fault.as_ref().map(|injected| &injected.fault) {
                    None => assert!(outcome.is_some()),
                    Some(Fault::Timeout(_)) => assert_eq!(outcome, None),
                    Some(_) => assert_eq!(outcome, Some(false)),
                }
                if fault.is_none_or(|injected| injected.fault == Fault::Timeout(Moment::After)) {
                    apply(&mut model, step);
                }
            }
            let expected: BTreeMap<_, _> =
                model.iter().map(|(id, number)| (id.to_string(), item_of(*id, *number))).collect();
            assert_eq!(table(&engine).await, expected);
            assert_eq!(replayed(&engine), expected);
        });
    }
}
