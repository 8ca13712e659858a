//! The lines that a stopped post has not posted, and the options of the command that continues.

use std::fmt;

/// The lines that are not known to be accepted. The text is the options of the commands that post them.
#[derive(Debug)]
pub(super) struct OpenLines {
    /// The first and the last line of each batch that was sent, and is not known to be accepted.
    pub(super) batches: Vec<(u64, u64)>,
    /// The first line that was not sent.
    pub(super) rest: u64,
    /// The idempotency key of the whole post.
    pub(super) key: String,
}

impl fmt::Display for OpenLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batches, rest, key } = self;
        let key = key.replace('\'', r"'\''");
        // Several batches may have been under way: a batch after the first open one is accepted unless it is open too.
        let is_all_open = batches.windows(2).all(|pair| pair[1].0 == pair[0].1 + 1)
            && batches.last().is_none_or(|(_, last)| last + 1 == *rest);
        if !is_all_open {
            batches.iter().try_for_each(|(first, last)| {
                write!(f, "--from-line {first} --to-line {last} --idempotency-key '{key}', then with ")
            })?;
        }
        let from = batches.first().filter(|_| is_all_open).map_or(*rest, |(first, _)| *first);
        write!(f, "--from-line {from} --idempotency-key '{key}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(batches: &[(u64, u64)], rest: u64) -> String {
        let options = OpenLines { batches: batches.to_vec(), rest, key: "k".to_owned() }.to_string();
        options.strip_suffix(" --idempotency-key 'k'").expect("the key").to_owned()
    }

    #[test]
    fn it_names_the_lines_to_send_again_and_no_accepted_ones() {
        assert_eq!(options(&[(501, 1_000)], 1_001), "--from-line 501");
        assert_eq!(options(&[], 501), "--from-line 501");
        let quoted = OpenLines { batches: Vec::new(), rest: 1, key: "it's".to_owned() };
        assert_eq!(quoted.to_string(), r"--from-line 1 --idempotency-key 'it'\''s'");
        assert_eq!(options(&[(501, 1_000), (1_001, 1_500)], 1_501), "--from-line 501");
        assert_eq!(
            options(&[(501, 1_000), (1_501, 2_000)], 2_501),
            "--from-line 501 --to-line 1000 --idempotency-key 'k', \
             then with --from-line 1501 --to-line 2000 --idempotency-key 'k', then with --from-line 2501"
        );
    }
}
