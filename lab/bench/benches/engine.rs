//! Times calls to the embedded engine with streams of different lengths. A call must take the same time with a long
//! stream as with a short one.
//!
//! The allocator is part of the figures. When a million records lie among the requests' short-lived memory, glibc's
//! allocator spends a third of a put on its free lists, and mimalloc does not.

use std::sync::OnceLock;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use divan::Bencher;
use divan::counter::ItemsCount;
use lately_engine::{Engine, Options};
use lately_rig::definition;
use mimalloc::MiMalloc;
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const TABLE: &str = "lately";

fn main() {
    divan::main();
}

/// An engine with the table, its client, and a runtime to call it from.
struct Bench {
    runtime: Runtime,
    engine: Engine,
    client: Client,
}

impl Bench {
    fn new() -> Self {
        let engine = Engine::memory(&Options::default()).expect("an engine in memory opens");
        engine.create_table(definition(), TABLE).expect("the definition is valid");
        Self {
            runtime: Builder::new_current_thread().build().expect("a runtime can be built"),
            client: engine.client(),
            engine,
        }
    }

    /// An engine whose stream holds `records` records, of as many items.
    fn holding(records: u64) -> Self {
        let bench = Self::new();
        let request = |number: u64| {
            let put = PutRequest::builder()
                .item("pk", partition(number))
                .item("sk", sort(number))
                .item("data", data())
                .build()
                .expect("the request has an item");
            WriteRequest::builder().put_request(put).build()
        };
        bench.runtime.block_on(async {
            let numbers: Vec<u64> = (0..records).collect();
            for chunk in numbers.chunks(25) {
                let requests = chunk.iter().copied().map(request).collect();
                let batch = bench.client.batch_write_item();
                let answer = batch.request_items(TABLE, requests).send().await;
                answer.expect("the engine accepts the write");
            }
        });
        assert_eq!(bench.held(), records);
        bench
    }

    fn held(&self) -> u64 {
        let stream = self.engine.stream(TABLE).expect("the table has a stream");
        stream.len() as u64
    }

    fn put(&self, number: u64) {
        let put = self
            .client
            .put_item()
            .table_name(TABLE)
            .item("pk", partition(number))
            .item("sk", sort(number))
            .item("data", data());
        self.runtime.block_on(put.send()).expect("the engine accepts the write");
    }
}

fn partition(number: u64) -> AttributeValue {
    AttributeValue::S(format!("EVENTS#bench#20260101#SHARD{}", number % 64))
}

fn sort(number: u64) -> AttributeValue {
    AttributeValue::S(format!("{number:036}"))
}

/// The data that makes an item about 512 bytes large.
fn data() -> AttributeValue {
    AttributeValue::S("x".repeat(430))
}

/// The engine for a size. It is built once, and the measured calls add to it.
fn shared(records: u64) -> &'static Bench {
    static ONE: OnceLock<Bench> = OnceLock::new();
    static THOUSAND: OnceLock<Bench> = OnceLock::new();
    static MILLION: OnceLock<Bench> = OnceLock::new();
    let cell = match records {
        1 => &ONE,
        1_000 => &THOUSAND,
        _ => &MILLION,
    };
    cell.get_or_init(|| Bench::holding(records))
}

#[divan::bench(args = [1, 1_000, 1_000_000], sample_count = 1_000, sample_size = 1)]
fn put(bencher: Bencher<'_, '_>, records: u64) {
    let bench = shared(records);
    let mut number = bench.held();
    bencher.counter(ItemsCount::new(1u8)).bench_local(|| {
        number += 1;
        bench.put(number);
    });
}

#[divan::bench(args = [1_000, 1_000_000], sample_count = 1_000, sample_size = 1)]
fn get(bencher: Bencher<'_, '_>, records: u64) {
    let bench = shared(records);
    bencher.bench_local(|| {
        let get = bench.client.get_item().table_name(TABLE).key("pk", partition(7)).key("sk", sort(7));
        let answer = bench.runtime.block_on(get.send()).expect("the item can be read");
        assert!(answer.item.is_some());
        answer
    });
}

#[divan::bench(args = [1_000_000], sample_count = 200, sample_size = 1)]
fn query_of_50(bencher: Bencher<'_, '_>, records: u64) {
    let bench = shared(records);
    bencher.bench_local(|| {
        let query = bench
            .client
            .query()
            .table_name(TABLE)
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", partition(7))
            .limit(50);
        let answer = bench.runtime.block_on(query.send()).expect("the query succeeds");
        assert_eq!(answer.count, 50);
        answer
    });
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn open_and_create_table() -> Engine {
    let engine = Engine::memory(&Options::default()).expect("an engine in memory opens");
    engine.create_table(definition(), TABLE).expect("the definition is valid");
    engine
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn open() -> Engine {
    Engine::memory(&Options::default()).expect("an engine in memory opens")
}
