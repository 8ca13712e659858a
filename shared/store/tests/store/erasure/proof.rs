//! The proof of an erasure: its receipt is exact, and nothing is left.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use lately_items::AnyKey;
use lately_keys::EventId;
use lately_model::{Erasure, ErasureCounts, ErasureReceipt, NewErasure};
use lately_store::{ErasureCheck, ErasureTrace};

use crate::listed::user;
use crate::scene::{Scene, key};
use crate::support::{Item, MINUTE, items};

/// Compares a receipt with the table. Returns the items that are left, too.
pub(super) async fn verified(
    scene: &Scene,
    new: &NewErasure,
    erasure: &Erasure,
) -> (ErasureCheck, Vec<String>) {
    let receipt =
        ErasureReceipt { actor: new.actor.clone(), user: new.user.clone(), erasure: erasure.clone() };
    let (op, mut left) = (scene.store.op_within(MINUTE), Vec::new());
    let rate = NonZeroU32::new(1_000_000).unwrap();
    let check = op.erasures().verify(&receipt, rate, |_, found| {
        let found = found.iter().filter(|finding| finding.trace == ErasureTrace::Left);
        left.extend(found.map(|finding| format!("{} / {}", finding.key.pk, finding.key.sk)));
    });
    (check.await.unwrap(), left)
}

pub(super) async fn assert_proven(scene: &Scene, new: &NewErasure, erasure: &Erasure) {
    let (check, left) = verified(scene, new, erasure).await;
    assert_eq!((left, check.left), (Vec::new(), 0));
    assert_eq!((check.receipt, check.ids), (Some(true), Some(true)));
    assert!(check.is_proven());
}

pub(super) fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).map_or("", |text| text.as_s().unwrap())
}

/// The counts that an erasure of ada must have, by the items that are there.
pub(super) async fn countable(scene: &Scene) -> (ErasureCounts, BTreeSet<EventId>) {
    let (mut counts, mut ids) = (ErasureCounts::default(), BTreeSet::new());
    for item in &items(&scene.engine).await {
        let is_adas = text(item, "a") == "ada";
        match key(item) {
            AnyKey::Event(key) if is_adas => ids.extend([key.id()]),
            AnyKey::FeedEntry(key) if key.user == user("ada") => counts.feed += 1,
            AnyKey::SeenMark(key) if key.user == user("ada") => counts.feed += 1,
            AnyKey::PullMarker(key) if key.user == user("ada") => counts.feed += 1,
            AnyKey::Follow(key) if key.user == user("ada") => counts.follows += 1,
            AnyKey::Follower(key) if key.source.to_string() == "actor:ada" && key.user != user("ada") => {
                counts.followers += 1;
            }
            AnyKey::Profile(key) if key.user == user("ada") => counts.profile += 1,
            AnyKey::UserSession(key) if key.user == user("ada") => counts.sessions += 1,
            AnyKey::Issue(_) if text(item, "opened_by") == "ada" => counts.issues += 1,
            _ => {}
        }
    }
    counts.events = ids.len() as u64;
    (counts, ids)
}

pub(crate) fn sha256(ids: &BTreeSet<EventId>) -> String {
    use sha2::Digest;
    let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
    sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
