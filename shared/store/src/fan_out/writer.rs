//! The one writer of a batch of records: it puts the writes of all rails into calls of 25 items.
//!
//! A call costs a round trip however few items it has. So the writer sends a call when it is full, or when no rail can
//! add to it: each rail waits for its own writes, or the call has waited long enough for rails that are reading
//! ([`LINGER`]). Items that a call leaves unprocessed go into a later call.
//!
//! Two rules must hold. An item has no more than one write in a call and is in no two calls at once, and its writes are
//! made in the order in which the rails asked for them. A rail continues only after all of its writes are durable.
//!
//! A partition takes 1,000 write units a second. A rail learns soon that a write's partition is busy: after
//! [`BUSY_ATTEMPTS`], and only if DynamoDB refused a call with writes to this partition alone because its key range is hot.
//! A call to several partitions does not tell which partition is busy. And work that is left for later is one more write,
//! which makes a limit of the table or the account worse. A rail can leave such a write to a backlog
//! ([`Writer::write_or_refuse`]). Any other rail ends ([`Writer::write`]), so none keeps the writer's calls while it waits.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use lately_keys::Key;
use lately_table::limits::{BATCH_ITEMS, BUSY_ATTEMPTS};
use lately_table::{Attempts, BatchOutcome, Refusal, Table, TableError, Write};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::at_once::lock;
use crate::fan_out::outcome::Done;
use crate::limits::WRITES_AT_ONCE;

/// Rounds of [`Writer::write`], if a busy partition takes some writes in each of them. Together they take a second or two:
/// as long as a partition needs for the 1 MB that a step writes at most.
const WRITE_ROUNDS: u32 = 10;

/// A write call that is not full waits this long for rails that are still reading.
const LINGER: Duration = Duration::from_millis(25);

#[cfg(test)]
mod tests;

pub(super) struct Writer<'a> {
    table: &'a Table,
    done: &'a Done,
    state: Mutex<State>,
    /// Wakes the writer: a rail has asked for writes, or has ended.
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// The writes in the order in which the rails asked for them.
    queue: BTreeMap<u64, Queued>,
    in_flight: HashSet<Key>,
    /// Partitions that take no more writes now.
    busy: HashSet<String>,
    /// The number of writes that were queued so far, which is the place of the next one.
    asked: u64,
    /// Rails at work.
    rails: usize,
    /// Rails that wait for the writer.
    waiting: usize,
}

#[derive(Debug)]
struct Queued {
    key: Key,
    write: Write,
    attempts: u32,
    /// The write gets a call of its own. DynamoDB refused a whole call with this write and others, so this write may be
    /// the reason; or the write's partition may be busy.
    alone: bool,
    /// False if the write's partition was not the reason when DynamoDB refused a call of the write's own. Then the write is
    /// repeated until the deadline.
    may_refuse: bool,
    ticket: Ticket,
}

/// Tells a rail how a write has ended. A rail waits until none of its tickets is left.
type Ticket = UnboundedSender<(Key, End)>;

/// The end of a write.
#[derive(Clone, Debug)]
enum End {
    Written,
    Refused,
    Failed(TableError),
}

impl<'a> Writer<'a> {
    pub(super) fn new(table: &'a Table, done: &'a Done) -> Self {
        Self { table, done, state: Mutex::default(), changed: Notify::new() }
    }

    /// Drives some work to its end, and makes the writes that its rails ask for meanwhile.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            done = work => done,
            never = self.run() => match never {},
        }
    }

    /// Runs a rail. The writer counts the rails, and sends a call once all of them wait.
    pub(super) async fn rail<T>(&self, rail: impl Future<Output = T>) -> T {
        self.state().rails += 1;
        let done = rail.await;
        self.state().rails -= 1;
        self.changed.notify_one();
        done
    }

    /// Writes items. All of them are durable when this returns without an error.
    ///
    /// # Errors
    /// [`TableError::Busy`] if a partition is busy. Some of the items are written then. A rail that is repeated begins with
    /// the same writes, so a partition that takes some of them gets a few rounds: otherwise it would take the same ones
    /// each time.
    pub(super) async fn write(&self, mut writes: Vec<Write>) -> Result<(), TableError> {
        for _ in 0..WRITE_ROUNDS {
            let refused: HashSet<_> = self.write_or_refuse(writes.clone()).await?.into_iter().collect();
            if refused.is_empty() {
                return Ok(());
            }
            for key in &refused {
                self.forgive(&key.pk);
            }
            let asked = writes.len();
            writes.retain(|write| write.key().is_ok_and(|key| refused.contains(&key)));
            if writes.len() == asked {
                break;
            }
        }
        Err(TableError::Busy(format!("{} writes were refused", writes.len())))
    }

    /// Writes items, and returns the keys of those that are not written because their partitions are busy. All others
    /// are durable when this returns.
    pub(super) async fn write_or_refuse(&self, writes: Vec<Write>) -> Result<Vec<Key>, TableError> {
        let (mut refused, mut asked) = (Vec::new(), Vec::new());
        for write in writes {
            let key = write.key().map_err(TableError::unavailable)?;
            match self.state().busy.contains(&key.pk) {
                true => refused.push(key),
                false => asked.push((key, write)),
            }
        }
        if asked.is_empty() {
            return Ok(refused);
        }
        let (ticket, mut ends) = unbounded_channel();
        for (key, write) in asked {
            self.state().ask(key, write, &ticket);
        }
        drop(ticket);
        self.state().waiting += 1;
        self.changed.notify_one();
        let mut failed = None;
        while let Some((key, end)) = ends.recv().await {
            match end {
                End::Written => {}
                End::Refused => refused.push(key),
                End::Failed(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok(refused), Err)
    }

    /// Forgets that a partition takes no more writes.
    pub(super) fn forgive(&self, partition: &str) {
        self.state().busy.remove(partition);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
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
            lingered = tokio::select! {
                biased;
                Some(()) = calls.next() => false,
                () = self.changed.notified() => false,
                () = tokio::time::sleep(LINGER), if asked => true,
            };
        }
    }

    async fn call(&self, batch: Vec<(u64, Queued)>) {
        if let Err(error) = in_time(self.table) {
            return self.state().end(batch, &End::Failed(error));
        }
        self.done.add(|all| all.write_calls += 1);
        let writes: Vec<_> = batch.iter().map(|(_, queued)| &queued.write).collect();
        let (open, refusal) = match self.table.batch_write(&writes).await {
            BatchOutcome::Written(unprocessed) => {
                let (mut open, mut done) = (Vec::new(), Vec::new());
                for (place, queued) in batch.into_iter().enumerate() {
                    if unprocessed.contains(&place) { open.push(queued) } else { done.push(queued) }
                }
                self.done.add(|all| all.written_items += done.len() as u64);
                self.state().end(done, &End::Written);
                let error = TableError::unavailable("a batch was not processed");
                (open, Refusal { error, is_range_hot: false, is_throttle: true })
            }
            BatchOutcome::Refused(refusal) => (batch, refusal),
            BatchOutcome::Failed(error) => {
                let [_] = &*batch else { return self.state().again(batch, true) };
                return self.state().end(batch, &End::Failed(error));
            }
        };
        let busy = only_partition(&open).filter(|_| refusal.is_range_hot);
        let open = self.state().refuse(open, busy);
        let made = open.iter().map(|(_, queued)| queued.attempts + 1).max();
        let Some(made) = made else { return };
        let wait = Attempts::wait_after(self.table, made);
        if refusal.is_throttle {
            self.table.meter().throttled(wait.is_none());
        }
        match wait {
            None => self.state().end(open, &End::Failed(refusal.error)),
            Some(wait) => {
                tokio::time::sleep(wait).await;
                self.state().again(open, false);
            }
        }
    }
}

/// Fails if the invocation's time is over. Lambda would end the process in the middle of its work, without an answer.
pub(super) fn in_time(table: &Table) -> Result<(), TableError> {
    match table.time_left().is_zero() {
        true => Err(TableError::unavailable("the invocation's time is over")),
        false => Ok(()),
    }
}

/// The partition of a call's writes, if all of them have the same one.
fn only_partition(batch: &[(u64, Queued)]) -> Option<String> {
    let (_, first) = batch.first()?;
    batch.iter().all(|(_, queued)| queued.key.pk == first.key.pk).then(|| first.key.pk.clone())
}

impl State {
    fn ask(&mut self, key: Key, write: Write, ticket: &Ticket) {
        let ticket = ticket.clone();
        self.queue
            .insert(self.asked, Queued { key, write, attempts: 0, alone: false, may_refuse: true, ticket });
        self.asked += 1;
    }

    /// Puts writes back to their old places in the queue.
    fn again(&mut self, batch: Vec<(u64, Queued)>, alone: bool) {
        for (place, mut queued) in batch {
            self.in_flight.remove(&queued.key);
            queued.attempts += 1;
            if alone {
                queued.alone = true;
            } else if queued.may_refuse && queued.attempts >= BUSY_ATTEMPTS {
                // The write gets one call of its own. If its partition is not the reason even then, the write is
                // repeated as all others are.
                queued.may_refuse = !queued.alone;
                queued.alone = !queued.alone;
            }
            self.queue.insert(place, queued);
        }
    }

    /// Refuses writes to busy partitions: those of a call, and all that are queued. Returns the other writes of the
    /// call.
    fn refuse(&mut self, batch: Vec<(u64, Queued)>, busy: Option<String>) -> Vec<(u64, Queued)> {
        if let Some(busy) = busy
            && batch.iter().any(|(_, queued)| queued.attempts + 1 >= BUSY_ATTEMPTS)
        {
            let is_refused = |_: &u64, queued: &mut Queued| queued.may_refuse && queued.key.pk == busy;
            let waiting = self.queue.extract_if(.., is_refused).collect();
            self.busy.insert(busy);
            self.end(waiting, &End::Refused);
        }
        let (refused, open) = batch
            .into_iter()
            .partition(|(_, queued)| queued.may_refuse && self.busy.contains(&queued.key.pk));
        self.end(refused, &End::Refused);
        open
    }

    /// Tells the rails how writes have ended.
    fn end(&mut self, batch: Vec<(u64, Queued)>, end: &End) {
        for (_, queued) in batch {
            self.in_flight.remove(&queued.key);
            // Counted here and not by the rail: until it runs again, it would still seem to wait.
            self.waiting -= usize::from(queued.ticket.strong_count() == 1);
            // A rail that has been dropped needs no answer.
            queued.ticket.send((queued.key, end.clone())).ok();
        }
    }

    /// The writes of the next call, if the call is full or no rail would add to it.
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
        let taken: Vec<_> = places.iter().filter_map(|place| self.queue.remove_entry(place)).collect();
        self.in_flight.extend(taken.iter().map(|(_, queued)| queued.key.clone()));
        Some(taken)
    }
}
