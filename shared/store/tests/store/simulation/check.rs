//! The check of a finished story: the table must hold what the model says.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lately_engine::Engine;
use lately_items::{AnyKey, DeletionStep};
use lately_keys::{EventId, Source, User};
use lately_model::EndingState;
use lately_store::Store;

use crate::ends::left_of;
use crate::listed::{feed_of, source, timeline_of, user};
use crate::scene::key;
use crate::simulation::model::{Known, Model, Shows};
use crate::simulation::story::{DELETED, SECOND, SOURCES, Story, USERS};
use crate::support::{Item, TABLE, change, ids, items, pass, query, store, topic};

/// The table's items of feeds and timelines.
#[derive(Debug, Default)]
struct Table {
    timelines: BTreeMap<Source, BTreeMap<EventId, Item>>,
    feeds: BTreeMap<User, BTreeMap<EventId, Item>>,
    markers: BTreeMap<(User, Source), EventId>,
    sources: BTreeMap<Source, Item>,
}

impl Table {
    async fn read(engine: &Engine) -> Self {
        let mut table = Self::default();
        for item in items(engine).await {
            match key(&item) {
                AnyKey::SourceEntry(key) => {
                    table.timelines.entry(key.source).or_default().insert(key.id, item);
                }
                AnyKey::FeedEntry(key) => {
                    table.feeds.entry(key.user).or_default().insert(key.id, item);
                }
                AnyKey::PullMarker(key) => {
                    let since = item["since"].as_s().unwrap().parse().unwrap();
                    table.markers.insert((key.user, key.source), since);
                }
                AnyKey::SourceItem(key) => {
                    table.sources.insert(key.source, item);
                }
                _ => {}
            }
        }
        table
    }

    /// The events that a feed's pull markers bring into it.
    fn pulled(&self, user: &User) -> BTreeSet<EventId> {
        let markers = self.markers.iter().filter(|((of, _), _)| of == user);
        let pulled = markers.flat_map(|((_, source), since)| {
            let entries = self.timelines.get(source).into_iter().flatten();
            entries.filter(move |(id, item)| *id >= since && !item.contains_key("n")).map(|(id, _)| *id)
        });
        pulled.collect()
    }
}

impl Story {
    /// Asserts that the table holds what the model says. Returns the numbers of decided cases and of open ones.
    pub(super) async fn check(&self) -> (u64, u64) {
        if self.deletes_a_topic() {
            self.check_deletion().await;
        }
        let model = Model::of(&self.engine, &self.state.borrow().pushed);
        let table = Table::read(&self.engine).await;
        for source in SOURCES.map(source) {
            let listed: BTreeSet<EventId> =
                table.timelines.get(&source).into_iter().flatten().map(|(id, _)| *id).collect();
            assert_eq!(listed, model.timeline(&source), "the timeline of {source}");
            assert_eq!(
                listed,
                timeline_of(&self.reader(), &source).await.into_iter().collect(),
                "the timeline of {source}, as a client reads it"
            );
            let mode =
                table.sources.get(&source).and_then(|item| Some(item.get("mode")?.as_s().unwrap().as_str()));
            assert_ne!(mode, Some("promoting"), "the promotion of {source} never ended");
            for user in USERS.map(user) {
                let since = model.since(&user, &source).filter(|_| mode == Some("pull"));
                let marker = since.map(|since| {
                    let promotion = table.sources[&source]["promotion"].as_s().unwrap().parse().unwrap();
                    EventId::first_of(since.saturating_sub(65 * SECOND)).max(promotion)
                });
                let found = table.markers.get(&(user.clone(), source.clone())).copied();
                assert_eq!(found, marker, "the marker of {source} in the feed of {user}");
            }
        }
        let (mut decided, mut open) = (0, 0);
        for user in USERS.map(user) {
            // The author's own entry that lands after its event was deleted shows nothing, and expires.
            let is_late = |(id, item): &(&EventId, &Item)| {
                item.contains_key("expires_at") && model.events.get(id).is_some_and(|event| !event.exists)
            };
            let copies = table.feeds.get(&user).into_iter().flatten();
            let copies = copies.filter(|copy| !is_late(copy));
            let pulled = table.pulled(&user);
            for (id, item) in copies.clone() {
                assert!(model.events.contains_key(id), "{id} in the feed of {user} never existed");
                assert_copy(item, &model.events[id]);
            }
            let copies: BTreeSet<EventId> = copies.map(|(id, _)| *id).collect();
            assert_eq!(
                feed_of(&self.reader(), &user).await.into_iter().collect::<BTreeSet<_>>(),
                copies.union(&pulled).copied().collect(),
                "the feed of {user}"
            );
            for (id, event) in &model.events {
                let (shown, by_marker) = (copies.contains(id) || pulled.contains(id), pulled.contains(id));
                let shows = model.shows(&user, *id, by_marker);
                match shows {
                    Shows::Must => assert!(shown, "{user} misses {id}: {event:?}, {}", model.story(&user)),
                    Shows::Never => {
                        assert!(!shown, "{user} is shown {id}: {event:?}, {}", model.story(&user))
                    }
                    Shows::May => {}
                }
                if shows == Shows::May { open += 1 } else { decided += 1 }
            }
        }
        (decided, open)
    }

    /// Asserts that nothing is left of the deleted topic but what expires by itself, that each event was counted once,
    /// and that the name is free.
    async fn check_deletion(&self) {
        let notes = topic(DELETED);
        let of_new_topic = self.state.borrow().of_new_topic.clone();
        if let Some(new) = of_new_topic {
            let page = self.reader().op().topic(&notes).latest(&query(100)).await.unwrap();
            assert_eq!(ids(&page.events), new, "the new topic shows its own events only");
            return;
        }
        // The clock of the process that began the deletion may have been ahead.
        pass(Duration::from_secs(63)).await;
        let deletion = self.reader().op().ending(&notes).deletion().await.unwrap();
        assert_eq!(deletion.state, EndingState::Done, "{deletion:?}");
        assert_eq!(left_of(&items(&self.engine).await, DELETED), Vec::<String>::new());
        let mut listed = Vec::new();
        for record in self.engine.stream(TABLE).unwrap().all() {
            if let (AnyKey::EndingStep(_), Some(step)) = (key(&record.keys()), record.new_image()) {
                listed.extend(DeletionStep::decode(&step.into()).unwrap().listed);
            }
        }
        let once: BTreeSet<EventId> = listed.iter().copied().collect();
        let counted = usize::try_from(deletion.events).unwrap();
        assert_eq!((counted, listed.len()), (once.len(), once.len()), "each event is counted once");
        let store = self.reader();
        let (_, is_new) = store.op().topic(&notes).put(&change("{}")).await.unwrap();
        let shown = store.op().topic(&notes).latest(&query(10)).await.unwrap().events;
        assert!(is_new && shown.is_empty(), "{shown:?}");
    }

    fn reader(&self) -> Store {
        store(self.engine.client(), &self.world)
    }
}

fn assert_copy(item: &Item, event: &Known) {
    let text = |name: &str| item.get(name).map(|text| text.as_s().unwrap().clone());
    let letters = if event.subject.is_some() { "as" } else { "a" };
    assert_eq!((text("o"), text("v")), (Some(event.topic.to_string()), Some(letters.to_owned())));
    assert_eq!((text("a"), text("s")), (Some(event.actor.clone()), event.subject.clone()));
    let is_large = event.data.as_ref().is_some_and(|data| data.len() > 1_000);
    let width = if event.topic.as_str() == "posts" { "h" } else { "d" };
    assert_eq!(text("w").as_deref(), is_large.then_some(width));
    assert_eq!(text("d"), event.data.clone().filter(|_| !is_large));
    assert!(!item.contains_key("n"));
}
