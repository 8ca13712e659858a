//! Passes a request to the part of the engine that answers it: items or tables.

use crate::admission::Admission;
use crate::api_error::ApiError;
use crate::call::Call;
use crate::control;
use crate::core::Core;
use crate::operation::Operation;

/// Answers any request.
pub(crate) fn answer(core: &Core, operation: Operation, body: &[u8]) -> Result<String, ApiError> {
    match Call::parse(operation, body) {
        Some(call) => run(core, call?),
        None => {
            core.show_all(&mut core.ledger())?;
            control::answer(core, operation, body)
        }
    }
}

/// Runs a call that reads or writes items, as far as the partitions admit it.
pub(crate) fn run(core: &Core, call: Call) -> Result<String, ApiError> {
    match &core.partitions {
        Some(partitions) => Admission::new(core, partitions).run(call),
        None => core.run_unlimited(call),
    }
}
