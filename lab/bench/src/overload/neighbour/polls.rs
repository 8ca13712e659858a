//! Five consumers that poll the topic once a second.

use std::time::Duration;

use lately_items::ConsumerKey;
use lately_model::{NewConsumer, PollLimit, PollRequest, Start};
use lately_store::Store;
use tokio::task::JoinSet;

use crate::overload::neighbour::Neighbourhood;

const CONSUMERS: u32 = 5;

/// The pause of a consumer that has more to read.
const MORE: Duration = Duration::from_millis(50);

pub(super) async fn run(place: &Neighbourhood) {
    let mut consumers = JoinSet::new();
    for number in 0..CONSUMERS {
        let consumer = consumer(place, &format!("consumer-{number}"));
        let store = place.process(number);
        create(&store, &consumer, Start::Latest).await;
        consumers.spawn(poll_until_the_end(place.clone(), store, consumer));
    }
    consumers.join_all().await;
}

/// A consumer of the topic.
pub(super) fn consumer(place: &Neighbourhood, name: &str) -> ConsumerKey {
    ConsumerKey { topic: place.bench.topic.clone(), name: name.parse().expect("a name") }
}

pub(super) async fn create(store: &Store, consumer: &ConsumerKey, start: Start) {
    let new = NewConsumer { start, ..NewConsumer::default() };
    store.op().consumer(consumer).put(&new).await.expect("the consumer is new");
}

/// Polls once a second, and at once while there is more, and commits each batch.
pub(super) async fn poll_until_the_end(place: Neighbourhood, store: Store, consumer: ConsumerKey) {
    let request = PollRequest { limit: PollLimit::new(1_000).expect("a limit") };
    while place.goes_on() {
        let op = store.op();
        let mut pause = Duration::from_secs(1);
        // A poll that fails is repeated after a second.
        if let Ok(polled) = op.consumer(&consumer).poll(request).await {
            if let Some(batch) = polled.batch {
                drop(store.op().consumer(&consumer).commit(batch).await);
            }
            if !polled.caught_up {
                pause = MORE;
            }
        }
        tokio::time::sleep(pause).await;
    }
}
