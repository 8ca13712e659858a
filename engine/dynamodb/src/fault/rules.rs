//! The rules that decide the faults of a client, as data.

use std::time::Duration;

use crate::operation::Operation;

/// The rules of a client. The first rule that fires on a call decides its fault.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    pub(crate) seed: u64,
    pub(crate) rules: Vec<Rule>,
    pub(crate) turns: u8,
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The calls that the rule matches.
    pub target: Target,
    /// The matching calls on which the rule fires.
    pub when: When,
    /// The fault.
    pub fault: Fault,
    /// The time at which the rule ends, by the engine's clock. `None`: it never ends.
    pub until: Option<Duration>,
}

/// Calls, by what they do and where.
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
    /// All of them.
    Always,
    /// That one.
    Nth(u64),
    /// The first so many.
    First(u64),
    /// Each with this probability, from the seed.
    Chance(f64),
}

/// Before or after DynamoDB did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing was done.
    Before,
    /// All of it was done, and the answer is lost.
    After,
}

/// Something that goes wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// `ThrottlingException` with the reason, or what that limit raises.
    Throttle(Throttle),
    /// 500 `InternalServerError`. Nothing was done.
    InternalServerError,
    /// 503 `ServiceUnavailable`. Nothing was done.
    ServiceUnavailable,
    /// The connection times out.
    Timeout(Moment),
    /// The process dies: this call never returns, nor does any later one of the same client.
    Crash(Moment),
    /// A batch leaves items unprocessed, each with this probability (of those in the target's
    /// partitions, if it names any). If that is all of them, the batch is throttled.
    Unprocessed(f64),
    /// A transaction shows one item's change before another's: each of its items (of those in the target's
    /// partitions, if it names any) is held back with the probability `share`, for a time up to `longest`.
    ///
    /// Until then every read but `TransactGetItems` shows the item as it was, also a consistent one, and the stream
    /// has no record of the change. A write to the item, and a `TransactGetItems` of it, find the change made. The
    /// transaction is answered once all is shown, and all is shown in time whether or not its sender still waits: time
    /// is tokio's. What is held back is kept in memory only.
    HalfVisible {
        /// How likely each item is held back, from 0.0 to 1.0.
        share: f64,
        /// The longest that one is.
        longest: Duration,
    },
    /// A transaction is under way on the item: `TransactionConflictException` for single writes, a
    /// cancelled transaction for transactions.
    TransactionConflict,
    /// The same transaction is under way: `TransactionInProgressException`.
    TransactionInProgress,
    /// The condition fails: `ConditionalCheckFailedException`, or a cancelled transaction.
    ConditionFailed,
}

/// The limit that a throttled call exceeded.
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
    /// Nothing goes wrong until rules are added; those with a chance draw from `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Adds a rule.
    #[must_use]
    pub fn rule(mut self, target: Target, when: When, fault: Fault) -> Self {
        self.rules.push(Rule { target, when, fault, until: None });
        self
    }

    /// Adds a rule that ends at a time of the engine's clock.
    #[must_use]
    pub fn rule_until(mut self, until: Duration, target: Target, when: When, fault: Fault) -> Self {
        self.rules.push(Rule { target, when, fault, until: Some(until) });
        self
    }

    /// The `n`-th call of the target, counted from 1, goes wrong.
    #[must_use]
    pub fn nth(self, n: u64, target: Target, fault: Fault) -> Self {
        self.rule(target, When::Nth(n), fault)
    }

    /// Each call of the target goes wrong with this probability.
    #[must_use]
    pub fn sometimes(self, chance: f64, target: Target, fault: Fault) -> Self {
        self.rule(target, When::Chance(chance), fault)
    }

    /// Lets other tasks run before and after each call, up to so many of the scheduler's turns, from the
    /// seed: on a single-threaded runtime, the seed then decides how tasks interleave.
    #[must_use]
    pub fn interleaved(mut self, turns: u8) -> Self {
        self.turns = turns;
        self
    }
}

impl Target {
    /// Every call.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Every call that reads items.
    #[must_use]
    pub fn reads() -> Self {
        Self::calls(Calls::Reads)
    }

    /// Every call that writes items.
    #[must_use]
    pub fn writes() -> Self {
        Self::calls(Calls::Writes)
    }

    /// Every call of an operation.
    #[must_use]
    pub fn operation(operation: Operation) -> Self {
        Self::calls(Calls::Operation(operation))
    }

    /// The same calls, as far as they touch a partition whose key (a string) begins like this.
    #[must_use]
    pub fn partition(mut self, prefix: &str) -> Self {
        self.partition = Some(prefix.to_owned());
        self
    }

    fn calls(calls: Calls) -> Self {
        Self { calls, partition: None }
    }
}
