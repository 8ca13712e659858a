//! Stories in which a person is erased while everything else goes on.
//!
//! The story is that of `story.rs`, with its faults, crashes and redelivered records. At some moment one of its users
//! asks for the erasure of ada. In the end all records are delivered once more, and the table must hold what the model
//! says, and nothing of ada that is older than the receipt. The receipt must be exact.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use lately_engine::stream::EventName;
use lately_keys::table::AnyKey;
use lately_keys::{EventId, UnixMillis};
use lately_model::{ErasureReceipt, ErasureState, NewErasure};
use lately_rig::for_each_seed;
use lately_store::{ErasureTrace, Store};
use lately_table::Connection;
use sha2::Digest;

use crate::scene::key;
use crate::simulation::story::{DELETED, Story, tell_of_erasure};
use crate::support::{TABLE, items};

const SEEDS: u64 = 1_000;

impl Story {
    /// Asserts that nothing of ada is left that is older than the receipt, and that the receipt is exact.
    async fn check_erasure(&self, new: &NewErasure) {
        let store = Store::new(Connection::new(
            self.engine.client(),
            TABLE,
            self.world.clone(),
            std::time::Duration::from_secs(600),
        ));
        let op = store.op();
        let begun = op.erasures().begin(new).await.unwrap();
        // This erasure is the second one if the first one is done. Then the first one is the only receipt.
        let all = items(&self.engine).await;
        let erasures: BTreeSet<_> = all
            .iter()
            .filter_map(|item| match key(item) {
                AnyKey::ErasureStep(key) if key.erasure != begun.id => Some(key.erasure),
                _ => None,
            })
            .collect();
        let Some(first) = erasures.first() else { panic!("the erasure has not come to its end") };
        let erasure = op.erasures().get(*first).await.unwrap();
        assert_eq!(erasure.state, ErasureState::Done);

        let stored: BTreeSet<EventId> = all
            .iter()
            .flat_map(|item| match key(item) {
                AnyKey::ErasedPage(_) => {
                    let ids = item["e"].as_b().unwrap().as_ref();
                    ids.chunks(16).map(|id| EventId::from_slice(id).unwrap()).collect()
                }
                AnyKey::ErasedEvent(key) => vec![key.id],
                _ => Vec::new(),
            })
            .collect();
        let text: String = stored.iter().map(|id| format!("{id}\n")).collect();
        let hash: String = sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(erasure.ids_sha256.as_ref(), Some(&hash));
        assert_eq!(erasure.counts.events, stored.len() as u64);

        let finished = erasure.finished_at.unwrap();
        let (mut wanted, mut of_ada, mut later) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        // Follows that landed after the erasure began may stay, whatever their writers' clocks say.
        let mut followed = BTreeSet::new();
        let mut has_begun = false;
        for record in self.engine.stream(TABLE).unwrap().all() {
            match key(&record.keys()) {
                AnyKey::ErasureStep(key) => has_begun |= key.erasure == *first,
                AnyKey::Follow(key) if has_begun => followed.extend([(key.user, key.source)]),
                _ => {}
            }
            if let (AnyKey::Event(key), EventName::Insert) = (key(&record.keys()), record.event()) {
                let landed_at = UnixMillis::new(record.at_micros() / 1_000_000 * 1_000).unwrap();
                if record.new_image().unwrap()["a"].as_s().unwrap() == "ada" {
                    of_ada.insert(key.id());
                    if landed_at >= finished {
                        later.insert(key.id());
                    }
                    let topic = key.partition().topic.as_str();
                    let is_deleted = self.state.borrow().deleted.contains(&key.id())
                        || self.deletes_a_topic() && topic == DELETED;
                    if landed_at < finished && !is_deleted {
                        wanted.insert(key.id());
                    }
                }
            }
        }
        assert!(wanted.is_subset(&stored), "{:?} not erased", wanted.difference(&stored));
        assert!(stored.is_subset(&of_ada), "{:?} erased", stored.difference(&of_ada));

        let receipt = ErasureReceipt { actor: new.actor.clone(), user: new.user.clone(), erasure };
        let mut left = Vec::new();
        let rate = NonZeroU32::new(1_000_000).unwrap();
        let check = op.erasures().verify(&receipt, rate, |_, found| {
            left.extend(found.iter().filter(|finding| finding.trace == ErasureTrace::Left).cloned());
        });
        let check = check.await.unwrap();
        assert_eq!((check.receipt, check.ids), (Some(true), Some(true)));
        // An event may have landed after the end with an older time of its own.
        left.retain(|finding| match AnyKey::decode(&finding.key.pk, &finding.key.sk) {
            Some(AnyKey::Event(key)) => !later.contains(&key.id()),
            Some(AnyKey::SourceEntry(key)) => !later.contains(&key.id),
            Some(AnyKey::FeedEntry(key)) => {
                !later.contains(&key.id) && !followed.iter().any(|(user, _)| *user == key.user)
            }
            Some(AnyKey::Follow(key)) => !followed.contains(&(key.user, key.source)),
            Some(AnyKey::Follower(key)) => !followed.contains(&(key.user, key.source)),
            Some(AnyKey::PullMarker(key)) => !followed.contains(&(key.user, key.source)),
            Some(AnyKey::FollowerCount(key)) => !followed.iter().any(|(_, source)| *source == key.source),
            _ => true,
        });
        assert_eq!(left, []);
    }
}

#[test]
fn nothing_older_than_the_receipt_is_left_of_an_erased_person() {
    for_each_seed(SEEDS, async |seed| {
        let (story, new) = tell_of_erasure(seed).await;
        story.check().await;
        story.check_erasure(&new).await;
    });
}
