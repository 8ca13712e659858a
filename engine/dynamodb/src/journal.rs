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
//! An append can fail, for example on a full disk. The journal cuts off the bytes of a failed append. A write whose intent
//! cannot be appended is refused. A record that cannot be appended waits in memory, because its write is committed: it is
//! appended before the next intent, which fails as long as it cannot be. So the last intent still covers the waiting
//! records, and they are derived from it if the process ends first.
//!
//! A segment holds an hour or 8 MB. Segments are deleted if all of their records are older than the retention, or older
//! than every record that the streams hold in memory. So a start reads little more than the records that it retains.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dynoxide::Item;
use serde::{Deserialize, Serialize};

use crate::clock::micros;
use crate::open_progress::OpenProgress;
use crate::stream::{Record, SequenceNumber};

/// The time for which one segment accepts new records.
const SEGMENT: Duration = Duration::from_secs(60 * 60);

/// The length at which a segment is full. Segments are deleted whole, so a start reads about as much that
/// is no longer needed.
const SEGMENT_BYTES: u64 = 8_000_000;

#[derive(Debug)]
pub(crate) struct Journal {
    directory: PathBuf,
    retention_micros: u64,
    current: Option<Segment>,
    /// The lines of records that could not be appended yet.
    waiting: Vec<u8>,
}

#[derive(Debug)]
struct Segment {
    file: File,
    started_micros: u64,
    /// The length of the file up to its last whole line.
    length: u64,
}

/// One stored record. A line that is written borrows its parts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JournalLine<T = String, R = Record> {
    pub(crate) table: T,
    /// The label of the table's stream. A stream that is created anew has another label.
    pub(crate) label: T,
    /// The hash of the partition key. It decides the shard.
    pub(crate) hash: u64,
    pub(crate) record: R,
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

/// The records and the intent that the last process wrote to the journal.
#[derive(Debug, Default)]
pub(crate) struct JournalRest {
    /// The records that are younger than the retention.
    pub(crate) lines: Vec<JournalLine>,
    /// The newest record's position, even if that record is older than the retention. Numbers are never reused: readers
    /// would mistake records with such numbers for records that they have done.
    pub(crate) newest: SequenceNumber,
    /// The last intent, with only those of its items that have no record yet.
    pub(crate) intent: Option<Intent>,
}

impl Journal {
    /// Opens the journal in `directory` and reads the records that are younger than the retention.
    pub(crate) fn open(
        directory: &Path,
        retention: Duration,
        now_micros: u64,
        progress: &OpenProgress,
    ) -> io::Result<(Self, JournalRest)> {
        fs::create_dir_all(directory)?;
        let journal = Self {
            directory: directory.to_owned(),
            retention_micros: micros(retention),
            current: None,
            waiting: Vec::new(),
        };
        let horizon = now_micros.saturating_sub(journal.retention_micros);
        journal.drop_before(horizon)?;
        let mut rest = JournalRest::default();
        let segments = journal.segments()?;
        for (_, path) in &segments {
            progress.journal(fs::metadata(path)?.len());
        }
        let mut intent = Vec::new();
        for (_, path) in &segments {
            read_segment(path, &mut rest, &mut intent, progress)?;
        }
        // A half-written intent is ignored: its write did not run, and the write before it has all of its records.
        if let Ok(IntentLine::<Intent> { intent }) = serde_json::from_slice(&intent) {
            rest.newest = rest.newest.max(intent.after);
            rest.intent = Some(intent);
        }
        rest.forget_recorded();
        rest.lines.retain(|line| line.record.at_micros >= horizon);
        Ok((journal, rest))
    }

    /// Writes the intent of a write. Called before the write runs.
    pub(crate) fn intend(&mut self, intent: &Intent) -> io::Result<()> {
        self.write_waiting(intent.at_micros)?;
        let mut line = serde_json::to_vec(&IntentLine { intent })?;
        line.push(b'\n');
        self.write(&line, intent.at_micros)
    }

    /// Appends a record, now or before the next intent.
    ///
    /// # Errors
    /// If the record could not be appended now. It is not lost.
    pub(crate) fn append(&mut self, table: &str, label: &str, hash: u64, record: &Record) -> io::Result<()> {
        serde_json::to_writer(&mut self.waiting, &JournalLine { table, label, hash, record })?;
        self.waiting.push(b'\n');
        self.write_waiting(record.at_micros)
    }

    fn write_waiting(&mut self, at_micros: u64) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        let written = self.write(&waiting, at_micros);
        if written.is_ok() {
            waiting.clear();
        }
        self.waiting = waiting;
        written
    }

    /// Appends whole lines, all or none.
    fn write(&mut self, lines: &[u8], at: u64) -> io::Result<()> {
        let full =
            |s: &Segment| at.saturating_sub(s.started_micros) >= micros(SEGMENT) || s.length >= SEGMENT_BYTES;
        if self.current.as_ref().is_none_or(full) {
            self.current = Some(self.start_segment(at)?);
            self.drop_before(at.saturating_sub(self.retention_micros))?;
        }
        let segment = self.current.as_mut().expect("a segment is open");
        let written = segment.file.write_all(lines);
        match written {
            Ok(()) => segment.length += lines.len() as u64,
            // If the file cannot be cut, the next line begins another segment, or ends the half-written line.
            Err(_) if segment.file.set_len(segment.length).is_err() => self.current = None,
            Err(_) => {}
        }
        written
    }

    /// Creates a segment whose name comes after those of all others, even if the clock went back.
    fn start_segment(&self, at_micros: u64) -> io::Result<Segment> {
        let last = self.segments()?.last().map(|(started_micros, _)| *started_micros);
        let started_micros = last.map_or(at_micros, |last| at_micros.max(last + 1));
        let path = self.directory.join(format!("{started_micros:020}.jsonl"));
        let file = OpenOptions::new().create_new(true).append(true).open(path)?;
        Ok(Segment { file, started_micros, length: 0 })
    }

    /// Deletes each segment whose records are all older than a time: the next segment began before that time. The newest
    /// segment stays.
    pub(crate) fn drop_before(&self, horizon_micros: u64) -> io::Result<()> {
        let segments = self.segments()?;
        for [(_, path), (successor_micros, _)] in segments.array_windows() {
            if *successor_micros < horizon_micros {
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

/// Reads a segment, and skips a line that a killed process wrote in part. The last line of an intent is returned in
/// `intent`, and no other intent is parsed.
fn read_segment(
    path: &Path,
    rest: &mut JournalRest,
    intent: &mut Vec<u8>,
    progress: &OpenProgress,
) -> io::Result<()> {
    // Lines are read as bytes, because a half-written line may end within a character.
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        let line = line?;
        progress.read(line.len() + 1);
        if line.starts_with(INTENT.as_bytes()) {
            *intent = line;
        } else if let Ok(line) = serde_json::from_slice::<JournalLine>(&line) {
            rest.newest = rest.newest.max(line.record.sequence);
            rest.lines.push(line);
        }
    }
    Ok(())
}

impl JournalRest {
    /// Removes the items that have their records from the intent.
    fn forget_recorded(&mut self) {
        let Some(intent) = &mut self.intent else { return };
        for line in self.lines.iter().rev().take_while(|line| line.record.sequence > intent.after) {
            if let Ok(key) = serde_json::from_str::<Item>(line.record.keys.get()) {
                intent.items.retain(|item| item.table != line.table || item.key != key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Seek as _;

    use serde_json::value::RawValue;

    use super::*;
    use crate::stream::EventName;

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

    fn open(directory: &Path, now_micros: u64) -> (Journal, JournalRest) {
        Journal::open(directory, DAY, now_micros, &OpenProgress::default()).unwrap()
    }

    fn sequences(lines: &[JournalLine]) -> Vec<u64> {
        lines.iter().map(|line| line.record.sequence.0).collect()
    }

    #[test]
    fn segments_and_records_past_the_retention_are_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let (mut journal, _) = open(directory.path(), 0);
        for hour in 0..30 {
            let record = record(hour + 1, hour * HOUR);
            journal.append("t", "l", 0, &record).unwrap();
        }
        let held = fs::read_dir(directory.path()).unwrap().count();
        assert!(held <= 26, "{held} segments");
        let (_, rest) = open(directory.path(), 29 * HOUR);
        assert_eq!(sequences(&rest.lines), (6..=30).collect::<Vec<_>>());
    }

    #[test]
    fn a_half_written_line_does_not_affect_other_lines() {
        let directory = tempfile::tempdir().unwrap();
        let (mut journal, _) = open(directory.path(), 0);
        journal.append("t", "l", 0, &record(1, 5)).unwrap();
        let path = directory.path().join(format!("{:020}.jsonl", 5));
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(br#"{"table":"t","la"#).unwrap();

        let (mut journal, _) = open(directory.path(), 5);
        journal.append("t", "l", 0, &record(2, 5)).unwrap();
        let (_, rest) = open(directory.path(), 5);
        assert_eq!(sequences(&rest.lines), [1, 2]);
    }

    /// Makes the next append fail after it has written half a line, as on a full disk. `cut` says whether the file can be
    /// cut then.
    #[cfg(target_os = "linux")]
    fn fill(journal: &mut Journal, path: &Path, cut: bool) {
        let mut half = OpenOptions::new().append(true).open(path).unwrap();
        half.write_all(br#"{"table":"t","la"#).unwrap();
        let open = |path: &Path| OpenOptions::new().write(true).open(path).unwrap();
        let mut file = open(if cut { path } else { Path::new("/dev/full") });
        if cut {
            // The end of the longest possible file, found by bisection, since each file system has its own.
            let (mut least, mut most) = (0, i64::MAX as u64);
            while least < most {
                let middle = most - (most - least) / 2;
                match file.seek(io::SeekFrom::Start(middle)) {
                    Ok(_) => least = middle,
                    Err(_) => most = middle - 1,
                }
            }
            file.seek(io::SeekFrom::Start(least)).unwrap();
        }
        journal.current.as_mut().unwrap().file = file;
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_record_that_a_full_disk_refuses_is_appended_before_the_next_intent() {
        for cut in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let (mut journal, _) = open(directory.path(), 0);
            journal.append("t", "l", 0, &record(1, 5)).unwrap();
            let path = directory.path().join(format!("{:020}.jsonl", 5));
            let whole = fs::read(&path).unwrap();
            fill(&mut journal, &path, cut);
            assert!(journal.append("t", "l", 0, &record(2, 6)).is_err());
            let intent = Intent { after: SequenceNumber(2), at_micros: 7, expired: false, items: Vec::new() };
            if cut {
                assert_eq!(fs::read(&path).unwrap(), whole, "the half-written line is cut off");
                assert!(journal.intend(&intent).is_err(), "no write is accepted while a record waits");
                let file = OpenOptions::new().append(true).open(&path).unwrap();
                journal.current.as_mut().unwrap().file = file;
            }
            journal.intend(&intent).unwrap();
            journal.append("t", "l", 0, &record(3, 8)).unwrap();
            let (_, rest) = open(directory.path(), 10);
            assert_eq!(sequences(&rest.lines), [1, 2, 3]);
        }
    }
}
