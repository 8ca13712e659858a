//! An import of 100,000 events of the last day into a topic that is followed live and has a consumer. Each of these events
//! is late for the stream's client and for the consumer.

use lately_items::Timeline;
use lately_model::{LiveQuery, NewEvent, Start};
use lately_store::Store;

use crate::overload::neighbour::{Neighbourhood, polls};
use crate::overload::writers::{note, submit};

const EVENTS: u32 = 100_000;
const DAY_MILLIS: u32 = 86_400_000;

/// The events of a request, in the published run.
const BATCH: u32 = 500;

/// The actors of the imported events, which take turns.
const ACTORS: u32 = 100;

/// The consumer has polled once, so it has a position.
pub(super) async fn prepare(place: &Neighbourhood) {
    polls::create(&place.process(0), &polls::consumer(place, "importing"), Start::Latest).await;
}

pub(super) async fn run(place: &Neighbourhood) {
    let consumer = polls::consumer(place, "importing");
    let polling = tokio::spawn(polls::poll_until_the_end(place.clone(), place.process(0), consumer));
    let following = tokio::spawn(follow_until_the_end(place.clone(), place.process(1)));
    // The rate of the published run.
    let events = EVENTS / place.scale.slower * place.seconds / 60;
    let begun = place.now().saturating_sub(DAY_MILLIS.into());
    let each = place.scale.rate(BATCH);
    let pause = (place.end - tokio::time::Instant::now()) / events.div_ceil(each);
    let mut number = 0;
    while number < events {
        let mut batch = Vec::new();
        for number in number..events.min(number + each) {
            let at = begun.saturating_add(u64::from(DAY_MILLIS / events * number));
            batch.push(NewEvent { at: Some(at), ..note(&format!("imported-{}", number % ACTORS)) });
        }
        number += each;
        submit(&place.bench, batch).await;
        tokio::time::sleep(pause).await;
    }
    polling.await.expect("the consumer does not panic");
    following.await.expect("the client does not panic");
}

/// A client that follows the topic live, and connects again when its stream ends.
async fn follow_until_the_end(place: Neighbourhood, store: Store) {
    let timeline = Timeline::Topic(place.bench.topic.clone());
    let mut cursor = None;
    while place.goes_on() {
        let query = LiveQuery { cursor: cursor.clone(), ..LiveQuery::default() };
        let op = store.op();
        if let Ok(mut follower) = op.follow(timeline.clone(), &query, None).await {
            while let Ok(Ok(_)) = tokio::time::timeout_at(place.end, follower.next()).await {}
            cursor = Some(follower.cursor());
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}
