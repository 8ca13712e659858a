//! The progress of a post: its counts, on a line that is redrawn on a terminal, or else printed anew every few seconds, and
//! the lines that are left.

use std::io::{self, Write};

use tokio::time::Instant;

use crate::client::post::batch::LineBatch;
use crate::client::status_line::StatusLine;
use crate::counted::counted;

/// The counts so far, and the line that shows them.
#[derive(Debug)]
pub(super) struct Progress {
    begun: Instant,
    pub(super) events: u64,
    requests: u64,
    /// The events that an earlier run has written.
    replayed: u64,
    /// The first line that is not known to be accepted.
    next: u64,
    /// The last line of the batch that begins there, if a pause has ended it. To be the same batch again, it needs that
    /// line.
    cut: Option<u64>,
    line: StatusLine,
    quiet: bool,
}

impl Progress {
    /// The progress of a post that begins at this line.
    pub(super) fn begun(now: Instant, quiet: bool, next: u64) -> Self {
        let line = StatusLine::begun(now);
        Self { begun: now, events: 0, requests: 0, replayed: 0, next, cut: None, line, quiet }
    }

    /// Notes a batch that is sent.
    pub(super) fn begin(&mut self, batch: &LineBatch) {
        let (first, last) = batch.span();
        (self.next, self.cut) = (first, batch.is_cut.then_some(last));
    }

    /// Counts the events of an accepted batch, which an earlier run has written if they are `replayed`. Prints the progress
    /// if an update is due.
    pub(super) fn add(
        &mut self,
        batch: &LineBatch,
        replayed: bool,
        now: Instant,
        stderr: &mut dyn Write,
    ) -> io::Result<()> {
        let events = u64::try_from(batch.numbers.len()).expect("some hundreds");
        (self.next, self.cut) = (batch.span().1 + 1, None);
        self.events += events;
        self.requests += 1;
        self.replayed += if replayed { events } else { 0 };
        if self.quiet {
            return Ok(());
        }
        let text = self.text(now);
        self.line.show(now, stderr, || text)
    }

    /// Prints the total counts, also after a failure.
    pub(super) fn end(&mut self, now: Instant, stderr: &mut dyn Write) -> io::Result<()> {
        self.line.clear(stderr)?;
        if self.quiet { Ok(()) } else { writeln!(stderr, "{}", self.text(now)) }
    }

    /// The options of the commands that post the lines which are not known to be accepted, up to the run's last line.
    pub(super) fn continuation(&self, key: &str, to_line: Option<u64>) -> String {
        let key = key.replace('\'', r"'\''");
        let options = |from: u64, to: Option<u64>| match to {
            Some(to) => format!("--from-line {from} --to-line {to} --idempotency-key '{key}'"),
            None => format!("--from-line {from} --idempotency-key '{key}'"),
        };
        match self.cut {
            Some(last) if to_line.is_none_or(|to| last < to) => {
                format!("{}, then with {}", options(self.next, Some(last)), options(last + 1, to_line))
            }
            _ => options(self.next, to_line),
        }
    }

    fn text(&self, now: Instant) -> String {
        let time = now - self.begun;
        let rate = u128::from(self.events) * 1_000 / time.as_millis().max(1);
        let (events, requests) = (counted(self.events, "event"), counted(self.requests, "request"));
        let replayed = match self.replayed {
            0 => String::new(),
            replayed => format!("; an earlier run wrote {replayed} of them"),
        };
        format!("{events} in {requests}, {:.1} s, {rate} a second{replayed}", time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::status_line::REDRAW;

    fn batch(lines: u64) -> LineBatch {
        LineBatch { numbers: (1..=lines).collect(), ..LineBatch::default() }
    }

    #[test]
    fn progress_is_printed_every_few_seconds_and_never_with_quiet() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let printed = |quiet| {
            let mut progress = Progress::begun(begun, quiet, 1);
            (progress.line.terminal, progress.line.due) = (false, at(5));
            let mut stderr = Vec::new();
            for seconds in 1..=7 {
                progress.add(&batch(500), false, at(seconds), &mut stderr).expect("memory takes it");
            }
            progress.end(at(8), &mut stderr).expect("memory takes it");
            String::from_utf8(stderr).expect("text")
        };
        let lines = "2500 events in 5 requests, 5.0 s, 500 a second\n3500 events in 7 requests, 8.0 s, 437 a second\n";
        assert_eq!((printed(false).as_str(), printed(true).as_str()), (lines, ""));
    }

    #[test]
    fn on_a_terminal_the_line_is_redrawn() {
        let begun = Instant::now();
        let mut progress = Progress::begun(begun, false, 1);
        (progress.line.terminal, progress.line.due) = (true, begun);
        let mut stderr = Vec::new();
        progress.add(&batch(1), false, begun, &mut stderr).expect("memory takes it");
        progress.end(begun, &mut stderr).expect("memory takes it");
        let line = "1 event in 1 request, 0.0 s, 1000 a second";
        assert_eq!(String::from_utf8(stderr).expect("text"), format!("{REDRAW}{line}{REDRAW}{line}\n"));
    }

    #[test]
    fn a_continuation_names_the_lines_that_are_not_accepted_and_repeats_a_batch_that_a_pause_has_ended() {
        let continuation = |next, cut, to_line| {
            let mut progress = Progress::begun(Instant::now(), true, next);
            progress.cut = cut;
            progress.continuation("k", to_line).replace(" --idempotency-key 'k'", "")
        };
        assert_eq!(continuation(501, None, None), "--from-line 501");
        assert_eq!(continuation(501, None, Some(1_200)), "--from-line 501 --to-line 1200");
        let cut = "--from-line 501 --to-line 510";
        assert_eq!(continuation(501, Some(510), None), format!("{cut}, then with --from-line 511"));
        assert_eq!(
            continuation(501, Some(510), Some(600)),
            format!("{cut}, then with --from-line 511 --to-line 600")
        );
        assert_eq!(continuation(501, Some(510), Some(510)), cut);
        let progress = Progress::begun(Instant::now(), true, 1);
        assert_eq!(progress.continuation("it's", None), r"--from-line 1 --idempotency-key 'it'\''s'");
    }
}
