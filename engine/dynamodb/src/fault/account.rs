//! The record of a client's calls and of the faults injected into them.

use std::collections::VecDeque;
use std::time::Duration;

use crate::fault::rules::Fault;
use crate::limits;
use crate::operation::Operation;

/// A fault that was injected.
#[derive(Debug, Clone, PartialEq)]
pub struct Injected {
    /// The number of the call among the client's calls, counted from 1.
    pub call: u64,
    /// The call's operation.
    pub operation: Operation,
    /// The injected fault.
    pub fault: Fault,
    /// The time of the injection, by the engine's clock.
    pub at: Duration,
    /// The first partition that the call touches and the rule's target covers, if there is any.
    pub partition: Option<String>,
}

/// The calls and faults that a client remembers.
#[derive(Debug)]
pub(super) enum CallAccount {
    /// All calls and faults.
    Whole { calls: Vec<Operation>, injected: Vec<Injected> },
    /// The latest faults.
    Latest(VecDeque<Injected>),
}

impl CallAccount {
    pub(super) fn call(&mut self, operation: Operation) {
        if let Self::Whole { calls, .. } = self {
            calls.push(operation);
        }
    }

    pub(super) fn fault(&mut self, fault: Injected) {
        match self {
            Self::Whole { injected, .. } => injected.push(fault),
            Self::Latest(injected) => {
                if injected.len() == limits::INJECTED_KEPT {
                    injected.pop_front();
                }
                injected.push_back(fault);
            }
        }
    }

    pub(super) fn calls(&self) -> Vec<Operation> {
        match self {
            Self::Whole { calls, .. } => calls.clone(),
            Self::Latest(_) => Vec::new(),
        }
    }

    pub(super) fn injected(&self) -> Vec<Injected> {
        match self {
            Self::Whole { injected, .. } => injected.clone(),
            Self::Latest(injected) => injected.iter().cloned().collect(),
        }
    }
}
