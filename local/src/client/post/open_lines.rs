//! The lines that a stopped post has not posted, and the options of the command that continues.

/// The options of the commands that post the lines which are not known to be accepted: those of the `open` batches, by the
/// first and the last line of each, and all from `rest` on.
pub(super) fn continuation(open: &[(u64, u64)], rest: u64, key: &str) -> String {
    let key = key.replace('\'', r"'\''");
    // Several batches may have been under way: a batch after the first open one is accepted unless it is open too.
    let next = open.iter().skip(1).map(|(first, _)| *first).chain([rest]);
    let is_all_open = open.iter().zip(next).all(|((_, last), next)| last + 1 == next);
    let (open, rest) = match open {
        [(first, _), ..] if is_all_open => (&[][..], *first),
        _ => (open, rest),
    };
    let options =
        |(first, last)| format!("--from-line {first} --to-line {last} --idempotency-key '{key}', then with ");
    let open: String = open.iter().copied().map(options).collect();
    format!("{open}--from-line {rest} --idempotency-key '{key}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_names_the_lines_to_send_again_and_no_accepted_ones() {
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
}
