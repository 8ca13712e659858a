//! Stories in which a person is erased while everything else goes on.
//!
//! The story is that of `story.rs`, with its faults, crashes and redelivered records. At some moment one of its users
//! asks for the erasure of ada. In the end all records are delivered once more, and the table must hold what the model
//! says, and nothing of ada that is older than the receipt. The receipt must be exact.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use lately_engine::stream::EventName;
use lately_items::AnyKey;
use lately_keys::EventId;
use lately_model::{ErasureReceipt, ErasureState, NewErasure};
use lately_rig::for_each_seed;
use lately_store::{ErasureTrace, Store};
use lately_table::Connection;

use crate::erasure::proof::sha256;
use crate::listed::user;
use crate::scene::key;
use crate::simulation::story::{Story, tell};
use crate::support::{TABLE, items};

/// Each kind of story: of three, one deletes a topic; of four, one has a single lane, and erases the actor alone.
const SEEDS: u64 = 12;

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
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(erasure.ids_sha256.as_ref(), Some(&sha256(&stored)));
        assert_eq!(erasure.counts.events, stored.len() as u64);

        let mut of_ada = BTreeSet::new();
        // Follows that were written after the erasure began may stay, whatever their writers' clocks say.
        let mut followed = BTreeSet::new();
        let mut has_begun = false;
        for record in self.engine.stream(TABLE).unwrap().all() {
            match key(&record.keys()) {
                AnyKey::ErasureStep(key) => has_begun |= key.erasure == *first,
                AnyKey::Follow(key) if has_begun => followed.extend([(key.user, key.source)]),
                AnyKey::Event(key)
                    if record.event == EventName::Insert
                        && record.new_image().unwrap()["a"].as_s().unwrap() == "ada" =>
                {
                    of_ada.insert(key.id());
                }
                _ => {}
            }
        }
        assert!(stored.is_subset(&of_ada), "{:?} erased", stored.difference(&of_ada));

        // The check below finds events and entries that are left. No other item has the words of ada.
        for item in &all {
            let has_words = format!("{item:?}").contains("words of ada");
            let is_known =
                matches!(key(item), AnyKey::Event(_) | AnyKey::SourceEntry(_) | AnyKey::FeedEntry(_));
            assert!(!has_words || is_known, "{item:?}");
        }
        let finished = erasure.finished_at.unwrap();
        let receipt = ErasureReceipt { actor: new.actor.clone(), user: new.user.clone(), erasure };
        let (mut left, mut expiring) = (Vec::new(), Vec::new());
        let rate = NonZeroU32::new(1_000_000).unwrap();
        let check = op.erasures().verify(&receipt, rate, |_, found| {
            for finding in found {
                match finding.trace {
                    ErasureTrace::Left => left.push(finding.clone()),
                    ErasureTrace::Expires => expiring.push(finding.key.clone()),
                    _ => {}
                }
            }
        });
        let check = check.await.unwrap();
        assert_eq!((check.receipt, check.ids), (Some(true), Some(true)));
        left.retain(|finding| match AnyKey::decode(&finding.key.pk, &finding.key.sk) {
            Some(AnyKey::FeedEntry(key)) => !followed.iter().any(|(user, _)| *user == key.user),
            Some(AnyKey::Follow(key)) => !followed.contains(&(key.user, key.source)),
            Some(AnyKey::Follower(key)) => !followed.contains(&(key.user, key.source)),
            Some(AnyKey::PullMarker(key)) => !followed.contains(&(key.user, key.source)),
            Some(AnyKey::FollowerCount(key)) => !followed.iter().any(|(_, source)| *source == key.source),
            _ => true,
        });
        assert_eq!(left, []);
        // An item that was written after the end may name ada for longer.
        let latest = finished.get() / 1000 + 3 * 24 * 60 * 60;
        for item in all.iter().filter(|item| expiring.contains(&key(item).encode())) {
            let expires_at: u64 = item["expires_at"].as_n().unwrap().parse().unwrap();
            assert!(expires_at <= latest, "{:?} expires {} s late", key(item), expires_at - latest);
        }
    }
}

#[test]
fn nothing_older_than_the_receipt_is_left_of_an_erased_person() {
    for_each_seed(SEEDS, async |seed| {
        let user = (!seed.is_multiple_of(4)).then(|| user("ada"));
        let new = NewErasure { actor: "ada".parse().ok(), user, confirm: "ada".to_owned() };
        let story = tell(seed, Some(&new)).await;
        story.check().await;
        story.check_erasure(&new).await;
    });
}
