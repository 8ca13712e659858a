//! The stored stream of an engine that uses a directory: one JSON line per record, in segments.
//!
//! ```text
//! stream/{time of the segment's first line in microseconds, 20 digits}.jsonl
//!     {"intent":{"after":…,"at":…,"expired":…,"items":[{"table":…,"label":…,"key":{…},"old":{…}}]}}
//!     {"table":…,"label":…,"hash":…,"record":{"seq":…,"event":…,"at":…,"keys":{…},"old":{…},"new":{…}}}
//! ```
//!
//! The database and this file cannot be written at once. So a write first appends its intent: the items that it names,
//! as they are now. Then the database commits, and then each change appends its record. All three steps happen under
//! the write's lock, so only the last intent can be unfinished. When the directory is opened again, each item of that
//! intent that has changed and has no record gets its record. So a killed process loses neither the write nor its
//! records.
//!
//! A segment holds an hour. Segments whose records are all older than the retention are deleted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dynoxide::Item;
use serde::{Deserialize, Serialize};

use crate::capture::{Record, SequenceNumber};
use crate::clock::micros;

/// The time for which one segment takes new records.
const SEGMENT: Duration = Duration::from_secs(60 * 60);

#[derive(Debug)]
pub(crate) struct Journal {
    directory: PathBuf,
    retention_micros: u64,
    current: Option<Segment>,
}

#[derive(Debug)]
struct Segment {
    file: File,
    started_micros: u64,
}

/// One stored record.
#[derive(Debug, Deserialize)]
pub(crate) struct JournalLine {
    pub(crate) table: String,
    /// The label of the table's stream. A stream that is created anew has another label.
    pub(crate) label: String,
    /// The hash of the partition key. It decides the shard.
    pub(crate) hash: u64,
    pub(crate) record: Record,
}

#[derive(Serialize)]
struct JournalLineRef<'a> {
    table: &'a str,
    label: &'a str,
    hash: u64,
    record: &'a Record,
}

/// A write that is about to run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Intent {
    /// The newest record before the write.
    pub(crate) after: SequenceNumber,
    #[serde(rename = "at")]
    pub(crate) at_micros: u64,
    /// True if the TTL service makes the write.
    pub(crate) expired: bool,
    pub(crate) items: Vec<IntendedItem>,
}

/// One item that a write names.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct IntendedItem {
    pub(crate) table: String,
    /// The label of the table's stream.
    pub(crate) label: String,
    pub(crate) key: Item,
    /// The item before the write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) old: Option<Item>,
}

/// The beginning of an intent's line. No record's line begins with it.
const INTENT: &str = r#"{"intent":"#;

#[derive(Serialize, Deserialize)]
struct IntentLine<T> {
    intent: T,
}

/// The records and the intent that the last process left in the journal.
#[derive(Debug, Default)]
pub(crate) struct JournalRest {
    pub(crate) lines: Vec<JournalLine>,
    /// The last intent, with only those of its items that have no record yet.
    pub(crate) intent: Option<Intent>,
}

impl Journal {
    /// Opens the journal in `directory` and reads the records that are younger than the retention.
    pub(crate) fn open(
        directory: &Path,
        retention: Duration,
        now_micros: u64,
    ) -> io::Result<(Self, JournalRest)> {
        fs::create_dir_all(directory)?;
        let journal =
            Self { directory: directory.to_owned(), retention_micros: micros(retention), current: None };
        journal.drop_expired(now_micros)?;
        let mut left = JournalRest::default();
        for (_, path) in journal.segments()? {
            read_segment(&path, &mut left)?;
        }
        left.forget_recorded();
        let horizon = now_micros.saturating_sub(journal.retention_micros);
        left.lines.retain(|line| line.record.at_micros >= horizon);
        Ok((journal, left))
    }

    /// Writes the intent of a write. Called before the write runs.
    pub(crate) fn intend(&mut self, intent: &Intent) -> io::Result<()> {
        self.write(serde_json::to_vec(&IntentLine { intent })?, intent.at_micros)
    }

    pub(crate) fn append(&mut self, table: &str, label: &str, hash: u64, record: &Record) -> io::Result<()> {
        self.write(serde_json::to_vec(&JournalLineRef { table, label, hash, record })?, record.at_micros)
    }

    fn write(&mut self, mut line: Vec<u8>, at: u64) -> io::Result<()> {
        line.push(b'\n');
        let full = |s: &Segment| at.saturating_sub(s.started_micros) >= micros(SEGMENT);
        if self.current.as_ref().is_none_or(full) {
            self.current = Some(self.start_segment(at)?);
            self.drop_expired(at)?;
        }
        let segment = self.current.as_mut().expect("a segment is open");
        segment.file.write_all(&line)
    }

    fn start_segment(&self, at_micros: u64) -> io::Result<Segment> {
        let path = self.directory.join(format!("{at_micros:020}.jsonl"));
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // The file may exist, with a line that a killed process left half-written. This ends that line.
        if file.metadata()?.len() > 0 {
            file.write_all(b"\n")?;
        }
        Ok(Segment { file, started_micros: at_micros })
    }

    /// Deletes each segment whose records are all older than the retention: the next segment began before that time.
    fn drop_expired(&self, now_micros: u64) -> io::Result<()> {
        let horizon = now_micros.saturating_sub(self.retention_micros);
        let segments = self.segments()?;
        for pair in segments.windows(2) {
            let [(_, path), (successor_micros, _)] = pair else {
                unreachable!("windows of two");
            };
            if *successor_micros < horizon {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Every segment, oldest first.
    fn segments(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let mut segments = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let started = name.and_then(|name| name.strip_suffix(".jsonl")?.parse().ok());
            if let Some(started) = started {
                segments.push((started, path));
            }
        }
        segments.sort();
        Ok(segments)
    }
}

/// Reads a segment, and skips a line that a killed process left half-written.
fn read_segment(path: &Path, left: &mut JournalRest) -> io::Result<()> {
    // Lines are read as bytes, because a half-written line may end within a character.
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        let line = line?;
        if line.starts_with(INTENT.as_bytes()) {
            if let Ok(IntentLine { intent }) = serde_json::from_slice(&line) {
                left.intent = Some(intent);
            }
        } else if let Ok(line) = serde_json::from_slice(&line) {
            left.lines.push(line);
        }
    }
    Ok(())
}

impl JournalRest {
    /// Removes the items that have their records from the intent.
    fn forget_recorded(&mut self) {
        let Some(intent) = &mut self.intent else {
            return;
        };
        for line in self.lines.iter().rev().take_while(|line| line.record.sequence > intent.after) {
            if let Ok(key) = serde_json::from_str::<Item>(line.record.keys.get()) {
                intent.items.retain(|item| item.table != line.table || item.key != key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::capture::EventName;

    const HOUR: u64 = 3_600_000_000;
    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn record(sequence: u64, at_micros: u64) -> Record {
        let image = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        Record {
            sequence: SequenceNumber(sequence),
            event: EventName::Modify,
            at_micros,
            expired: true,
            size_bytes: 7,
            keys: image(r#"{"pk":{"S":"a"}}"#),
            old: None,
            new: Some(image(r#"{"pk":{"S":"a"},"n":{"N":"1"}}"#)),
        }
    }

    fn sequences(lines: &[JournalLine]) -> Vec<u64> {
        lines.iter().map(|line| line.record.sequence.0).collect()
    }

    #[test]
    fn a_reopened_journal_has_the_same_records() {
        let directory = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(directory.path(), DAY, 0).unwrap();
        journal.append("t", "l", 9, &record(1, 5)).unwrap();
        drop(journal);

        let (_, left) = Journal::open(directory.path(), DAY, 10).unwrap();
        let line = &left.lines[0];
        assert_eq!((line.table.as_str(), line.label.as_str(), line.hash), ("t", "l", 9));
        let expected = format!("{:?}", record(1, 5));
        assert_eq!(format!("{:?}", line.record), expected);
    }

    #[test]
    fn segments_and_records_past_the_retention_are_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(directory.path(), DAY, 0).unwrap();
        for hour in 0..30 {
            let record = record(hour + 1, hour * HOUR);
            journal.append("t", "l", 0, &record).unwrap();
        }
        let held = fs::read_dir(directory.path()).unwrap().count();
        assert!(held <= 26, "{held} segments");
        let (_, left) = Journal::open(directory.path(), DAY, 29 * HOUR).unwrap();
        assert_eq!(sequences(&left.lines), (6..=30).collect::<Vec<_>>());
    }

    #[test]
    fn a_half_written_line_does_not_affect_other_lines() {
        let directory = tempfile::tempdir().unwrap();
        let (mut journal, _) = Journal::open(directory.path(), DAY, 0).unwrap();
        journal.append("t", "l", 0, &record(1, 5)).unwrap();
        let path = directory.path().join(format!("{:020}.jsonl", 5));
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(br#"{"table":"t","la"#).unwrap();

        let (mut journal, _) = Journal::open(directory.path(), DAY, 5).unwrap();
        journal.append("t", "l", 0, &record(2, 5)).unwrap();
        let (_, left) = Journal::open(directory.path(), DAY, 5).unwrap();
        assert_eq!(sequences(&left.lines), [1, 2]);
    }
}
