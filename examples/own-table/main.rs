//! Lately's store in a table of your own: creates the table, writes an event, reads the latest, and prints the price.

#![expect(clippy::print_stdout, reason = "it prints its result")]

use std::{error::Error, time::Duration};

use aws_sdk_dynamodb::{client::Waiters, types::*};
use lately_engine::Engine;
use lately_model::{AcceptedTimes, Batch, BodyForm, EventQuery, QueryString, TopicChange};
use lately_store::{Store, Submission};
use lately_table::{Connection, world::World};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // On AWS: `Client::new(&config)`, where `config` comes from `aws_config` and has `RetryConfig::disabled()`.
    let client = Engine::memory(&Default::default())?.client();
    let (table, time) = ("events", Duration::from_secs(8));
    let attribute = |it| AttributeDefinition::builder().attribute_name(it).attribute_type("S".into()).build();
    let key = |name, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    let create = client.create_table().table_name(table).billing_mode(BillingMode::PayPerRequest);
    let create = create.attribute_definitions(attribute("pk")?).attribute_definitions(attribute("sk")?);
    create.key_schema(key("pk", KeyType::Hash)?).key_schema(key("sk", KeyType::Range)?).send().await?;
    client.wait_until_table_exists().table_name(table).wait(time).await?;

    let (store, topic) = (Store::new(Connection::new(client, table, World::new(), time)), "posts".parse()?);
    store.op().topic(&topic).put(&TopicChange::parse(b"{}")?).await?;
    let post = br#"{"type": "post.created", "actor": "ada", "data": {"text": "hi"}}"#;
    let post = Batch::parse(post, BodyForm::Json, AcceptedTimes::new(store.now(), None))?;
    store.op().topic(&topic).write(Submission::new(post.events)).await?;

    let op = store.op();
    let page = op.topic(&topic).latest(&EventQuery::parse("limit=10")?).await?;
    println!("{}: {} read units", serde_json::to_string(&page)?, op.cost().read_units);
    Ok(())
}
