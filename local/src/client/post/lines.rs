//! The lines of a file or of standard input, in batches as large as a request may be.
//!
//! Reading blocks, so a separate thread reads, with a bounded number of lines ahead. When standard input pauses, the
//! lines read so far are posted. With `--idempotency-key`, a pause does not end a batch: the batches then depend on the
//! lines alone, so a second run makes the same batches.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use lately_model::limits::BODY_BYTES;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

use crate::client::post::LineArguments;
use crate::client::post::batch::{LineBatch, PostedLine};
use crate::failure::{Failure, Result};

/// The number of lines read ahead.
const AHEAD: usize = 64;

/// The pause of standard input after which the lines read so far are posted.
const PAUSE: Duration = Duration::from_secs(1);

/// The lines that are not yet posted.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Receiver<Result<PostedLine>>,
    /// The line that had no room in the last batch, or the error that ended the reading behind it.
    held: Option<Result<PostedLine>>,
    /// True if a pause ends a batch.
    may_pause: bool,
}

impl Lines {
    /// Reads the lines of a file in batches, which depend on the lines alone, and not on pauses, if they are `repeatable`.
    pub(super) fn open(arguments: &LineArguments, path: &Path, repeatable: bool) -> Result<Self> {
        let is_stdin = path == Path::new("-");
        let input = if is_stdin { Ok(Box::new(io::stdin()) as _) } else { open(path) };
        let input =
            input.map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))?;
        let (sender, lines) = channel(AHEAD);
        let (from, to) = (arguments.from_line, arguments.to_line.unwrap_or(u64::MAX));
        std::thread::spawn(move || {
            for line in read(BufReader::new(input), from, to) {
                let is_last = line.is_err();
                if sender.blocking_send(line).is_err() || is_last {
                    break;
                }
            }
        });
        Ok(Self { lines, held: None, may_pause: is_stdin && !repeatable })
    }

    /// The next batch, or the error that ended the reading; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Result<LineBatch>> {
        let mut batch = LineBatch::default();
        loop {
            let is_empty = batch.numbers.is_empty();
            let next = match self.held.take() {
                Some(held) => Some(held),
                None if is_empty || !self.may_pause => self.lines.recv().await,
                None => timeout(PAUSE, self.lines.recv()).await.unwrap_or_else(|_| {
                    batch.is_cut = true;
                    None
                }),
            };
            match next {
                None => return (!is_empty).then_some(Ok(batch)),
                Some(Ok(line)) if batch.has_room_for(&line) => batch.push(line),
                Some(Err(failure)) if is_empty => return Some(Err(failure)),
                // Lines that were read before an error are posted first.
                next => {
                    self.held = next;
                    return Some(Ok(batch));
                }
            }
        }
    }
}

/// Opens a file. A folder is refused here, because it can be opened and not read.
fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { Ok(Box::new(file)) }
}

/// The lines that are not blank.
fn read(mut input: impl BufRead, from: u64, to: u64) -> impl Iterator<Item = Result<PostedLine>> {
    for _ in 1..from {
        if !matches!(input.skip_until(b'\n'), Ok(1..)) {
            break;
        }
    }
    let lines = (from..=to).map_while(move |number| {
        let text = line(&mut input, number).transpose()?;
        Some(text.map(|text| PostedLine { number, text }))
    });
    lines.filter(|line| !line.as_ref().is_ok_and(|line| line.text.is_empty()))
}

/// The next line, without the blanks around it; `None` at the end.
fn line(input: &mut impl BufRead, number: u64) -> Result<Option<Vec<u8>>> {
    let longest = u64::try_from(BODY_BYTES).expect("a few MiB");
    let mut text = Vec::new();
    if input.take(longest).read_until(b'\n', &mut text)? == 0 {
        return Ok(None);
    }
    if text.len() == BODY_BYTES && !text.ends_with(b"\n") {
        return Err(Failure::new(3, format!("line {number} is longer than {} MiB", BODY_BYTES >> 20)));
    }
    Ok(Some(text.trim_ascii().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], from: u64, to: u64) -> Vec<(u64, String)> {
        let lines = read(text, from, to).map(|line| line.expect("it can be read"));
        lines.map(|line| (line.number, String::from_utf8(line.text).expect("text"))).collect()
    }

    #[test]
    fn lines_keep_their_numbers_and_blank_lines_are_skipped() {
        let text = b"a\n\r\n  b \r\n\t\nc";
        let line = |number, text: &str| (number, text.to_owned());
        assert_eq!(lines(text, 1, u64::MAX), [line(1, "a"), line(3, "b"), line(5, "c")]);
        assert_eq!(lines(text, 2, 3), [line(3, "b")]);
        assert_eq!(lines(text, 9, u64::MAX), []);
        assert_eq!(lines(b"", 1, u64::MAX), []);
    }

    #[test]
    fn a_line_larger_than_a_request_is_named() {
        let mut text = b"a\n".to_vec();
        text.resize(BODY_BYTES + 3, b'x');
        let failure = read(&*text, 1, u64::MAX).find_map(Result::err).expect("the line is too large");
        assert_eq!(failure.to_string(), "line 2 is longer than 3 MiB");
    }

    #[tokio::test]
    async fn batches_are_as_large_as_a_request_may_be() {
        let (sender, receiver) = channel(2_000);
        for number in 1..=1_002 {
            let large = if number > 1_000 { BODY_BYTES - 2 } else { 1 };
            sender.send(Ok(PostedLine { number, text: vec![b'x'; large] })).await.expect("there is room");
        }
        sender.send(Err(Failure::new(3, "broken"))).await.expect("there is room");
        let mut lines = Lines { lines: receiver, held: None, may_pause: false };
        for span in [(1, 500), (501, 1_000), (1_001, 1_001), (1_002, 1_002)] {
            let batch = lines.next().await.expect("there is more").expect("it can be read");
            assert_eq!(batch.span(), span);
            assert!(batch.body.len() <= BODY_BYTES);
        }
        assert!(matches!(lines.next().await, Some(Err(_))));
        drop(sender);
        assert!(lines.next().await.is_none());
    }
}
