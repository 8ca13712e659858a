//! The connector between the SDK and the engine. It injects the faults that the plan decides.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use dynoxide::{AttributeValue, Item};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api_error::ApiError;
use crate::call::{Call, ItemRequest, Touched};
use crate::client::respond;
use crate::clock::micros;
use crate::core::Core;
use crate::fault::client::Injected;
use crate::fault::plan::{Plan, TouchedPartition};
use crate::fault::refusal::{CONDITION, CONFLICT, refused, throttled};
use crate::fault::rules::{Fault, Faults, Moment, Rule, Target, Throttle};
use crate::item_id::ItemId;
use crate::operation::Operation;
use crate::{dispatch, limits, seed, turns};

/// A client's faults, and the record of its calls so far.
#[derive(Debug, Clone)]
pub(crate) struct Layer(pub(super) Arc<LayerState>);

#[derive(Debug)]
pub(crate) struct LayerState {
    core: Arc<Core>,
    seed: u64,
    turns: u8,
    /// True if the record has all calls and faults. Otherwise it has only the latest faults.
    records_all: bool,
    progress: Mutex<LayerProgress>,
    pub(super) crashed: watch::Sender<bool>,
}

#[derive(Debug)]
pub(super) struct LayerProgress {
    pub(super) plan: Plan,
    /// The number of calls made.
    made: u64,
    pub(super) calls: Vec<Operation>,
    pub(super) injected: VecDeque<Injected>,
}

/// The streams of draws for the turns before and after a call. The rules' own streams are numbered from 0.
const TURNS_BEFORE: u64 = u64::MAX;
const TURNS_AFTER: u64 = u64::MAX - 1;

const OF_ITEMS: &str = "only calls that name items can have this fault";

impl Layer {
    /// A layer that records all calls and faults.
    pub(crate) fn recording(core: Arc<Core>, faults: &Faults) -> Self {
        Self::new(core, faults, true)
    }

    /// A layer without faults. It records the latest faults of those that replace its plan.
    pub(crate) fn faultless(core: Arc<Core>) -> Self {
        Self::new(core, &Faults::default(), false)
    }

    fn new(core: Arc<Core>, faults: &Faults, records_all: bool) -> Self {
        let (calls, injected) = (Vec::new(), VecDeque::new());
        Self(Arc::new(LayerState {
            core,
            seed: faults.seed,
            turns: faults.turns,
            records_all,
            progress: Mutex::new(LayerProgress { plan: Plan::new(faults), made: 0, calls, injected }),
            crashed: watch::Sender::new(false),
        }))
    }
}

impl HttpConnector for Layer {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let shared = Arc::clone(&self.0);
        HttpConnectorFuture::new(async move { shared.handle(&request).await })
    }
}

impl LayerState {
    pub(super) fn progress(&self) -> MutexGuard<'_, LayerProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn handle(&self, request: &HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target");
        let Some(operation) = target.and_then(Operation::from_target) else {
            return respond(Err(ApiError::unknown_operation()));
        };
        // The bodies of DynamoDB's requests are never streams.
        let body = request.body().bytes().unwrap_or_default();
        let number = self.count(operation);
        self.yield_turns(TURNS_BEFORE, number).await;
        // The other calls of a crashed process never return either.
        if *self.crashed.borrow() {
            return pending().await;
        }
        let answer = self.run(operation, body, number).await;
        self.yield_turns(TURNS_AFTER, number).await;
        if *self.crashed.borrow() {
            return pending().await;
        }
        answer.map_or_else(|| Err(ConnectorError::timeout("the connection timed out".into())), respond)
    }

    fn count(&self, operation: Operation) -> u64 {
        let mut progress = self.progress();
        if self.records_all {
            progress.calls.push(operation);
        }
        progress.made += 1;
        progress.made
    }

    /// Lets other tasks run, for a number of turns drawn from the seed.
    async fn yield_turns(&self, stream: u64, number: u64) {
        turns::give_way(seed::up_to(u64::from(self.turns), self.seed, stream, number)).await;
    }

    /// Runs one call, as far as its fault lets it. `None`: the response is lost.
    async fn run(&self, operation: Operation, body: &[u8], number: u64) -> Option<Result<String, ApiError>> {
        let now = self.core.clock.now();
        if self.progress().plan.is_over(now) {
            return Some(dispatch::answer(&self.core, operation, body));
        }
        let call = match Call::parse(operation, body).transpose() {
            Ok(call) => call,
            Err(error) => return Some(Err(error)),
        };
        let touches = self.touches(call.as_ref());
        let decided = self.progress().plan.decide(operation, &touches, now);
        let go = |call: Option<Call>| match call {
            Some(call) => dispatch::run(&self.core, call),
            None => dispatch::answer(&self.core, operation, body),
        };
        let Some(Rule { target, fault, .. }) = decided else { return Some(go(call)) };
        let partition =
            touches.iter().find(|touch| target.covers(touch)).map(|touch| touch.partition.clone());
        self.record(Injected { call: number, operation, fault: fault.clone(), at: now, partition });
        Some(match fault {
            Fault::InternalServerError => Err(ApiError::internal()),
            Fault::ServiceUnavailable => Err(ApiError::unavailable()),
            Fault::TransactionInProgress => Err(ApiError::exception(
                "TransactionInProgressException",
                "The transaction with the given request token is already in progress.",
            )),
            Fault::Throttle(throttle) => Err(throttled(operation, &throttle, &touches, &target)),
            Fault::TransactionConflict => Err(refused(operation, CONFLICT, &touches, &target)),
            Fault::ConditionFailed => Err(refused(operation, CONDITION, &touches, &target)),
            Fault::HalfVisible { share, longest } => {
                self.run_half_visible(call.expect(OF_ITEMS), &target, share, longest, number).await
            }
            Fault::Unprocessed(share) => {
                let answer = self.run_part(call.expect(OF_ITEMS), &target, share, number);
                let none_remains = || throttled(operation, &Throttle::TableKeyRange, &touches, &target);
                answer.unwrap_or_else(|| Err(none_remains()))
            }
            Fault::Timeout(moment) | Fault::Crash(moment) => {
                if moment == Moment::After {
                    drop(go(call));
                }
                if matches!(fault, Fault::Crash(_)) {
                    self.crashed.send_replace(true);
                }
                return None;
            }
        })
    }

    fn record(&self, fault: Injected) {
        let injected = &mut self.progress().injected;
        if !self.records_all && injected.len() == limits::INJECTED_KEPT {
            injected.pop_front();
        }
        injected.push_back(fault);
    }

    /// The partitions that a call touches: those of the items that it names, in the call's order, or the one it
    /// queries.
    fn touches(&self, call: Option<&Call>) -> Vec<TouchedPartition> {
        let Some(call) = call else { return Vec::new() };
        if let ItemRequest::Query(query) = &call.request {
            let table = self.core.table(&query.table_name).ok().flatten();
            let partition = table.and_then(|table| table.queried_partition(query));
            // Without the letter of its type.
            let partition = partition.map(|text| text.chars().skip(1).collect()).unwrap_or_default();
            return vec![TouchedPartition { table: query.table_name.clone(), partition }];
        }
        call.touched().into_iter().map(|touched| self.touch(touched.table, touched.item)).collect()
    }

    /// The partition of an item: its partition key if that is a string, otherwise an empty string.
    fn touch(&self, table: &str, item: &Item) -> TouchedPartition {
        let described = self.core.table(table).ok().flatten();
        let partition = match described.and_then(|described| item.get(&described.key.partition)) {
            Some(AttributeValue::S(text)) => text.clone(),
            _ => String::new(),
        };
        TouchedPartition { table: table.to_owned(), partition }
    }

    /// The stream of draws of an item: a hash of its table and key.
    fn draws_of(&self, table: &str, item: &Item) -> u64 {
        let described = self.core.table(table).ok().flatten();
        let id = described.and_then(|described| ItemId::of(&described, item));
        seed::hash(&format!("{table} {id:?}"))
    }

    /// Runs a transaction and shows its changes one by one.
    async fn run_half_visible(
        &self,
        mut call: Call,
        target: &Target,
        share: f64,
        longest: Duration,
        number: u64,
    ) -> Result<String, ApiError> {
        let (mut positions, mut held_back) = (Vec::new(), Vec::new());
        for (position, touched) in call.touched().into_iter().enumerate() {
            let draws = self.draws_of(touched.table, touched.item);
            let drawn = seed::fraction(self.seed, draws, number) < share;
            if drawn && target.covers(&self.touch(touched.table, touched.item)) {
                let time = seed::up_to(micros(longest), self.seed, !draws, number);
                held_back.push((Duration::from_micros(time), touched.table.to_owned(), touched.item.clone()));
                positions.push(position);
            }
        }
        call.held_back = positions;
        let answer = dispatch::run(&self.core, call)?;
        held_back.sort_by_key(|(time, ..)| *time);
        let core = Arc::clone(&self.core);
        let begun = Instant::now();
        // A task of its own shows the changes, so they are shown even if the process that sent the transaction dies.
        let shown = tokio::spawn(async move {
            for (time, table, item) in held_back {
                tokio::time::sleep_until(begun + time).await;
                core.show(&[Touched { table: &table, item: &item }])?;
            }
            Ok(answer)
        });
        shown.await.unwrap_or_else(|_| Err(ApiError::internal()))
    }

    /// Runs a batch without the items that its fault holds back. `None` if no item remains.
    fn run_part(
        &self,
        mut call: Call,
        target: &Target,
        share: f64,
        number: u64,
    ) -> Option<Result<String, ApiError>> {
        let unprocessed = call.hold_back(|table, item| {
            // The draw depends on the item's key, since the order of the tables in a request has no meaning.
            let drawn = seed::fraction(self.seed, self.draws_of(table, item), number) < share;
            drawn && target.covers(&self.touch(table, item))
        });
        (!call.touched().is_empty()).then(|| {
            let answer = dispatch::run(&self.core, call)?;
            Ok(unprocessed.add_to(answer))
        })
    }
}
