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
    pub(super) numbers: Vec<u64>,
    /// The lines.
    pub(super) body: Vec<u8>,
    /// True if a pause of the input has ended the batch, which had room for more.
    pub(super) is_cut: bool,
}

impl LineBatch {
    /// The numbers of the first and the last line.
    pub(super) fn span(&self) -> (u64, u64) {
        let number = |line: Option<&u64>| line.copied().unwrap_or_default();
        (number(self.numbers.first()), number(self.numbers.last()))
    }

    pub(super) fn has_room_for(&self, line: &PostedLine) -> bool {
        self.numbers.len() < BATCH_EVENTS && self.body.len() + line.text.len() < BODY_BYTES
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
            let mut parts = fault.path.splitn(3, '/').skip(1);
            let index = parts.next().and_then(|index| index.parse::<usize>().ok());
            if let Some(number) = index.and_then(|index| self.numbers.get(index)) {
                let rest = parts.next().map(|rest| format!(" /{rest}")).unwrap_or_default();
                fault.path = format!("line {number}{rest}");
            }
        }
        let times = AcceptedTimes::new(UnixMillis::MAX, None);
        let (index, message) =
            match (&*problem.code, lately_model::Batch::parse(&self.body, BodyForm::Ndjson, times)) {
                ("malformed-json", Err(BatchError::Malformed(malformed))) => {
                    (malformed.line - 1, format!("invalid JSON at column {}", malformed.column))
                }
                ("too-large", Err(BatchError::EventTooLarge { index })) => (index, "too large".to_owned()),
                _ => return,
            };
        let path = self.numbers.get(index).map(|number| format!("line {number}"));
        problem.errors.extend(path.map(|path| FieldFault { path, message }));
    }
}
