//! Fuzzes stored items in DynamoDB's JSON. Whatever attributes an item has besides its key, a read of it returns a
//! result or an error, and never panics.
#![no_main]

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use lately_template::Template;
use lately_engine::{Clock, Engine, Options};
use lately_items::AnyKey;
use lately_keys::Topic;
use lately_kit::world::World;
use lately_model::{EventQuery, FeedQuery, SourceQuery, TopicChange};
use lately_store::Store;
use lately_table::Connection;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tokio::runtime::Runtime;

const TABLE: &str = "lately";

struct Rig {
    engine: Engine,
    runtime: Runtime,
}

thread_local! {
    static RIG: Rig = Rig::new();
}

impl Rig {
    fn new() -> Self {
        let now = Duration::from_secs(1_773_489_600);
        let engine = Engine::memory(&Options { clock: Clock::manual(now), ..Options::default() }).unwrap();
        let template = Template::parse(include_str!("../../../template.yaml")).unwrap();
        engine.create_table(&template.table().unwrap(), TABLE).unwrap();
        // Time is paused, so that retries happen at once.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        Self { engine, runtime }
    }

    async fn read(&self, item: HashMap<String, AttributeValue>, key: AnyKey) {
        let client = self.engine.client();
        let names = ["pk", "sk"].map(|name| (name.to_owned(), item[name].clone()));
        // DynamoDB refuses an invalid item, so no read ever finds one.
        if client.put_item().table_name(TABLE).set_item(Some(item)).send().await.is_err() {
            return;
        }
        let store = Store::new(Connection::new(self.engine.client(), TABLE, World::new(), Duration::from_secs(5)));
        let made = async |topic: &Topic| {
            let change = TopicChange::parse(b"{}").unwrap();
            drop(store.op().topic(topic).put(&change).await);
        };
        let page = || EventQuery { consistent: true, ..EventQuery::default() };
        match key {
            AnyKey::Session(key) => drop(store.op().sessions().find(key.hash).await),
            AnyKey::Profile(key) => drop(store.op().record(&key).get(true).await),
            AnyKey::Settings(key) => drop(store.op().record(&key).get(true).await),
            AnyKey::Issue(key) => drop(store.op().issue(&key).get(true).await),
            AnyKey::SourceItem(key) => drop(store.op().source(&key.source).view().await),
            AnyKey::Topic(key) => drop(store.op().topic(&key.topic).view().await),
            AnyKey::Consumer(key) => drop(store.op().consumer(&key).view().await),
            AnyKey::Run(key) => drop(store.op().runs(&key.consumer).find(key.to).await),
            AnyKey::Event(key) => {
                let topic = &key.partition().topic;
                made(topic).await;
                if let Ok(event) = store.op().event(topic, key.id()).get().await {
                    assert_eq!(event.id, key.id());
                }
            }
            AnyKey::Directory(key) => {
                made(&key.topic).await;
                drop(store.op().topic(&key.topic).latest(&page()).await);
            }
            AnyKey::FeedEntry(key) => {
                let query = FeedQuery { page: page(), wait_for: None };
                drop(store.op().feed(&key.user).page(&query).await);
            }
            AnyKey::SourceEntry(key) => {
                let query = SourceQuery { page: page(), topic: None, wait_for: None };
                drop(store.op().timeline(&key.source).page(&query).await);
            }
            _ => {}
        }
        client.delete_item().table_name(TABLE).set_key(Some(names.into())).send().await.unwrap();
    }
}

fn attribute(value: &Value) -> Option<AttributeValue> {
    let (kind, value) = value.as_object()?.iter().next()?;
    let texts = || value.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned())).collect::<Option<Vec<_>>>();
    Some(match kind.as_str() {
        "S" => AttributeValue::S(value.as_str()?.to_owned()),
        "N" => AttributeValue::N(value.as_str()?.to_owned()),
        "B" => AttributeValue::B(Blob::new(value.as_str()?)),
        "BOOL" => AttributeValue::Bool(value.as_bool()?),
        "NULL" => AttributeValue::Null(true),
        "SS" => AttributeValue::Ss(texts()?),
        "NS" => AttributeValue::Ns(texts()?),
        "L" => AttributeValue::L(value.as_array()?.iter().map(attribute).collect::<Option<_>>()?),
        "M" => AttributeValue::M(attributes(value)?),
        _ => return None,
    })
}

fn attributes(value: &Value) -> Option<HashMap<String, AttributeValue>> {
    value.as_object()?.iter().map(|(name, value)| Some((name.clone(), attribute(value)?))).collect()
}

fuzz_target!(|json: &[u8]| {
    let Ok(json) = serde_json::from_slice::<Value>(json) else { return };
    let Some(item) = attributes(&json) else { return };
    let text = |name| item.get(name).and_then(|value: &AttributeValue| value.as_s().ok());
    let (Some(pk), Some(sk)) = (text("pk"), text("sk")) else { return };
    let Some(key) = AnyKey::decode(pk, sk) else { return };
    RIG.with(|rig| rig.runtime.block_on(rig.read(item.clone(), key)));
});
