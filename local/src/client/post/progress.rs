//! The progress of a post: one line that is redrawn on a terminal, or else a new line every few seconds.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::counted::counted;

/// The time between two updates: on a terminal, and elsewhere.
const EVERY: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(5)];

/// Moves the cursor to the start of the line and clears the line.
const REDRAW: &str = "\r\u{1b}[K";

/// The counts so far, and the time of the next update.
#[derive(Debug)]
pub(super) struct Progress {
    begun: Instant,
    due: Instant,
    events: u64,
    requests: u64,
    /// The events that an earlier run has written.
    replayed: u64,
    terminal: bool,
    quiet: bool,
    drawn: bool,
}

impl Progress {
    pub(super) fn begun(now: Instant, quiet: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        Self {
            begun: now,
            due: now + every(terminal),
            events: 0,
            requests: 0,
            replayed: 0,
            terminal,
            quiet,
            drawn: false,
        }
    }

    /// Counts a request's events, and prints the progress if an update is due.
    pub(super) fn add(&mut self, events: u64, now: Instant, told: &mut dyn Write) -> io::Result<()> {
        self.events += events;
        self.requests += 1;
        if self.quiet || now < self.due {
            return Ok(());
        }
        self.due = now + every(self.terminal);
        if !self.terminal {
            return writeln!(told, "{}", self.line(now));
        }
        self.drawn = true;
        write!(told, "{REDRAW}{}", self.line(now))?;
        told.flush()
    }

    /// Counts events that an earlier run has written.
    pub(super) fn add_replayed(&mut self, events: u64) {
        self.replayed += events;
    }

    /// Prints the total counts, also after a failure.
    pub(super) fn end(&mut self, now: Instant, told: &mut dyn Write) -> io::Result<()> {
        if self.drawn {
            write!(told, "{REDRAW}")?;
        }
        if self.quiet { Ok(()) } else { writeln!(told, "{}", self.line(now)) }
    }

    fn line(&self, now: Instant) -> String {
        let millis = now.duration_since(self.begun).as_millis();
        let rate = u128::from(self.events) * 1_000 / millis.max(1);
        let (events, requests) = (counted(self.events, "event"), counted(self.requests, "request"));
        let replayed = match self.replayed {
            0 => String::new(),
            replayed => format!("; an earlier run wrote {replayed} of them"),
        };
        let (seconds, tenths) = (millis / 1_000, millis / 100 % 10);
        format!("{events} in {requests}, {seconds}.{tenths} s, {rate} a second{replayed}")
    }
}

fn every(terminal: bool) -> Duration {
    let [drawn, line] = EVERY;
    if terminal { drawn } else { line }
}

#[cfg(test)]
mod tests {
    use lately_kit::clock;

    use super::*;

    #[test]
    fn progress_is_printed_every_few_seconds_and_never_with_quiet() {
        let begun = clock::monotonic_now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let told = |quiet| {
            let mut progress = Progress { terminal: false, ..Progress::begun(begun, quiet) };
            progress.due = at(5);
            let mut told = Vec::new();
            for seconds in 1..=7 {
                progress.add(500, at(seconds), &mut told).expect("memory takes it");
            }
            progress.end(at(8), &mut told).expect("memory takes it");
            String::from_utf8(told).expect("text")
        };
        let lines = "2500 events in 5 requests, 5.0 s, 500 a second\n3500 events in 7 requests, 8.0 s, 437 a second\n";
        assert_eq!((told(false).as_str(), told(true).as_str()), (lines, ""));
    }

    #[test]
    fn on_a_terminal_the_line_is_redrawn() {
        let begun = clock::monotonic_now();
        let mut progress = Progress { terminal: true, due: begun, ..Progress::begun(begun, false) };
        let mut told = Vec::new();
        progress.add(1, begun, &mut told).expect("memory takes it");
        progress.end(begun, &mut told).expect("memory takes it");
        let line = "1 event in 1 request, 0.0 s, 1000 a second";
        assert_eq!(String::from_utf8(told).expect("text"), format!("{REDRAW}{line}{REDRAW}{line}\n"));
    }
}
