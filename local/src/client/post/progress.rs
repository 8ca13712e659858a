//! The progress of a post: its counts, on a line that is redrawn on a terminal, or else printed anew every few seconds, and
//! the lines that are left.

use std::io::{self, Write};

use tokio::time::Instant;

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
    /// The first and the last line of each batch that was sent, and is not known to be accepted.
    pub(super) open: Vec<(u64, u64)>,
    /// True if a pause has ended one of these. To be the same batch again, it needs its own last line.
    pub(super) is_cut: bool,
    /// The first line that was not sent.
    pub(super) rest: u64,
    line: StatusLine,
    quiet: bool,
}

impl Progress {
    /// The progress of a post that begins at this line.
    pub(super) fn begun(now: Instant, quiet: bool, rest: u64) -> Self {
        let (line, open) = (StatusLine::begun(now), Vec::new());
        Self { begun: now, events: 0, requests: 0, replayed: 0, open, is_cut: false, rest, line, quiet }
    }

    /// Counts a request's events, which an earlier run has written if they are `replayed`. Prints the progress if an update
    /// is due.
    pub(super) fn add(
        &mut self,
        events: u64,
        replayed: bool,
        now: Instant,
        stderr: &mut dyn Write,
    ) -> io::Result<()> {
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

    /// The options of the commands that post the lines which are not known to be accepted: the open batches, and all lines
    /// that were not sent, up to the run's last line.
    pub(super) fn continuation(&self, key: &str, to_line: Option<u64>) -> String {
        let (open, rest, key) = (&*self.open, self.rest, key.replace('\'', r"'\''"));
        // Several batches may have been under way: a batch after the first open one is accepted unless it is open too.
        let next = open.iter().skip(1).map(|(first, _)| *first).chain([rest]);
        let is_all_open = open.iter().zip(next).all(|((_, last), next)| last + 1 == next);
        let (open, rest) = match open {
            [(first, _), ..] if is_all_open && !self.is_cut => (&[][..], *first),
            _ => (open, rest),
        };
        let rest = (rest, to_line.unwrap_or(u64::MAX));
        let has_rest = rest.0 <= rest.1 || open.is_empty();
        let spans = open.iter().copied().chain(has_rest.then_some(rest));
        let options = spans.map(|(from, to)| match to {
            u64::MAX => format!("--from-line {from} --idempotency-key '{key}'"),
            to => format!("--from-line {from} --to-line {to} --idempotency-key '{key}'"),
        });
        options.collect::<Vec<_>>().join(", then with ")
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

    #[test]
    fn progress_is_printed_every_few_seconds_and_never_with_quiet() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let printed = |quiet| {
            let mut progress = Progress::begun(begun, quiet, 1);
            (progress.line.terminal, progress.line.due) = (false, at(5));
            let mut stderr = Vec::new();
            for seconds in 1..=7 {
                progress.add(500, false, at(seconds), &mut stderr).expect("memory takes it");
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
        progress.add(1, false, begun, &mut stderr).expect("memory takes it");
        progress.end(begun, &mut stderr).expect("memory takes it");
        let line = "1 event in 1 request, 0.0 s, 1000 a second";
        assert_eq!(String::from_utf8(stderr).expect("text"), format!("{REDRAW}{line}{REDRAW}{line}\n"));
    }

    #[test]
    fn a_continuation_names_the_lines_to_send_again_and_no_accepted_ones() {
        let continuation = |open: &[(u64, u64)], rest, key| {
            let mut progress = Progress::begun(Instant::now(), true, rest);
            progress.open = open.to_vec();
            progress.continuation(key, None)
        };
        let options = |open: &[(u64, u64)], rest| {
            let options = continuation(open, rest, "k");
            options.strip_suffix(" --idempotency-key 'k'").expect("the key").to_owned()
        };
        assert_eq!(options(&[(501, 1_000)], 1_001), "--from-line 501");
        assert_eq!(options(&[], 501), "--from-line 501");
        assert_eq!(continuation(&[], 1, "it's"), r"--from-line 1 --idempotency-key 'it'\''s'");
        assert_eq!(options(&[(501, 1_000), (1_001, 1_500)], 1_501), "--from-line 501");
        assert_eq!(
            options(&[(501, 1_000), (1_501, 2_000)], 2_501),
            "--from-line 501 --to-line 1000 --idempotency-key 'k', \
             then with --from-line 1501 --to-line 2000 --idempotency-key 'k', then with --from-line 2501"
        );
    }

    #[test]
    fn a_continuation_ends_where_the_run_did_and_repeats_a_batch_that_a_pause_has_ended_alone() {
        let continuation = |open, rest, is_cut, to_line| {
            let mut progress = Progress::begun(Instant::now(), true, rest);
            (progress.open, progress.is_cut) = (vec![open], is_cut);
            progress.continuation("k", to_line).replace(" --idempotency-key 'k'", "")
        };
        assert_eq!(continuation((501, 1_000), 1_001, false, Some(1_200)), "--from-line 501 --to-line 1200");
        assert_eq!(
            continuation((501, 510), 511, true, None),
            "--from-line 501 --to-line 510, then with --from-line 511"
        );
        assert_eq!(continuation((501, 510), 511, true, Some(510)), "--from-line 501 --to-line 510");
    }
}
