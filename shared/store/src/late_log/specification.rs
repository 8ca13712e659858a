//! The protocol of the late log as a small machine, and a check of all of its interleavings.
//!
//! Two writers store an event each, a process of fan-out handles the record of each, and one reader reads the topic. Every
//! line of `STEPS` is one call to the table, or one tick of time. Any process may stop anywhere and begin again, a record
//! may be delivered again, and the reader may seek and change how long it waits. The check visits every state that the
//! machine can reach. Whenever nothing is left to be done, a reader that polls has got each event, and a reader that
//! produces reports has got each event exactly once.
//!
//! The rule that says which events are late is the production code (`readers.rs`). Each of the [`Flaw`]s leaves out one
//! step of the protocol. The check finds a lost event for each of them: so none of the steps is superfluous.

use std::collections::{HashMap, HashSet};

use lately_items::{Announcement, AnnouncementKey};
use lately_keys::{EventId, UnixMillis};
use lately_model::{Revision, SettleSeconds};

use crate::late_log::readers::Readers;

/// A tick of time. It is as long as clocks may differ.
const TICK_MILLIS: u64 = 5_000;

/// The machine stops writing after so many ticks.
const LAST_TICK: i8 = 1;

/// The reader's clock is so many ticks ahead of DynamoDB's.
const AHEAD: i8 = 1;

/// The settle times of the reader, in ticks.
const SHORTER_SETTLE: i8 = 1;
const SETTLE: i8 = 2;
const LONGER_SETTLE: i8 = 3;

/// Items of the log that the machine can hold, with one that is not used: the numbers begin at 1.
const ITEMS: usize = 4;

/// A step that a flawed protocol leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// The reader reads its range before it reads the end of the log.
    RangeFirst,
    /// The reader goes on behind a gap, without filling it.
    GapLeft,
    /// A writer that finds its number filled does not take another one.
    NumberGivenUp,
    /// The rule trusts the reader's clock.
    ClocksTrusted,
    /// A seek does not say that the reader has passed events without waiting.
    SeekUnannounced,
    /// A longer settle time holds for events that the reader has passed before.
    SettleUnannounced,
    /// The reader's place in the log moves before its events are committed.
    PlaceMovedEarly,
    /// The reader gives late events again, whatever its files say. Only a reader that produces reports must not.
    FilesIgnored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Writer {
    New,
    /// The event has its id, whose time is this tick.
    HasId(i8),
    /// The event is stored.
    Stored {
        at: i8,
        stored_at: i8,
    },
}

/// The handling of the record of a writer's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Handling {
    Waiting,
    /// The announcements are read, and the event is late.
    Late,
    /// The end of the log is raised: the number is this process's.
    HasNumber(usize),
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LogItem {
    Missing,
    Filler,
    Event(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reading {
    Idle,
    /// The checkpoint, the clock and the end of the log are read. The items up to `read` are read, and name these events
    /// as late. With `ranged`, the range is read, and holds these events.
    Begun {
        upto: i8,
        end: usize,
        read: usize,
        late: [bool; 2],
        ranged: Option<[bool; 2]>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    now: i8,
    writers: [Writer; 2],
    handling: [Handling; 2],
    redelivered: bool,
    log: [LogItem; ITEMS],
    end: usize,
    /// The reader's announcement: the ticks that it waits, and the tick up to which it may not have waited.
    settle: i8,
    passed: i8,
    /// The reader's checkpoint: all events up to this tick are committed, and all items of the log up to this number.
    position: i8,
    place: usize,
    reading: Reading,
    /// The number of times that each event was committed; and whether a seek has skipped it.
    given: [u8; 2],
    skipped: [bool; 2],
    has_sought: bool,
    has_changed_settle: bool,
}

/// The reader, besides reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// It only polls.
    Polls,
    /// It polls, and seeks once.
    Seeks,
    /// It polls, and waits for another time from some moment on.
    ChangesSettle,
    /// It produces reports.
    Reports,
}

/// A protocol, for one kind of reader.
struct Protocol {
    flaw: Option<Flaw>,
    habit: Habit,
    /// Says for four ticks whether an event is late: how long the reader waits, how far it has passed, the event's
    /// time, and when the event was stored.
    late: HashMap<[i8; 4], bool>,
}

impl State {
    const FIRST: Self = Self {
        now: 0,
        writers: [Writer::New; 2],
        handling: [Handling::Waiting; 2],
        redelivered: false,
        log: [LogItem::Missing; ITEMS],
        end: 0,
        settle: SETTLE,
        passed: -1,
        position: -1,
        place: 0,
        reading: Reading::Idle,
        given: [0; 2],
        skipped: [false; 2],
        has_sought: false,
        has_changed_settle: false,
    };

    /// The time of a stored event; `None` if the event is not stored.
    fn stored(&self, event: usize) -> Option<i8> {
        match self.writers[event] {
            Writer::Stored { at, .. } => Some(at),
            Writer::New | Writer::HasId(_) => None,
        }
    }
}

impl State {
    /// The events after the position and up to a tick.
    fn range(&self, upto: i8) -> [bool; 2] {
        [0, 1].map(|event| self.stored(event).is_some_and(|at| at > self.position && at <= upto))
    }
}

impl Protocol {
    fn new(flaw: Option<Flaw>, habit: Habit) -> Self {
        let mut late = HashMap::new();
        for settle in SHORTER_SETTLE..=LONGER_SETTLE {
            for passed in -1..=LAST_TICK {
                for at in 0..=LAST_TICK {
                    for stored_at in at..=LAST_TICK {
                        let waits = if flaw == Some(Flaw::ClocksTrusted) { settle + 1 } else { settle };
                        let is_late = is_late(waits, passed, at, stored_at);
                        late.insert([settle, passed, at, stored_at], is_late);
                    }
                }
            }
        }
        Self { flaw, habit, late }
    }

    fn has_runs(&self) -> bool {
        self.habit == Habit::Reports
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// All states that one step leads to.
    fn steps(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        if state.now < LAST_TICK {
            next.push(State { now: state.now + 1, ..*state });
        }
        for event in 0..2 {
            next.extend(write(state, event));
            next.extend(self.handle(state, event));
        }
        next.extend(self.read(state));
        next.extend(self.seek(state));
        next.extend(self.change_settle(state));
        next
    }

    /// Fan-out handles the record of an event, one call after another. It may begin again at any moment.
    fn handle(&self, state: &State, event: usize) -> Vec<State> {
        let Writer::Stored { at, stored_at } = state.writers[event] else { return Vec::new() };
        let mut next = Vec::new();
        let mut with = |handling: Handling| {
            let mut after = *state;
            after.handling[event] = handling;
            next.push(after);
        };
        match state.handling[event] {
            Handling::Waiting => {
                let is_late = self.late[&[state.settle, state.passed, at, stored_at]];
                with(if is_late { Handling::Late } else { Handling::Done });
            }
            Handling::Late if state.end + 1 < ITEMS => {
                let mut after = *state;
                after.end += 1;
                after.handling[event] = Handling::HasNumber(after.end);
                next.push(after);
            }
            Handling::Late => {}
            Handling::HasNumber(number) => {
                let mut after = *state;
                if after.log[number] == LogItem::Missing {
                    after.log[number] = LogItem::Event(event);
                    after.handling[event] = Handling::Done;
                } else if self.has(Flaw::NumberGivenUp) {
                    after.handling[event] = Handling::Done;
                } else {
                    after.handling[event] = Handling::Late;
                }
                next.push(after);
            }
            Handling::Done => {}
        }
        // The process dies, or the record of a handled event is delivered again: once, for the first event.
        if event == 0 && !state.redelivered && state.handling[event] != Handling::Waiting {
            let mut after = *state;
            after.redelivered = true;
            after.handling[event] = Handling::Waiting;
            next.push(after);
        }
        next
    }

    /// The reader makes its next call. It may begin again at any moment.
    fn read(&self, state: &State) -> Vec<State> {
        let Reading::Begun { upto, end, read, late, ranged } = state.reading else {
            let upto = (state.now + AHEAD - state.settle).max(state.position);
            let begin = |end| {
                let ranged = if self.has(Flaw::RangeFirst) { Some(state.range(upto)) } else { None };
                let begun = Reading::Begun { upto, end, read: state.place, late: [false; 2], ranged };
                let place = if self.has(Flaw::PlaceMovedEarly) { end } else { state.place };
                State { reading: begun, place, ..*state }
            };
            // The read of the end is not consistent: it may be behind.
            return vec![begin(state.end), begin(state.place)];
        };
        let mut next = vec![State { reading: Reading::Idle, ..*state }];
        if self.has(Flaw::RangeFirst) && end < state.end {
            next.push(State {
                reading: Reading::Begun { upto, end: state.end, read, late, ranged },
                ..*state
            });
            return next;
        }
        if read < end {
            let mut after = *state;
            let mut late = late;
            match state.log[read + 1] {
                LogItem::Event(event) => {
                    let at = state.stored(event).expect("the log names stored events only");
                    // An event after the position is in this range, or in a later one.
                    late[event] |= at <= state.position;
                }
                LogItem::Missing if !self.has(Flaw::GapLeft) => after.log[read + 1] = LogItem::Filler,
                LogItem::Missing | LogItem::Filler => {}
            }
            after.reading = Reading::Begun { upto, end, read: read + 1, late, ranged };
            next.push(after);
            return next;
        }
        let Some(held) = ranged else {
            let ranged = Some(state.range(upto));
            next.push(State { reading: Reading::Begun { upto, end, read, late, ranged }, ..*state });
            return next;
        };
        let mut after = State { position: upto, place: end, reading: Reading::Idle, ..*state };
        for event in 0..2 {
            let is_known = self.has_runs() && state.given[event] > 0 && !self.has(Flaw::FilesIgnored);
            if held[event] || (late[event] && !is_known) {
                let most = if self.has_runs() { 2 } else { 1 };
                after.given[event] = (after.given[event] + 1).min(most);
            }
        }
        next.push(after);
        next
    }

    /// The reader seeks to now, once: a change of the checkpoint and the announcement, which ends a poll under way.
    fn seek(&self, state: &State) -> Option<State> {
        if self.habit != Habit::Seeks || state.has_sought {
            return None;
        }
        let mut after = State { has_sought: true, reading: Reading::Idle, ..*state };
        after.position = state.now;
        if state.now > state.position && !self.has(Flaw::SeekUnannounced) {
            after.passed = state.passed.max(state.now);
        }
        for event in 0..2 {
            after.skipped[event] |= state.stored(event).is_some_and(|at| at <= state.now);
        }
        Some(after)
    }

    /// The reader waits for another time from now on, once. The change ends a poll under way.
    fn change_settle(&self, state: &State) -> Vec<State> {
        if self.habit != Habit::ChangesSettle || state.has_changed_settle {
            return Vec::new();
        }
        let changed = State { has_changed_settle: true, reading: Reading::Idle, ..*state };
        let shorter = State { settle: SHORTER_SETTLE, ..changed };
        let mut longer = State { settle: LONGER_SETTLE, ..changed };
        if !self.has(Flaw::SettleUnannounced) {
            longer.passed = state.passed.max(state.position);
        }
        vec![shorter, longer]
    }

    /// The fault of a state in which all events are stored and handled, once the reader has read everything.
    fn fault(&self, state: &State) -> Option<&'static str> {
        let is_over = state.handling == [Handling::Done; 2] && state.reading == Reading::Idle;
        if !is_over {
            return None;
        }
        // Time passes, and the reader reads what is left.
        let settled = State { now: LAST_TICK + LONGER_SETTLE, ..*state };
        let last = self.read_once(&self.read_once(&settled));
        for event in 0..2 {
            if last.given[event] == 0 && !last.skipped[event] {
                return Some("an event is lost");
            }
            if self.has_runs() && last.given[event] > 1 {
                return Some("an event is reported twice");
            }
        }
        None
    }

    /// A whole read, which nothing disturbs.
    fn read_once(&self, state: &State) -> State {
        let mut state = self.read(state)[0];
        while let Some(next) = self.read(&state).pop()
            && state.reading != Reading::Idle
        {
            state = next;
        }
        state
    }

    /// Visits every state. Returns their number, or the first fault.
    fn check(&self) -> Result<usize, &'static str> {
        let mut known = HashSet::from([State::FIRST]);
        let mut open = vec![State::FIRST];
        while let Some(state) = open.pop() {
            if let Some(fault) = self.fault(&state) {
                return Err(fault);
            }
            for next in self.steps(&state) {
                if known.insert(next) {
                    open.push(next);
                }
            }
        }
        Ok(known.len())
    }
}

/// A writer takes its id, and stores its event at any later moment.
fn write(state: &State, event: usize) -> Option<State> {
    let mut after = *state;
    after.writers[event] = match state.writers[event] {
        Writer::New => Writer::HasId(state.now),
        Writer::HasId(at) => Writer::Stored { at, stored_at: state.now },
        Writer::Stored { .. } => return None,
    };
    Some(after)
}

/// The production rule, in ticks.
fn is_late(settle: i8, passed: i8, at: i8, stored_at: i8) -> bool {
    let consumer = Announcement {
        key: AnnouncementKey { topic: "billing".parse().unwrap(), name: "nightly".parse().unwrap() },
        incarnation: Revision::new(1),
        start: EventId::MIN,
        settle: SettleSeconds::new(u16::try_from(settle).unwrap() * 5).unwrap(),
        passed: if passed < 0 { None } else { Some(EventId::last_of(millis(passed))) },
        has_runs: false,
        is_ended: false,
    };
    let readers = Readers { consumers: vec![consumer], is_watched: false };
    readers.may_have_passed(EventId::first_of(millis(at)), millis(stored_at))
}

fn millis(tick: i8) -> UnixMillis {
    UnixMillis::new(1_773_489_600_000 + u64::try_from(tick).unwrap() * TICK_MILLIS).unwrap()
}

#[test]
fn no_interleaving_loses_an_event_or_reports_it_twice() {
    // A reader that may seek may also not do so.
    for habit in [Habit::Seeks, Habit::ChangesSettle, Habit::Reports] {
        let states = Protocol::new(None, habit).check();
        assert!(states.is_ok_and(|states| states > 10_000), "{habit:?}: {states:?}");
    }
}

#[test]
fn each_step_of_the_protocol_is_necessary() {
    for (flaw, habit) in [
        (Flaw::RangeFirst, Habit::Polls),
        (Flaw::GapLeft, Habit::Polls),
        (Flaw::NumberGivenUp, Habit::Polls),
        (Flaw::ClocksTrusted, Habit::Polls),
        (Flaw::PlaceMovedEarly, Habit::Polls),
        (Flaw::SeekUnannounced, Habit::Seeks),
        (Flaw::SettleUnannounced, Habit::ChangesSettle),
    ] {
        assert_eq!(Protocol::new(Some(flaw), habit).check(), Err("an event is lost"), "{flaw:?}");
    }
    let ignored = Protocol::new(Some(Flaw::FilesIgnored), Habit::Reports).check();
    assert_eq!(ignored, Err("an event is reported twice"));
}
