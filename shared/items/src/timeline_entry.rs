//! An event in a timeline: how the entry is stored under each of the event's sources, and in feeds.
//!
//! ```text
//! table   pk  SOURCE#{source}   or   SOURCE#{source}#SHARD{n}    sk  {inverted id}
//!         pk  FEED#{user}                                        sk  {inverted id}
//!   t S (type), a S (actor), s S? (subject), o S (topic), expires_at N?
//!   v S (which of the event's sources list it: a the actor, s the subject)
//!   a copy:     d S? (data, the client's JSON text)
//!   a pointer:  w S (the letter of the topic's bucket width: q, h, d, m), from which the event's key follows
//!   n BOOL? (under sources: the topic does not fan out, so feeds leave the entry out)
//!   i BOOL? (under sources: an import, which fan-out pushed to no feed)
//! ```
//!
//! With copies, one query reads a page of a timeline. But a copy costs a write unit for each KB and follower. So no
//! entry is larger than 1 KB: the entry of a larger event is a pointer to the event.
//!
//! Two rules must hold:
//! - An entry that fan-out writes is a pure function of the event, its topic and the entry's key. So fan-out may write
//!   an entry twice. The author's feed has a pointer first, and fan-out's entry replaces the pointer.
//! - The event alone decides whether its entry is a copy: the size includes the longest key that an entry can have. So
//!   an entry can be copied from one timeline to another without a change.

use lately_keys::{
    Actor, BucketWidth, Coverage, EventId, EventType, Key, Source, Subject, TableKey, Topic, User,
};
use lately_model::{Data, Event, RetentionDays};

use crate::attribute::stored_as;
use crate::event::{ACCEPTED, ACTOR, DATA, EventKey, SUBJECT, TYPE, expiry, letters};
use crate::feed::FeedEntryKey;
use crate::item::{Corrupt, EXPIRES_AT, Item};
use crate::limits::{ENTRY_BYTES, ENTRY_KEY_BYTES};
use crate::record::{Record, record};
use crate::source::SourceEntryKey;

/// This sort key comes after all marks of a timeline, and before all of its entries.
pub const BEFORE_ENTRIES: &str = "$";

record! {
    /// An event as timelines list it.
    pub struct TimelineEntry {
        /// The event's topic.
        pub topic: Topic = required("o"),
        /// The event's id.
        pub id: EventId = of_sort_key,
        /// Its type.
        pub event_type: EventType = required("t"),
        /// Its actor.
        pub actor: Actor = required("a"),
        /// Its subject.
        pub subject: Option<Subject> = optional("s"),
        /// Its data, unless the entry points to the event.
        data: Option<Data> = optional("d"),
        /// If the entry points to the event: the width of the buckets of the event's topic.
        pointer: Option<WidthLetter> = optional(POINTER = "w"),
        /// The letters of the views (by actor, by subject) that list the event: those that the topic kept when the
        /// event was written.
        views: String = required("v"),
        /// True if the topic fanned out when the event was written.
        pub fans_out: bool = unless("n"),
        /// True if the event is an import.
        is_import: bool = flag(IMPORT = "i"),
        /// When the event expires, in unix seconds.
        pub expires_at: Option<u64> = optional("expires_at"),
    }
}

/// A width of buckets, stored as the first letter of its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WidthLetter(BucketWidth);

impl WidthLetter {
    fn letter(self) -> &'static str {
        &self.0.as_str()[..1]
    }
}

stored_as! {
    WidthLetter as String: |width| width.letter().to_owned(), |text| {
        BucketWidth::ALL.into_iter().map(Self).find(|width| width.letter() == text)
    };
}

impl TimelineEntry {
    /// The entry of an event of the table; `None` if no timeline lists the event.
    pub fn of(key: &EventKey, item: &Item) -> Result<Option<Self>, Corrupt> {
        let accepted: String = item.optional(ACCEPTED)?.unwrap_or_default();
        let subject: Option<Subject> = item.optional(SUBJECT)?;
        let has_subject = accepted.contains('s') && subject.is_some();
        let views = letters([(accepted.contains('a'), "a"), (has_subject, "s")]);
        if views.is_empty() {
            return Ok(None);
        }
        let entry = Self {
            topic: key.partition().topic.clone(),
            id: key.id(),
            event_type: item.get(TYPE)?,
            actor: item.get(ACTOR)?,
            subject,
            data: item.optional(DATA)?,
            pointer: None,
            views,
            fans_out: accepted.contains('f'),
            is_import: accepted.contains('i'),
            expires_at: item.optional(EXPIRES_AT)?,
        };
        Ok(Some(match entry.largest_bytes() > ENTRY_BYTES {
            true => entry.pointing(key.partition().bucket.width()),
            false => entry,
        }))
    }

    /// The entry as a pointer to its event, in a topic whose buckets have this width.
    fn pointing(self, width: BucketWidth) -> Self {
        Self { data: None, pointer: Some(WidthLetter(width)), ..self }
    }

    /// True if the event belongs in the feeds of all followers: its topic fans out, and it is no import.
    pub const fn is_for_feeds(&self) -> bool {
        self.fans_out && !self.is_import
    }

    /// The sources that list the event: at most two.
    pub fn sources(&self) -> impl Iterator<Item = Source> {
        let actor = self.views.contains('a').then(|| Source::Actor(self.actor.clone()));
        let subject = self.subject.clone().filter(|_| self.views.contains('s')).map(Source::Subject);
        actor.into_iter().chain(subject)
    }

    /// The entry's item in the first shard of the timeline of one of its sources.
    pub fn at_source(&self, source: &Source) -> Item {
        self.add_to(Item::under(place_at_source(self.id, source)))
    }

    /// The entry's item in a feed. It expires when the feed's retention is over, and no later than its event.
    pub fn in_feed(&self, user: &User, retention: Option<RetentionDays>) -> Item {
        let expires_at = self.expiry_in_feed(retention);
        let unmarked = Self { fans_out: true, is_import: false, expires_at, ..self.clone() };
        unmarked.add_to(Item::under(place_in_feed(self.id, user)))
    }

    /// When the entry expires in a feed with this retention, in unix seconds.
    pub fn expiry_in_feed(&self, retention: Option<RetentionDays>) -> Option<u64> {
        let kept_until = retention.map(|days| expiry(self.id.at(), days));
        self.expires_at.into_iter().chain(kept_until).min()
    }

    /// The entry's item in the author's own feed until fan-out replaces it: a pointer that expires at `until`, in unix
    /// seconds.
    ///
    /// This item may be put after the event was deleted and fan-out has handled the deletion. A pointer shows no event
    /// that does not exist, and the expiry removes it.
    pub fn before_fan_out(
        &self,
        width: BucketWidth,
        user: &User,
        retention: Option<RetentionDays>,
        until: u64,
    ) -> Item {
        let expires_at = self.expires_at.into_iter().chain([until]).min();
        Self { expires_at, ..self.clone().pointing(width) }.in_feed(user, retention)
    }

    /// The event, if the entry is a copy of it.
    pub fn event(&self) -> Option<Event> {
        self.pointer.is_none().then(|| Event {
            id: self.id,
            event_type: self.event_type.clone(),
            actor: self.actor.clone(),
            subject: self.subject.clone(),
            data: self.data.clone(),
        })
    }

    /// The key of the event, if the entry points to it.
    pub fn pointer(&self) -> Option<EventKey> {
        self.pointer.map(|WidthLetter(width)| EventKey::new(self.topic.clone(), width, self.id))
    }

    /// The size of the entry's largest possible item: with both marks, and with an expiry of twelve digits.
    fn largest_bytes(&self) -> usize {
        let expires_at = Some(999_999_999_999);
        let largest = Self { fans_out: false, is_import: true, expires_at, ..self.clone() };
        largest.add_to(Item::new()).stored_bytes() + ENTRY_KEY_BYTES
    }
}

/// The key of an event's entry in the first shard of a source's timeline.
pub fn place_at_source(id: EventId, source: &Source) -> Key {
    SourceEntryKey { source: source.clone(), shard: 0.into(), id }.encode()
}

/// The keys that an event's entry may have in a source's timeline.
pub fn places_at_source(id: EventId, source: &Source, coverage: &Coverage) -> Vec<Key> {
    let places = coverage.places_at(id.tick()).into_iter();
    places.map(|shard| SourceEntryKey { source: source.clone(), shard, id }.encode()).collect()
}

/// The key of an event's entry in a feed.
pub fn place_in_feed(id: EventId, user: &User) -> Key {
    FeedEntryKey { user: user.clone(), id }.encode()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{ID, INVERTED as SK};

    fn key(topic: &str, width: BucketWidth) -> EventKey {
        EventKey::new(topic.parse().unwrap(), width, ID.parse().unwrap())
    }

    fn entry(key: &EventKey, event: &Item) -> TimelineEntry {
        TimelineEntry::of(key, event).unwrap().unwrap()
    }

    #[test]
    fn only_entries_under_sources_mark_an_import() {
        let entry = |letters| {
            entry(&key("posts", BucketWidth::Day), &[("t", "note"), ("a", "ada"), ("v", letters)].into())
        };
        let post = entry("afp");
        assert!(post.is_for_feeds() && !post.at_source(&"actor:ada".parse().unwrap()).has("i"));
        let import = entry("afi");
        let listed = import.at_source(&"actor:ada".parse().unwrap());
        assert!(listed.flag("i"));
        assert!(!TimelineEntry::decode(&listed).unwrap().is_for_feeds());
        assert!(!import.in_feed(&"bob".parse().unwrap(), None).has("i"));
    }

    #[test]
    fn the_authors_entry_before_fan_out_is_a_pointer_that_expires() {
        let event = [("t", "note"), ("a", "ada"), ("d", "1"), ("v", "afp")].into();
        let entry = entry(&key("posts", BucketWidth::Hour), &event);
        let own = entry.before_fan_out(BucketWidth::Hour, &"ada".parse().unwrap(), None, 1_720_900_000);
        let stored =
            [("pk", "FEED#ada"), ("sk", SK), ("t", "note"), ("a", "ada"), ("o", "posts"), ("v", "a")];
        assert_eq!(own, Item::from(stored).with("w", "h").with("expires_at", 1_720_900_000_u64));
    }

    #[test]
    fn golden_bytes() {
        let event = Item::from([("t", "note"), ("a", "ada"), ("s", "x"), ("d", "1.10"), ("v", "asf")])
            .with("expires_at", 1_720_900_000_u64);
        let entry = entry(&key("posts", BucketWidth::Day), &event);
        let stored = |pk, expires_at: u64| {
            Item::from([("pk", pk), ("sk", SK), ("t", "note"), ("a", "ada"), ("s", "x"), ("d", "1.10")])
                .with("v", "as")
                .with("o", "posts")
                .with("expires_at", expires_at)
        };
        let source = "subject:x".parse().unwrap();
        assert_eq!(entry.at_source(&source), stored("SOURCE#subject:x", 1_720_900_000));
        let day = RetentionDays::new(1).ok();
        let in_feed = entry.in_feed(&"bob".parse().unwrap(), day);
        assert_eq!(in_feed, stored("FEED#bob", 1_720_838_271));
    }

    #[test]
    fn a_large_event_without_fan_out_has_a_marked_pointer() {
        let large = format!("\"{}\"", "x".repeat(1_000));
        let event = [("t", "note"), ("a", "ada"), ("d", &*large), ("v", "as")].into();
        let entry = entry(&key("logs", BucketWidth::Hour), &event);
        // The topic keeps the view by subject, and the event has no subject.
        let marked =
            Item::from([("pk", "SOURCE#actor:ada"), ("sk", SK), ("t", "note"), ("a", "ada"), ("o", "logs")])
                .with("v", "a")
                .with("w", "h")
                .with("n", true);
        assert_eq!(entry.at_source(&"actor:ada".parse().unwrap()), marked);
        assert_eq!((entry.pointer(), entry.event()), (Some(key("logs", BucketWidth::Hour)), None));
    }

    #[test]
    fn an_event_that_no_view_lists_has_no_entry() {
        let event = Item::from([("t", "note"), ("a", "ada")]);
        for event in [event.clone(), event.with("v", "s")] {
            assert_eq!(TimelineEntry::of(&key("posts", BucketWidth::Day), &event), Ok(None));
        }
        let both = [("t", "note"), ("a", "ada"), ("s", "x"), ("v", "s")].into();
        let entry = entry(&key("posts", BucketWidth::Day), &both);
        assert_eq!(entry.sources().collect::<Vec<_>>(), ["subject:x".parse().unwrap()]);
    }

    #[test]
    fn an_item_that_is_no_entry_is_corrupt() {
        let item = Item::from([("pk", "FEED#bob"), ("sk", SK)]);
        assert!(TimelineEntry::decode(&item).is_err());
        let item =
            Item::from([("sk", SK), ("t", "note"), ("a", "ada"), ("o", "posts"), ("v", "a"), ("w", "y")]);
        assert!(TimelineEntry::decode(&item).is_err());
    }

    proptest! {
        #[test]
        fn an_entry_fits_a_write_unit_and_decodes_to_itself(
            names in ("[a-z0-9]{1,128}", "[a-z0-9]{1,128}", proptest::option::of("[a-z0-9][a-z0-9:]{0,127}"), "[a-z]{1,64}"),
            bytes in prop_oneof![0..1_100_usize, 500..900_usize],
            letters in prop_oneof![Just("a"), Just("as"), Just("asf")],
            width in prop_oneof![Just(BucketWidth::QuarterHour), Just(BucketWidth::Month)],
            expires_at in proptest::option::of(1_700_000_000..253_402_300_799_u64),
        ) {
            let (topic, actor, subject, event_type) = names;
            let data = format!("\"{}\"", "x".repeat(bytes));
            let event = Item::from([("t", event_type), ("a", actor), ("d", data), ("v", letters.to_owned())])
                .with_some("s", subject)
                .with_some("expires_at", expires_at);
            let entry = entry(&key(&topic, width), &event);
            for source in entry.sources() {
                let listed = entry.at_source(&source);
                prop_assert!(listed.stored_bytes() <= ENTRY_BYTES);
                prop_assert_eq!(TimelineEntry::decode(&listed), Ok(entry.clone()));
            }
            let user = "u".repeat(128).parse().unwrap();
            let in_feed = entry.in_feed(&user, None);
            prop_assert!(in_feed.stored_bytes() <= ENTRY_BYTES);
            // Cleanup may read an entry from a feed and put it back.
            let again = TimelineEntry::decode(&in_feed).unwrap().in_feed(&user, None);
            prop_assert_eq!(again, in_feed);
            prop_assert_eq!(entry.event().is_some(), entry.pointer().is_none());
        }
    }
}
