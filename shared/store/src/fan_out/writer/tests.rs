use std::collections::HashMap;

use lately_table::Item;
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Ask {
        item: u8,
        value: Option<u8>,
    },
    Take {
        lingered: bool,
    },
    /// A call ends: it is done, or is repeated.
    End {
        call: prop::sample::Index,
        done: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..40_u8, proptest::option::of(0..3_u8)).prop_map(|(item, value)| Step::Ask { item, value }),
        1 => any::<bool>().prop_map(|lingered| Step::Take { lingered }),
        1 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(call, done)| Step::End { call, done }),
    ]
}

fn key(item: u8) -> Key {
    Key { pk: item.to_string(), sk: "x".to_owned() }
}

fn write(item: u8, value: Option<u8>) -> Write {
    match value {
        None => Write::Delete(key(item)),
        Some(value) => Write::Put(Item::under(key(item)).with("v", value)),
    }
}

fn ticket() -> Ticket {
    unbounded_channel().0
}

/// Ends a call as the writer does. A call that is done changes the table.
fn end(state: &mut State, call: Vec<(u64, Queued)>, done: bool, table: &mut HashMap<Key, Write>) {
    for (place, queued) in call {
        state.in_flight.remove(&queued.key);
        if done {
            table.insert(queued.key, queued.write);
        } else {
            state.queue.insert(place, queued);
        }
    }
}

proptest! {
    #[test]
    fn the_last_write_of_each_item_wins(steps in prop::collection::vec(step(), 0..400)) {
        let mut state = State { rails: 1, ..State::default() };
        let mut calls: Vec<Vec<(u64, Queued)>> = Vec::new();
        let (mut wanted, mut table) = (HashMap::new(), HashMap::new());
        for step in steps {
            match step {
                Step::Ask { item, value } => {
                    state.ask(key(item), write(item, value), &ticket());
                    wanted.insert(key(item), write(item, value));
                }
                Step::Take { lingered } => calls.extend(state.take(lingered)),
                Step::End { call, done } if !calls.is_empty() => {
                    let call = calls.swap_remove(call.index(calls.len()));
                    end(&mut state, call, done, &mut table);
                }
                Step::End { .. } => {}
            }
            let in_flight: Vec<_> = calls.iter().flatten().map(|(_, queued)| &queued.key).collect();
            let distinct: HashSet<_> = in_flight.iter().copied().collect();
            prop_assert_eq!(distinct.len(), in_flight.len(), "an item is in one call at most, and once");
            prop_assert!(calls.iter().all(|call| (1..=BATCH_ITEMS).contains(&call.len())));
        }
        while let Some(call) = calls.pop().or_else(|| state.take(true)) {
            end(&mut state, call, true, &mut table);
        }
        prop_assert!(state.queue.is_empty());
        prop_assert_eq!(table, wanted);
    }
}

#[test]
fn a_call_is_sent_when_full_or_when_all_rails_wait() {
    let mut state = State { rails: 2, waiting: 1, ..State::default() };
    (0..30).for_each(|item| state.ask(key(item), write(item, None), &ticket()));
    assert_eq!(state.take(false).unwrap().len(), BATCH_ITEMS);
    assert!(state.take(false).is_none(), "the other rail may add to it");
    state.waiting = 2;
    assert_eq!(state.take(false).unwrap().len(), 5);
    state.waiting = 0;
    state.ask(key(99), write(99, None), &ticket());
    assert_eq!(state.take(true).unwrap().len(), 1, "the call does not wait too long");
}

#[test]
fn writes_that_may_have_caused_a_refusal_get_their_own_calls() {
    let mut state = State::default();
    (0..3).for_each(|item| state.ask(key(item), write(item, None), &ticket()));
    for queued in state.queue.values_mut() {
        queued.alone = true;
    }
    assert_eq!([(); 3].map(|()| state.take(false).unwrap().len()), [1; 3]);
}
