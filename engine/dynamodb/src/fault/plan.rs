//! Decides the fault of each call: a pure function of the rules and the calls so far.

use std::time::Duration;

use crate::fault::rules::{Calls, Fault, Faults, Rule, Target, When};
use crate::operation::Operation;
use crate::seed;

/// One item or partition that a call touches.
#[derive(Debug)]
pub(super) struct TouchedPartition {
    pub(super) table: String,
    /// The partition's key. A key that is no string is empty.
    pub(super) partition: String,
}

/// The rules, each with the number of calls that it has matched.
#[derive(Debug)]
pub(super) struct Plan {
    seed: u64,
    rules: Vec<(Rule, u64)>,
}

impl Plan {
    pub(super) fn new(faults: &Faults) -> Self {
        Self { seed: faults.seed, rules: faults.rules.iter().map(|rule| (rule.clone(), 0)).collect() }
    }

    /// True once every rule has ended.
    pub(super) fn is_over(&self, now: Duration) -> bool {
        self.rules.iter().all(|(rule, _)| rule.is_over(now))
    }

    /// The rule that fires on the next call, if any. Every rule that matches counts the call, also if another one
    /// fires.
    pub(super) fn decide(
        &mut self,
        operation: Operation,
        touches: &[TouchedPartition],
        now: Duration,
    ) -> Option<Rule> {
        let seed = self.seed;
        let mut fired = None;
        for (number, (rule, matched)) in self.rules.iter_mut().enumerate() {
            let may_fire = rule.fault.can_happen_to(operation) && rule.target.matches(operation, touches);
            if rule.is_over(now) || !may_fire {
                continue;
            }
            *matched += 1;
            let fires = match rule.when {
                When::Always => true,
                When::Nth(n) => *matched == n,
                When::First(n) => *matched <= n,
                When::Chance(chance) => seed::fraction(seed, number as u64, *matched) < chance,
            };
            if fires && fired.is_none() {
                fired = Some(rule.clone());
            }
        }
        fired
    }
}

impl Rule {
    fn is_over(&self, now: Duration) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

impl Target {
    fn matches(&self, operation: Operation, touches: &[TouchedPartition]) -> bool {
        let calls = match self.calls {
            Calls::Any => true,
            Calls::Reads => operation.is_read(),
            Calls::Writes => operation.is_write(),
            Calls::Operation(wanted) => operation == wanted,
        };
        calls && (self.partition.is_none() || touches.iter().any(|touch| self.covers(touch)))
    }

    /// True if the target includes this partition.
    pub(super) fn covers(&self, touch: &TouchedPartition) -> bool {
        let prefix = self.partition.as_deref();
        prefix.is_none_or(|prefix| touch.partition.starts_with(prefix))
    }
}

impl Fault {
    fn can_happen_to(&self, operation: Operation) -> bool {
        match self {
            Self::InternalServerError | Self::ServiceUnavailable | Self::Timeout(_) | Self::Crash(_) => true,
            Self::Throttle(_) => operation.is_read() || operation.is_write(),
            Self::Unprocessed(_) => matches!(operation, Operation::BatchWriteItem | Operation::BatchGetItem),
            Self::TransactionConflict => operation.is_transaction() || operation.is_single_write(),
            Self::TransactionInProgress | Self::HalfVisible { .. } => {
                operation == Operation::TransactWriteItems
            }
            Self::ConditionFailed => {
                operation.is_single_write() || operation == Operation::TransactWriteItems
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fired(faults: &Faults, operations: &[Operation]) -> Vec<usize> {
        let mut plan = Plan::new(faults);
        let decide = |operation: &Operation| {
            let touch = TouchedPartition { table: "lately".to_owned(), partition: "EVENTS#a".to_owned() };
            plan.decide(*operation, &[touch], Duration::ZERO).is_some()
        };
        let fired = operations.iter().map(decide).collect::<Vec<_>>();
        (0..fired.len()).filter(|i| fired[*i]).collect()
    }

    const PUTS: [Operation; 200] = [Operation::PutItem; 200];

    #[test]
    fn a_scripted_fault_fires_on_the_nth_call_of_its_target() {
        let faults =
            Faults::default().nth(2, Target::operation(Operation::GetItem), Fault::InternalServerError);
        let calls = [Operation::PutItem, Operation::GetItem, Operation::PutItem, Operation::GetItem];
        assert_eq!(fired(&faults, &calls), [3]);
    }

    #[test]
    fn a_rule_never_matches_a_call_that_cannot_have_its_fault() {
        let faults = Faults::default().rule(Target::any(), When::Always, Fault::Unprocessed(1.0));
        assert_eq!(fired(&faults, &PUTS), [0usize; 0]);
        assert_eq!(fired(&faults, &[Operation::BatchWriteItem]), [0]);
    }

    #[test]
    fn a_chance_fires_about_as_often_as_its_probability() {
        let faults = Faults::seeded(3).sometimes(0.3, Target::any(), Fault::ServiceUnavailable);
        let hits = fired(&faults, &PUTS).len();
        assert!((40..80).contains(&hits), "{hits} of 200");
    }

    proptest! {
        #[test]
        fn a_later_rule_does_not_change_earlier_rules(seed: u64) {
            let one = Faults::seeded(seed).sometimes(0.2, Target::any(), Fault::InternalServerError);
            let two = one.clone().nth(5, Target::any(), Fault::ServiceUnavailable);
            let before = fired(&one, &PUTS);
            prop_assert!(before.iter().all(|i| fired(&two, &PUTS).contains(i)));
        }
    }
}
