//! A line that says how far a command is: redrawn on a terminal, or else printed anew every few seconds. With it, a command
//! waits for work that the service goes on with after its response.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use lately_client::{Answer, Lately, Operation};
use tokio::time::Instant;

use crate::client::session::Session;
use crate::failure::Result;

/// The time between two updates: elsewhere, and on a terminal.
const EVERY: [Duration; 2] = [Duration::from_secs(5), Duration::from_millis(200)];

/// Moves the cursor to the start of the line and clears the line.
pub(super) const REDRAW: &str = "\r\u{1b}[K";

/// The line, and the time of its next update.
#[derive(Debug)]
pub(super) struct StatusLine {
    pub(super) due: Instant,
    pub(super) terminal: bool,
    drawn: bool,
}

impl StatusLine {
    /// A line on standard error. The first update is due after a while.
    pub(super) fn begun(now: Instant) -> Self {
        let terminal = io::stderr().is_terminal();
        Self { due: now + EVERY[usize::from(terminal)], terminal, drawn: false }
    }

    /// Shows a text if an update is due.
    pub(super) fn show(
        &mut self,
        now: Instant,
        stderr: &mut dyn Write,
        text: impl FnOnce() -> String,
    ) -> io::Result<()> {
        if now < self.due {
            return Ok(());
        }
        self.due = now + EVERY[usize::from(self.terminal)];
        if !self.terminal {
            return writeln!(stderr, "{}", text());
        }
        self.drawn = true;
        write!(stderr, "{REDRAW}{}", text())?;
        stderr.flush()
    }

    /// Removes the line from the terminal.
    pub(super) fn clear(&mut self, stderr: &mut dyn Write) -> io::Result<()> {
        if std::mem::take(&mut self.drawn) { write!(stderr, "{REDRAW}") } else { Ok(()) }
    }
}

/// The time between two looks.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// Sends an operation that begins or reads work of the service. With `wait`, reads the work `again` until it is done: then
/// it has no progress. The wait ends with the command: the work continues without it.
pub(super) async fn ask_for_work<T>(
    session: &mut Session<'_>,
    operation: Operation<T>,
    wait: bool,
    again: impl Fn(&Lately, &T) -> Operation<T>,
    progress: impl Fn(&T) -> Option<String>,
) -> Result<Answer<T>> {
    let mut line = StatusLine::begun(Instant::now());
    let mut answer = session.ask(operation).await?;
    while wait && let Some(progress) = progress(&answer.value) {
        line.show(Instant::now(), session.terminal.stderr, || progress)?;
        tokio::time::sleep(LOOK_PAUSE).await;
        answer = session.ask(again(&session.api, &answer.value)).await?;
    }
    line.clear(session.terminal.stderr)?;
    Ok(answer)
}
