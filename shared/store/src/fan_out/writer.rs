//! The one writer of a batch: the writes of all its rails, in calls of 25.
//!
//! A call costs its round trip however few items it has, so a call waits until it is full, or until no rail could
//! add to it: all wait for their writes, or for something else for too long. What a call leaves unprocessed goes
//! into a later one.
//!
//! What must hold: of one item there is no more than one write in a call and none in two calls at once, and they
//! are made in the order in which they were asked for. A rail is told when all that it asked for is durable.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest, ReturnConsumedCapacity, WriteRequest};
use futures_util::future::{self, Either};
use futures_util::stream::{FuturesUnordered, StreamExt};
use lately_keys::{Key, Place};
use tokio::sync::Notify;

use crate::call::{Meaning, Operation, Unavailable, is_throttle, meaning, unavailable};
use crate::item::{Corrupt, Fields, Item, keyed};
use crate::limits::{BATCH_ITEMS, LINGER, WRITES_AT_ONCE};
use crate::store::Store;

#[cfg(test)]
mod tests;

/// A write of one item.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Write {
    Put(Item),
    Delete(Key),
}

/// What the writer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) calls: u64,
    pub(super) items: u64,
}

pub(super) struct Writer<'a> {
    store: &'a Store,
    operation: &'a Operation<'a>,
    state: Mutex<State>,
    /// There is something to do, or a reason to look.
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// In the order in which they were asked for.
    queue: BTreeMap<u64, Queued>,
    /// The last write of each queued item.
    newest: HashMap<Key, u64>,
    in_flight: HashSet<Key>,
    asked: u64,
    /// Rails at work, and how many of them wait for the writer.
    rails: usize,
    waiting: usize,
    written: Written,
}

#[derive(Debug)]
struct Queued {
    key: Key,
    write: Write,
    attempts: u32,
    /// A call with it and others was refused as a whole: it may be its fault.
    alone: bool,
    tickets: Vec<Arc<Ticket>>,
}

/// What a rail waits for.
#[derive(Debug)]
struct Ticket {
    left: Mutex<Left>,
    done: Notify,
}

#[derive(Debug)]
struct Left {
    writes: usize,
    failed: Option<Unavailable>,
}

impl Write {
    fn key(&self) -> Result<Key, Corrupt> {
        match self {
            Self::Put(item) => Fields(item).key(),
            Self::Delete(key) => Ok(key.clone()),
        }
    }

    fn request(&self) -> Result<WriteRequest, BuildError> {
        let request = WriteRequest::builder();
        Ok(match self {
            Self::Put(item) => {
                request.put_request(PutRequest::builder().set_item(Some(item.clone())).build()?).build()
            }
            Self::Delete(key) => {
                let key = keyed(Place::Table, key.clone());
                request.delete_request(DeleteRequest::builder().set_key(Some(key)).build()?).build()
            }
        })
    }
}

fn key_of_request(request: &WriteRequest) -> Option<Key> {
    let put = request.put_request().map(PutRequest::item);
    Fields(put.or_else(|| request.delete_request().map(DeleteRequest::key))?).key().ok()
}

impl<'a> Writer<'a> {
    pub(super) fn new(store: &'a Store, operation: &'a Operation<'a>) -> Self {
        Self { store, operation, state: Mutex::default(), changed: Notify::new() }
    }

    /// Does some work, and writes what its rails ask for meanwhile.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        match future::select(pin!(work), pin!(self.run())).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => match never {},
        }
    }

    /// Runs a rail: calls are sent when all rails that there are wait for them.
    pub(super) async fn rail<T>(&self, rail: impl Future<Output = T>) -> T {
        self.state().rails += 1;
        let done = rail.await;
        self.state().rails -= 1;
        self.changed.notify_one();
        done
    }

    /// Writes items; when it returns, they are durable.
    pub(super) async fn write(&self, writes: Vec<Write>) -> Result<(), Unavailable> {
        if writes.is_empty() {
            return Ok(());
        }
        let left = Left { writes: writes.len(), failed: None };
        let ticket = Arc::new(Ticket { left: Mutex::new(left), done: Notify::new() });
        for write in writes {
            let key = write.key().map_err(Unavailable::new)?;
            self.state().ask(key, write, &ticket);
        }
        self.state().waiting += 1;
        self.changed.notify_one();
        ticket.done.notified().await;
        ticket.left().failed.take().map_or(Ok(()), Err)
    }

    /// What was written so far.
    pub(super) fn written(&self) -> Written {
        self.state().written
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(&self) -> std::convert::Infallible {
        let mut calls = FuturesUnordered::new();
        let mut lingered = false;
        loop {
            while calls.len() < WRITES_AT_ONCE
                && let Some(batch) = self.state().take(lingered)
            {
                calls.push(self.call(batch));
            }
            let asked = !self.state().queue.is_empty();
            let linger =
                async { if asked { tokio::time::sleep(LINGER).await } else { future::pending().await } };
            let ended = pin!(async {
                if calls.next().await.is_none() {
                    future::pending::<()>().await;
                }
            });
            let changed = pin!(self.changed.notified());
            let changed = future::select(ended, changed);
            lingered = matches!(future::select(changed, pin!(linger)).await, Either::Right(_));
        }
    }

    async fn call(&self, batch: Vec<(u64, Queued)>) {
        let requests: Result<Vec<_>, _> = batch.iter().map(|(_, queued)| queued.write.request()).collect();
        let requests = match requests {
            Ok(requests) => requests,
            Err(error) => return self.fail(batch, || Unavailable::new(&error)),
        };
        self.operation.meter.call();
        self.state().written.calls += 1;
        let answer = self
            .store
            .client()
            .batch_write_item()
            .request_items(self.store.table(), requests)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        let (left, error, throttled): (Vec<_>, _, _) = match answer {
            Ok(answer) => {
                self.operation.meter.write(answer.consumed_capacity());
                let unprocessed = answer.unprocessed_items().into_iter().flatten();
                let unprocessed: HashSet<Key> =
                    unprocessed.flat_map(|(_, left)| left).filter_map(key_of_request).collect();
                let (left, done): (Vec<_>, Vec<_>) =
                    batch.into_iter().partition(|(_, queued)| unprocessed.contains(&queued.key));
                self.finish(done);
                (left, Unavailable::new("a batch was not processed"), true)
            }
            Err(error) if meaning(&error) == Meaning::Final => {
                let [_] = &*batch else { return self.again(batch, true) };
                return self.fail(batch, || unavailable(&error));
            }
            Err(error) => (batch, unavailable(&error), is_throttle(&error)),
        };
        let made = left.iter().map(|(_, queued)| queued.attempts + 1).max();
        let Some(made) = made else { return };
        let wait = self.operation.wait_after(made);
        if throttled {
            self.operation.meter.throttled(wait.is_none());
        }
        match wait {
            None => self.fail(left, || error.clone()),
            Some(wait) => {
                tokio::time::sleep(wait).await;
                self.again(left, false);
            }
        }
    }

    /// Puts writes back to where they stood in the queue.
    fn again(&self, batch: Vec<(u64, Queued)>, alone: bool) {
        let mut state = self.state();
        for (place, mut queued) in batch {
            state.in_flight.remove(&queued.key);
            queued.attempts += 1;
            queued.alone |= alone;
            state.newest.entry(queued.key.clone()).or_insert(place);
            state.queue.insert(place, queued);
        }
    }

    fn finish(&self, batch: Vec<(u64, Queued)>) {
        self.state().written.items += batch.len() as u64;
        self.end(batch, || None);
    }

    fn fail(&self, batch: Vec<(u64, Queued)>, error: impl Fn() -> Unavailable) {
        self.end(batch, || Some(error()));
    }

    fn end(&self, batch: Vec<(u64, Queued)>, failed: impl Fn() -> Option<Unavailable>) {
        let mut state = self.state();
        for (_, queued) in batch {
            state.in_flight.remove(&queued.key);
            for ticket in queued.tickets {
                let mut left = ticket.left();
                left.writes -= 1;
                if let Some(error) = failed() {
                    left.failed = Some(error);
                }
                if left.writes == 0 {
                    // Here, and not when the rail goes on: until then it would still seem to wait.
                    state.waiting -= 1;
                    ticket.done.notify_one();
                }
            }
        }
    }
}

impl Ticket {
    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn ask(&mut self, key: Key, write: Write, ticket: &Arc<Ticket>) {
        let newest = self.newest.get(&key).and_then(|place| self.queue.get_mut(place));
        if let Some(same) = newest.filter(|queued| queued.write == write) {
            same.tickets.push(Arc::clone(ticket));
            return;
        }
        let place = self.asked;
        self.asked += 1;
        self.newest.insert(key.clone(), place);
        let tickets = vec![Arc::clone(ticket)];
        self.queue.insert(place, Queued { key, write, attempts: 0, alone: false, tickets });
    }

    /// The writes of the next call: a full one, or what there is if nothing would come to it.
    fn take(&mut self, lingered: bool) -> Option<Vec<(u64, Queued)>> {
        let mut keys = HashSet::new();
        let mut places = Vec::with_capacity(BATCH_ITEMS);
        for (place, queued) in &self.queue {
            if self.in_flight.contains(&queued.key) || !keys.insert(&queued.key) {
                continue;
            }
            if queued.alone {
                places = vec![*place];
                break;
            }
            places.push(*place);
            if places.len() == BATCH_ITEMS {
                break;
            }
        }
        let alone = places.first().is_some_and(|place| self.queue[place].alone);
        let is_due = alone || places.len() == BATCH_ITEMS || lingered || self.waiting >= self.rails;
        if places.is_empty() || !is_due {
            return None;
        }
        Some(places.into_iter().filter_map(|place| self.take_out(place)).collect())
    }

    fn take_out(&mut self, place: u64) -> Option<(u64, Queued)> {
        let queued = self.queue.remove(&place)?;
        if self.newest.get(&queued.key) == Some(&place) {
            self.newest.remove(&queued.key);
        }
        self.in_flight.insert(queued.key.clone());
        Some((place, queued))
    }
}
