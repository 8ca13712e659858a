//! The progress of an import: a file, written before the first event and after each page.
//!
//! With this file an import can be stopped and continued. It holds the number of shards, which the ids depend on, the
//! range of time, and the position. It is written under another name, synced to disk, and then renamed, so it is always
//! whole. All pages before its position are written. One more page may be written; the next run writes it again, with
//! the same result.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::Path;

use jiff::Timestamp;
use lately_designs::{KeyValue, Position, WriteKey};
use lately_keys::{ShardCount, User};
use serde::{Deserialize, Serialize};

/// The version of the file's layout, and of the way in which ids follow from items.
const VERSION: u32 = 1;

/// The progress of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    version: u32,
    /// The values of the import's options, by their names: see
    /// [`ImportOptions::identity`](crate::ImportOptions::identity).
    import: BTreeMap<String, String>,
    pub(crate) shards: ShardCount,
    users: Vec<User>,
    #[serde(with = "text")]
    pub(crate) since: Timestamp,
    #[serde(with = "text")]
    pub(crate) until: Timestamp,
    /// The number of timelines that are imported up to `until`. A design with users has one for each, in order.
    pub(crate) timelines: usize,
    /// The position in the next timeline, if its import has begun.
    position: Option<ImportPosition>,
    is_done: bool,
    pub(crate) events: u64,
    pub(crate) skipped: u64,
}

/// A [`Position`], as the file holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum ImportPosition {
    Behind { pk: ImportPositionKey, sk: ImportPositionKey },
    At(#[serde(with = "text")] Timestamp),
}

/// A key's value with its type, as DynamoDB's JSON has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ImportPositionKey {
    S(String),
    N(i64),
}

/// The import that the command line asks for.
#[derive(Clone, Debug)]
pub(crate) struct ImportRequest {
    pub(crate) import: BTreeMap<String, String>,
    pub(crate) shards: Option<ShardCount>,
    /// The number of shards if neither the command nor a file sets it.
    pub(crate) default_shards: ShardCount,
    pub(crate) users: Vec<User>,
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
    /// The latest end of an import: events before it are old enough.
    pub(crate) latest: Timestamp,
    /// True if `since` is required, because every partition from there on is read.
    pub(crate) needs_since: bool,
}

/// Why an import cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file belongs to another import.
    #[error("{path} belongs to another import, with --{option} {was}. Choose another file with --state")]
    Other {
        /// The file.
        path: String,
        /// The option that differs.
        option: String,
        /// The option's value in the file.
        was: String,
    },
    /// The events would have other ids.
    #[error("these events were imported with --shards {0}; another number would import them twice")]
    Shards(ShardCount),
    /// An import of another range has begun.
    #[error("{path} has an unfinished import; continue it without {option}")]
    Unfinished {
        /// The file.
        path: String,
        /// The option that differs.
        option: &'static str,
    },
    /// The start is missing. Every partition from the start on is read.
    #[error(
        "this design needs --since, the time of the table's first item: every partition from there on is read"
    )]
    NoSince,
    /// The range is empty.
    #[error("nothing to import: the range from {0} to {1} is empty")]
    Empty(Timestamp, Timestamp),
    /// The range ends too late: events that new may still be written, and are not imports.
    #[error("--until must be at least a minute ago: {0} at the latest")]
    TooNew(Timestamp),
    /// The file is invalid.
    #[error("{path} is not a valid progress file: {why}")]
    Foreign {
        /// The file.
        path: String,
        /// The reason.
        why: String,
    },
    /// The file could not be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        error: std::io::Error,
    },
}

impl State {
    /// The import to run: it continues the one in the file, or is new.
    pub(crate) fn plan(saved: Option<Self>, asked: ImportRequest, path: &Path) -> Result<Self, StateError> {
        let path = || path.display().to_string();
        if let Some(saved) = &saved {
            saved.check(&asked, path)?;
            if !saved.is_done {
                return Ok(saved.clone());
            }
        }
        let until = asked.until.unwrap_or(asked.latest);
        let goes_on = saved.as_ref().filter(|saved| saved.users == asked.users).map(|saved| saved.until);
        let since = asked.since.or(goes_on);
        let since =
            since.or((!asked.needs_since).then_some(Timestamp::UNIX_EPOCH)).ok_or(StateError::NoSince)?;
        if until > asked.latest {
            return Err(StateError::TooNew(asked.latest));
        }
        if since >= until {
            return Err(StateError::Empty(since, until));
        }
        Ok(Self {
            version: VERSION,
            import: asked.import,
            shards: saved.map(|saved| saved.shards).or(asked.shards).unwrap_or(asked.default_shards),
            users: asked.users,
            since,
            until,
            timelines: 0,
            position: None,
            is_done: false,
            events: 0,
            skipped: 0,
        })
    }

    /// Checks that the request is for this import, and for this range if the import is unfinished.
    fn check(&self, asked: &ImportRequest, path: impl Fn() -> String) -> Result<(), StateError> {
        let said = |import: &BTreeMap<String, String>, option: &str| {
            import.get(option).cloned().unwrap_or_else(|| "not given".to_owned())
        };
        let mut options = self.import.keys().chain(asked.import.keys());
        if let Some(option) = options.find(|option| self.import.get(*option) != asked.import.get(*option)) {
            let was = said(&self.import, option);
            return Err(StateError::Other { path: path(), option: option.clone(), was });
        }
        if asked.shards.is_some_and(|shards| shards != self.shards) {
            return Err(StateError::Shards(self.shards));
        }
        let differs = [
            (self.users != asked.users, "another --user"),
            (asked.since.is_some_and(|since| since != self.since), "another --since"),
            (asked.until.is_some_and(|until| until != self.until), "another --until"),
        ];
        match differs.into_iter().find(|(differs, _)| *differs) {
            Some((_, option)) if !self.is_done => Err(StateError::Unfinished { path: path(), option }),
            _ => Ok(()),
        }
    }

    /// The position in the current timeline, if its import has begun.
    pub(crate) fn position(&self) -> Option<Position> {
        let key = |key: &ImportPositionKey| match key {
            ImportPositionKey::S(text) => KeyValue::S(text.clone()),
            ImportPositionKey::N(number) => KeyValue::N(*number),
        };
        self.position.as_ref().map(|position| match position {
            ImportPosition::At(at) => Position::At(*at),
            ImportPosition::Behind { pk, sk } => Position::Behind(WriteKey { pk: key(pk), sk: key(sk) }),
        })
    }

    /// Moves the position behind a page.
    pub(crate) fn stand_at(&mut self, position: Position) {
        let key = |key| match key {
            KeyValue::S(text) => ImportPositionKey::S(text),
            KeyValue::N(number) => ImportPositionKey::N(number),
        };
        self.position = Some(match position {
            Position::At(at) => ImportPosition::At(at),
            Position::Behind(WriteKey { pk, sk }) => ImportPosition::Behind { pk: key(pk), sk: key(sk) },
        });
    }

    /// Moves on to the next timeline, of so many in all.
    pub(crate) fn end_timeline(&mut self, of: usize) {
        self.timelines += 1;
        self.position = None;
        self.is_done = self.timelines == of;
    }

    /// The state in a file, if the file exists.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, StateError> {
        let foreign = |why| StateError::Foreign { path: path.display().to_string(), why };
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(path)(error)),
        };
        let state: Self = serde_json::from_slice(&text).map_err(|error| foreign(error.to_string()))?;
        match state.version {
            VERSION => Ok(Some(state)),
            other => Err(foreign(format!("it has version {other}"))),
        }
    }

    /// Writes the file, whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> Result<(), StateError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let write = || {
            let mut aside = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer_pretty(&mut aside, self)?;
            aside.write_all(b"\n")?;
            aside.as_file().sync_all()?;
            aside.persist(path)?;
            // Syncs the new name too.
            std::fs::File::open(folder)?.sync_all()
        };
        write().map_err(io(path))
    }
}

/// A time as text.
mod text {
    use jiff::Timestamp;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(at)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> StateError {
    let path = path.display().to_string();
    move |error| StateError::Io { path: path.clone(), error }
}

#[cfg(test)]
mod tests;
