//! The stage of a scenario: it prints a line for each step. A failed step ends its act, since later steps depend on it.

use std::future::Future;
use std::io::Write;

use crate::client::scenario::call::StepFailure;

/// Why an act ended early.
#[derive(Debug, thiserror::Error)]
pub(super) enum ActEnded {
    /// A step failed, and its failure was printed.
    #[error("a step failed")]
    Failed,
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The end of an act.
pub(super) type ActResult = Result<(), ActEnded>;

/// Prints and counts the steps.
pub(super) struct Stage<'a> {
    out: &'a mut (dyn Write + Send),
    pub(super) steps: usize,
    pub(super) failed: usize,
}

impl<'a> Stage<'a> {
    pub(super) fn new(out: &'a mut (dyn Write + Send)) -> Self {
        Self { out, steps: 0, failed: 0 }
    }

    /// Runs a step and prints its result. A step that succeeds gives its value.
    pub(super) async fn step<T>(
        &mut self,
        what: &str,
        step: impl Future<Output = Result<T, StepFailure>>,
    ) -> Result<T, ActEnded> {
        self.steps += 1;
        match step.await {
            Ok(found) => {
                self.tell(format_args!("ok   {what}"))?;
                Ok(found)
            }
            Err(failure) => {
                self.failed += 1;
                self.tell(format_args!("FAIL {what}: {failure}"))?;
                Err(ActEnded::Failed)
            }
        }
    }

    /// Prints a line and flushes the output.
    pub(super) fn tell(&mut self, line: impl std::fmt::Display) -> std::io::Result<()> {
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }
}

/// Ignores the end of an act by a failed step: the step was printed and counted, and the next act may go on.
pub(super) fn go_on(act: ActResult) -> std::io::Result<()> {
    match act {
        Ok(()) | Err(ActEnded::Failed) => Ok(()),
        Err(ActEnded::Io(error)) => Err(error),
    }
}
