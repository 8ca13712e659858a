//! A source with 20,000 followers that posts ten times a second. It has more followers than the fan-out limit, so feeds pull
//! it.

use std::time::Duration;

use lately_keys::Source;
use lately_model::Backfill;

use crate::overload::neighbour::Neighbourhood;
use crate::overload::writers::write;

const FOLLOWERS: u32 = 20_000;
const POSTS_A_SECOND: u32 = 10;

/// The source's actor.
const ACTOR: &str = "star";

/// The attempts of a follow, one a second.
const ATTEMPTS: u32 = 60;

pub(super) async fn prepare(place: &Neighbourhood) {
    let source = format!("actor:{ACTOR}").parse().expect("a source");
    for number in 0..place.items(FOLLOWERS) {
        follow(place, &source, number).await;
    }
}

async fn follow(place: &Neighbourhood, source: &Source, number: u32) {
    let user = format!("fan-{number}").parse().expect("a user");
    for _ in 0..ATTEMPTS {
        let op = place.bench.store.op();
        if op.user(&user).follow(source, Backfill::default()).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("{user} cannot follow {source}");
}

pub(super) async fn run(place: &Neighbourhood) {
    for _ in 0..POSTS_A_SECOND * place.seconds {
        write(place.bench.clone(), ACTOR.to_owned(), 1).await;
        tokio::time::sleep(Duration::from_secs(1) / POSTS_A_SECOND).await;
    }
}
