//! The rules that decide the faults of a client, as data.

use std::time::Duration;

use crate::operation::Operation;

/// The rules of a client. The first rule that fires on a call decides the call's fault.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    pub(crate) seed: u64,
    pub(crate) rules: Vec<Rule>,
    pub(crate) turns: u8,
}

/// A rule: the calls, the occasions and the fault.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The calls that the rule matches.
    pub target: Target,
    /// The matching calls on which the rule fires.
    pub when: When,
    /// The fault that the rule injects.
    pub fault: Fault,
    /// The time at which the rule ends, by the engine's clock. `None`: the rule never ends.
    pub until: Option<Duration>,
}

/// A set of calls, chosen by operation and partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    pub(super) calls: Calls,
    pub(super) partition: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Calls {
    #[default]
    Any,
    Reads,
    Writes,
    Operation(Operation),
}

/// The calls on which a rule fires. Each rule counts the calls that it matches, from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// Every call.
    Always,
    /// The call with this number.
    Nth(u64),
    /// This many calls, from the first.
    First(u64),
    /// Each call with this probability, drawn from the seed.
    Chance(f64),
}

/// The moment of a fault: before or after DynamoDB carries out the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The call has no effect.
    Before,
    /// The call has its effect, and the response is lost.
    After,
}

/// A failure of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// The call is throttled, with the error and the reason of the exceeded limit.
    Throttle(Throttle),
    /// 500 `InternalServerError`. The call has no effect.
    InternalServerError,
    /// 503 `ServiceUnavailable`. The call has no effect.
    ServiceUnavailable,
    /// The connection times out.
    Timeout(Moment),
    /// The process dies: neither this call nor any later call of the same client returns.
    Crash(Moment),
    /// A batch leaves items unprocessed, each item in the target's partitions with this probability. If no item remains
    /// to process, the batch is throttled.
    Unprocessed(f64),
    /// A transaction shows the changes of its items at different times. Each item in the target's partitions is held
    /// back with the probability `share`, for a time up to `longest`, by tokio's clock.
    ///
    /// Until that time every read except `TransactGetItems`, also a consistent read, returns the item as it was before
    /// the transaction, and the stream has no record of the change. A write to the item, or a `TransactGetItems` of it,
    /// first shows the change. The transaction's response is sent when all changes are shown; they are shown even if
    /// the sender no longer waits. Changes that are held back exist in memory only.
    HalfVisible {
        /// The probability that an item is held back, from 0.0 to 1.0.
        share: f64,
        /// The longest time for which an item is held back.
        longest: Duration,
    },
    /// Another transaction is under way on the item: `TransactionConflictException` for single writes, a cancelled
    /// transaction for transactions.
    TransactionConflict,
    /// The same transaction is under way: `TransactionInProgressException`.
    TransactionInProgress,
    /// The condition fails: `ConditionalCheckFailedException`, or a cancelled transaction.
    ConditionFailed,
}

/// The limit that a throttled call has exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Throttle {
    /// One partition of the table: `Table…KeyRangeThroughputExceeded`.
    TableKeyRange,
    /// One partition of the index of that name: `Index…KeyRangeThroughputExceeded`.
    IndexKeyRange(String),
    /// The table's configured maximum: `Table…MaxOnDemandThroughputExceeded`.
    OnDemandMaximum,
    /// The account's quota: `RequestLimitExceeded` with `Table…AccountLimitExceeded`.
    Account,
    /// A provisioned table's capacity: `ProvisionedThroughputExceededException`.
    Provisioned,
}

impl Faults {
    /// No rules. Rules with a chance, once added, draw from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Adds a rule.
    pub fn rule(mut self, target: Target, when: When, fault: Fault) -> Self {
        self.rules.push(Rule { target, when, fault, until: None });
        self
    }

    /// Adds a rule that ends at a time of the engine's clock.
    pub fn rule_until(mut self, until: Duration, target: Target, when: When, fault: Fault) -> Self {
        self.rules.push(Rule { target, when, fault, until: Some(until) });
        self
    }

    /// Adds a rule that injects the fault into the `n`-th call of the target, counted from 1.
    pub fn nth(self, n: u64, target: Target, fault: Fault) -> Self {
        self.rule(target, When::Nth(n), fault)
    }

    /// Adds a rule that injects the fault into each call of the target with this probability.
    pub fn sometimes(self, chance: f64, target: Target, fault: Fault) -> Self {
        self.rule(target, When::Chance(chance), fault)
    }

    /// Lets other tasks run before and after each call, for up to `turns` of the scheduler's turns, drawn from the
    /// seed. On a single-threaded runtime the seed then decides how tasks interleave.
    pub fn interleaved(mut self, turns: u8) -> Self {
        self.turns = turns;
        self
    }
}

impl Target {
    /// Every call.
    pub fn any() -> Self {
        Self::default()
    }

    /// Every call that reads items.
    pub fn reads() -> Self {
        Self::calls(Calls::Reads)
    }

    /// Every call that writes items.
    pub fn writes() -> Self {
        Self::calls(Calls::Writes)
    }

    /// Every call of an operation.
    pub fn operation(operation: Operation) -> Self {
        Self::calls(Calls::Operation(operation))
    }

    /// Restricts the target to calls that touch a partition whose key is a string with this prefix.
    pub fn partition(mut self, prefix: &str) -> Self {
        self.partition = Some(prefix.to_owned());
        self
    }

    fn calls(calls: Calls) -> Self {
        Self { calls, partition: None }
    }
}
