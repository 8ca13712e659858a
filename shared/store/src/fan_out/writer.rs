//! The one writer of a batch: the writes of all its rails, in calls of 25.
//!
//! A call costs its round trip however few items it has, so a call waits until it is full, or until no rail could
//! add to it: all wait for their writes, or for something else for too long. What a call leaves unprocessed goes
//! into a later one.
//!
//! What must hold: of one item there is no more than one write in a call and none in two calls at once, and they
//! are made in the order in which they were asked for. A rail is told when all that it asked for is durable.
//!
//! A partition takes 1,000 write units a second. A rail that can leave a write for later ([`Writer::write_or_refuse`])
//! is told soon that the write's partition takes no more: after [`BUSY_ATTEMPTS`], and once a call with writes of this
//! partition alone was refused for this reason. A call of several partitions does not say which one is busy, and a
//! limit of the table or the account is no reason to write more.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::{DeleteRequest, PutRequest, ReturnConsumedCapacity, WriteRequest};
use futures_util::future::{self, Either};
use futures_util::stream::{FuturesUnordered, StreamExt};
use lately_keys::{Key, Place};
use tokio::sync::Notify;

use crate::call::Table;
use crate::call::{Meaning, is_batchs_range_hot, is_throttle, meaning, unavailable};
use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, keyed};
use crate::limits::{BATCH_ITEMS, BUSY_ATTEMPTS, LINGER, WRITES_AT_ONCE};

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
pub(super) struct WriteTotals {
    pub(super) calls: u64,
    pub(super) items: u64,
}

pub(super) struct Writer<'a> {
    table: &'a Table,
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
    /// Partitions that take no more now.
    busy: HashSet<String>,
    asked: u64,
    /// Rails at work, and how many of them wait for the writer.
    rails: usize,
    waiting: usize,
    written: WriteTotals,
}

#[derive(Debug)]
struct Queued {
    key: Key,
    write: Write,
    attempts: u32,
    /// A call with it and others was refused as a whole: it may be its fault. Or its partition may be busy.
    alone: bool,
    /// Whether all who asked for it can leave it for later.
    may_refuse: bool,
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
    failed: Option<TableError>,
    refused: Vec<Key>,
}

/// How a write ended.
#[derive(Clone, Debug)]
enum End {
    Written,
    Refused,
    Failed(TableError),
}

impl Write {
    pub(super) fn key(&self) -> Result<Key, Corrupt> {
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
    pub(super) fn new(table: &'a Table) -> Self {
        Self { table, state: Mutex::default(), changed: Notify::new() }
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
    pub(super) async fn write(&self, writes: Vec<Write>) -> Result<(), TableError> {
        self.ask(writes, false).await.map(drop)
    }

    /// Writes items; when it returns, they are durable, but for those whose partitions take no more: their keys.
    pub(super) async fn write_or_refuse(&self, writes: Vec<Write>) -> Result<Vec<Key>, TableError> {
        self.ask(writes, true).await
    }

    async fn ask(&self, writes: Vec<Write>, may_refuse: bool) -> Result<Vec<Key>, TableError> {
        let writes: Result<Vec<_>, TableError> = writes
            .into_iter()
            .map(|write| Ok((write.key().map_err(TableError::unavailable)?, write)))
            .collect();
        let (mut refused, mut asked) = (Vec::new(), Vec::new());
        for (key, write) in writes? {
            match may_refuse && self.state().busy.contains(&key.pk) {
                true => refused.push(key),
                false => asked.push((key, write)),
            }
        }
        if asked.is_empty() {
            return Ok(refused);
        }
        let left = Left { writes: asked.len(), failed: None, refused };
        let ticket = Arc::new(Ticket { left: Mutex::new(left), done: Notify::new() });
        for (key, write) in asked {
            self.state().ask(key, write, may_refuse, &ticket);
        }
        self.state().waiting += 1;
        self.changed.notify_one();
        ticket.done.notified().await;
        let mut left = ticket.left();
        left.failed.take().map_or_else(|| Ok(std::mem::take(&mut left.refused)), Err)
    }

    /// What was written so far.
    pub(super) fn written(&self) -> WriteTotals {
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
            Err(error) => return self.fail(batch, || TableError::unavailable(&error)),
        };
        self.table.meter.call();
        self.state().written.calls += 1;
        let answer = self
            .table
            .client
            .batch_write_item()
            .request_items(&*self.table.name, requests)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        let mut busy = None;
        let (left, error, throttled): (Vec<_>, _, _) = match answer {
            Ok(answer) => {
                self.table.meter.write(answer.consumed_capacity());
                let unprocessed = answer.unprocessed_items().into_iter().flatten();
                let unprocessed: HashSet<Key> =
                    unprocessed.flat_map(|(_, left)| left).filter_map(key_of_request).collect();
                let (left, done): (Vec<_>, Vec<_>) =
                    batch.into_iter().partition(|(_, queued)| unprocessed.contains(&queued.key));
                self.finish(done);
                (left, TableError::unavailable("a batch was not processed"), true)
            }
            Err(error) if meaning(&error) == Meaning::Final => {
                let [_] = &*batch else { return self.again(batch, true) };
                return self.fail(batch, || unavailable(&error));
            }
            Err(error) => {
                busy = only_partition(&batch).filter(|_| is_batchs_range_hot(&error));
                (batch, unavailable(&error), is_throttle(&error))
            }
        };
        let left = self.refuse(left, busy);
        let made = left.iter().map(|(_, queued)| queued.attempts + 1).max();
        let Some(made) = made else { return };
        let wait = self.table.wait_after(made);
        if throttled {
            self.table.meter.throttled(wait.is_none());
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
            if alone {
                queued.alone = true;
            } else if queued.may_refuse && queued.attempts >= BUSY_ATTEMPTS {
                // Once alone. If its partition is not the reason then, it is tried as all others are.
                queued.may_refuse = !queued.alone;
                queued.alone = !queued.alone;
            }
            state.newest.entry(queued.key.clone()).or_insert(place);
            state.queue.insert(place, queued);
        }
    }

    /// Refuses writes to partitions that take no more: of a call, and all that wait for one. The others of the call.
    fn refuse(&self, batch: Vec<(u64, Queued)>, busy: Option<String>) -> Vec<(u64, Queued)> {
        let mut state = self.state();
        if let Some(busy) = busy
            && batch.iter().any(|(_, queued)| queued.attempts + 1 >= BUSY_ATTEMPTS)
        {
            let waiting = state.take_refusable(&busy);
            state.busy.insert(busy);
            drop(state);
            self.end(waiting, || End::Refused);
            state = self.state();
        }
        let (refused, left) = batch
            .into_iter()
            .partition(|(_, queued)| queued.may_refuse && state.busy.contains(&queued.key.pk));
        drop(state);
        self.end(refused, || End::Refused);
        left
    }

    fn finish(&self, batch: Vec<(u64, Queued)>) {
        self.state().written.items += batch.len() as u64;
        self.end(batch, || End::Written);
    }

    fn fail(&self, batch: Vec<(u64, Queued)>, error: impl Fn() -> TableError) {
        self.end(batch, || End::Failed(error()));
    }

    fn end(&self, batch: Vec<(u64, Queued)>, end: impl Fn() -> End) {
        let mut state = self.state();
        for (_, queued) in batch {
            state.in_flight.remove(&queued.key);
            for ticket in queued.tickets {
                let mut left = ticket.left();
                left.writes -= 1;
                match end() {
                    End::Written => {}
                    End::Refused => left.refused.push(queued.key.clone()),
                    End::Failed(error) => left.failed = Some(error),
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

/// The partition of all writes of a call, if there is only one.
fn only_partition(batch: &[(u64, Queued)]) -> Option<String> {
    let (_, first) = batch.first()?;
    batch.iter().all(|(_, queued)| queued.key.pk == first.key.pk).then(|| first.key.pk.clone())
}

impl State {
    fn ask(&mut self, key: Key, write: Write, may_refuse: bool, ticket: &Arc<Ticket>) {
        let newest = self.newest.get(&key).and_then(|place| self.queue.get_mut(place));
        if let Some(same) = newest.filter(|queued| queued.write == write) {
            same.tickets.push(Arc::clone(ticket));
            same.may_refuse &= may_refuse;
            return;
        }
        let place = self.asked;
        self.asked += 1;
        self.newest.insert(key.clone(), place);
        let tickets = vec![Arc::clone(ticket)];
        self.queue.insert(place, Queued { key, write, attempts: 0, alone: false, may_refuse, tickets });
    }

    /// The queued writes to a partition that can be left for later.
    fn take_refusable(&mut self, partition: &str) -> Vec<(u64, Queued)> {
        let queued = self.queue.iter();
        let places: Vec<_> = queued
            .filter(|(_, queued)| queued.may_refuse && queued.key.pk == partition)
            .map(|(place, _)| *place)
            .collect();
        places.into_iter().filter_map(|place| self.take_out(place)).collect()
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
