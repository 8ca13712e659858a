//! A batch: the lines that one request posts.

use lately_client::{FieldFault, Problem};
use lately_keys::UnixMillis;
use lately_model::limits::{BATCH_EVENTS, BODY_BYTES};
use lately_model::{AcceptedTimes, BatchError, BodyForm};

/// A line that is not blank, without the blanks around it.
#[derive(Debug)]
pub(super) struct PostedLine {
    /// The line's number in the file, counted from 1.
    pub(super) number: u64,
    pub(super) text: Vec<u8>,
}

/// The lines of one request, up to the most that a request may have.
#[derive(Debug, Default)]
pub(super) struct LineBatch {
    /// The lines' numbers in their file.
    numbers: Vec<u64>,
    /// The lines.
    pub(super) body: Vec<u8>,
}

impl LineBatch {
    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The numbers of the first and the last line.
    pub(super) fn span(&self) -> (u64, u64) {
        let ends = (self.numbers.first(), self.numbers.last());
        (ends.0.copied().unwrap_or_default(), ends.1.copied().unwrap_or_default())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub(super) fn has_room_for(&self, line: &PostedLine) -> bool {
        self.len() < BATCH_EVENTS && self.body.len() + line.text.len() < BODY_BYTES
    }

    pub(super) fn push(&mut self, line: PostedLine) {
        self.numbers.push(line.number);
        self.body.extend(line.text);
        self.body.push(b'\n');
    }

    /// Adds line numbers to the faults of an error response. For invalid JSON and for an event that is too large, the
    /// response does not name the event, so the batch is parsed here as the API parses it.
    pub(super) fn locate(&self, problem: &mut Problem) {
        for fault in &mut problem.errors {
            let parts = fault.path.strip_prefix('/').map(|path| path.split_once('/').unwrap_or((path, "")));
            let line =
                parts.and_then(|(index, rest)| Some((self.numbers.get(index.parse::<usize>().ok()?)?, rest)));
            if let Some((number, rest)) = line {
                fault.path =
                    if rest.is_empty() { format!("line {number}") } else { format!("line {number} /{rest}") };
            }
        }
        let parsed = lately_model::Batch::parse(
            &self.body,
            BodyForm::Ndjson,
            AcceptedTimes::new(UnixMillis::MAX, None),
        );
        let (index, message) = match (&*problem.code, parsed) {
            ("malformed-json", Err(BatchError::Malformed(malformed))) => {
                (malformed.line - 1, format!("invalid JSON at column {}", malformed.column))
            }
            ("too-large", Err(BatchError::EventTooLarge { index })) => (index, "too large".to_owned()),
            _ => return,
        };
        if let Some(number) = self.numbers.get(index) {
            problem.errors.push(FieldFault { path: format!("line {number}"), message });
        }
    }
}
