//! Progress of long work: a line for each finished step, with the number of finished steps and of all steps.
//!
//! Progress is written to the standard error, apart from the figures. On a terminal, one line is redrawn.

use std::io::{IsTerminal, Write, stderr};
use std::sync::{Mutex, PoisonError};

/// The progress of a number of steps. Several threads may report steps.
pub struct Progress(Mutex<Steps>);

struct Steps {
    out: Box<dyn Write + Send>,
    redrawn: bool,
    done: usize,
    all: usize,
}

impl std::fmt::Debug for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Progress")
    }
}

impl Progress {
    /// Progress on the standard error.
    pub fn on_stderr() -> Self {
        Self::to(Box::new(stderr()), stderr().is_terminal())
    }

    /// Progress that is not written anywhere.
    pub fn silent() -> Self {
        Self::to(Box::new(std::io::sink()), false)
    }

    fn to(out: Box<dyn Write + Send>, redrawn: bool) -> Self {
        Self(Mutex::new(Steps { out, redrawn, done: 0, all: 0 }))
    }

    /// Adds a number of steps to do.
    pub fn expect(&self, steps: usize) {
        self.steps(|all| all.all += steps);
    }

    /// Reports that a step is done.
    pub fn done(&self, what: &str) {
        self.steps(|steps| {
            steps.done += 1;
            let Steps { out, redrawn, done, all } = steps;
            let (begin, end) = match (redrawn, done == all) {
                (true, false) => ("\r\x1b[2K", ""),
                (true, true) => ("\r\x1b[2K", "\n"),
                (false, _) => ("", "\n"),
            };
            // A failure to write progress does not matter.
            drop(write!(out, "{begin}{done}/{all} {what}{end}").and_then(|()| out.flush()));
        });
    }

    fn steps(&self, change: impl FnOnce(&mut Steps)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[derive(Clone, Default)]
    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn printed(redrawn: bool) -> String {
        let buffer = SharedBuffer::default();
        let progress = Progress::to(Box::new(buffer.clone()), redrawn);
        progress.expect(2);
        progress.done("one");
        progress.done("two");
        String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn each_finished_step_is_a_line() {
        assert_eq!(printed(false), "1/2 one\n2/2 two\n");
    }

    #[test]
    fn on_a_terminal_the_line_is_redrawn() {
        assert_eq!(printed(true), "\r\x1b[2K1/2 one\r\x1b[2K2/2 two\n");
    }
}
