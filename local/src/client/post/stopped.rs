//! The message of a stopped post: the lines that were not posted, and the command that continues.

use std::fmt;

use crate::client::failure::Failure;
use crate::counted::counted;

/// Posting ended early.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) why: Failure,
    /// The number of accepted events.
    pub(super) accepted: u64,
    /// The first and the last line of each batch that is not known to be accepted.
    pub(super) open: Vec<(u64, u64)>,
    /// The first line that was not sent.
    pub(super) rest: u64,
    /// The idempotency key of the whole post.
    pub(super) key: String,
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Self {
        Self::Incomplete { text: stopped.to_string(), code: stopped.why.code() }
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, accepted, open, rest, key } = self;
        let key = key.replace('\'', r"'\''");
        let first = open.first().map_or(*rest, |(first, _)| *first);
        writeln!(f, "{why}")?;
        write!(f, "{} accepted; to continue, run again with ", counted(*accepted, "event"))?;
        // Several batches may have been under way: a batch after the first open one is accepted unless it is open too.
        let is_all_open = open.windows(2).all(|pair| pair[1].0 == pair[0].1 + 1)
            && open.last().is_none_or(|(_, last)| last + 1 == *rest);
        if !is_all_open {
            open.iter().try_for_each(|(first, last)| {
                write!(f, "--from-line {first} --to-line {last} --idempotency-key '{key}', then with ")
            })?;
        }
        let from = if is_all_open { first } else { *rest };
        write!(f, "--from-line {from} --idempotency-key '{key}' (no event is written twice)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(open: &[(u64, u64)], rest: u64) -> String {
        let why = Failure::Input("line 700 is too long".to_owned());
        let stopped = Stopped { why, accepted: 500, open: open.to_vec(), rest, key: "k".to_owned() };
        let message = stopped.to_string();
        let start = "line 700 is too long\n500 events accepted; to continue, run again with ";
        let message = message.strip_prefix(start).expect(&message);
        message.strip_suffix(" --idempotency-key 'k' (no event is written twice)").expect(message).to_owned()
    }

    #[test]
    fn it_names_the_lines_to_send_again_and_no_accepted_ones() {
        assert_eq!(hint(&[(501, 1_000)], 1_001), "--from-line 501");
        assert_eq!(hint(&[], 501), "--from-line 501");
        let why = Failure::Input(String::new());
        let quoted = Stopped { why, accepted: 0, open: Vec::new(), rest: 1, key: "it's".to_owned() };
        assert!(quoted.to_string().contains(r" --idempotency-key 'it'\''s' "), "{quoted}");
        assert_eq!(hint(&[(501, 1_000), (1_001, 1_500)], 1_501), "--from-line 501");
        assert_eq!(
            hint(&[(501, 1_000), (1_501, 2_000)], 2_501),
            "--from-line 501 --to-line 1000 --idempotency-key 'k', \
             then with --from-line 1501 --to-line 2000 --idempotency-key 'k', then with --from-line 2501"
        );
    }
}
