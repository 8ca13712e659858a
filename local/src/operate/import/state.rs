//! The progress of an import: a file, written before the first event and after each page.
//!
//! It is what makes an import one that can be stopped: the number of shards, which the ids depend on, the range of time
//! and the position. It is written aside, kept, and then given its name, so it is always whole. What it says is written;
//! what is written may be one page more, which is then written again, and is the same.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::Path;

use jiff::Timestamp;
use lately_designs::{KeyValue, Position, WriteKey};
use lately_keys::{ShardCount, User};
use serde::{Deserialize, Serialize};

/// What is written. Another layout has another number.
const VERSION: u32 = 1;

/// The progress of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    version: u32,
    /// What was said of it, by the names of the options: see [`ImportOptions::identity`](super::ImportOptions::identity).
    import: BTreeMap<String, String>,
    pub(super) shards: ShardCount,
    users: Vec<User>,
    #[serde(with = "text")]
    pub(super) since: Timestamp,
    #[serde(with = "text")]
    pub(super) until: Timestamp,
    /// Timelines that are imported up to `until`: those of the first so many users, or the only one.
    pub(super) timelines: usize,
    /// Where the next one stands, if it is begun.
    position: Option<ImportPosition>,
    is_done: bool,
    pub(super) events: u64,
    pub(super) skipped: u64,
}

/// A [`Position`], as it is kept.
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
pub(super) struct ImportRequest {
    pub(super) import: BTreeMap<String, String>,
    pub(super) shards: Option<ShardCount>,
    /// If neither the command nor a file says it.
    pub(super) default_shards: ShardCount,
    pub(super) users: Vec<User>,
    pub(super) since: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
    /// The last time before which events are old enough.
    pub(super) latest: Timestamp,
    /// Whether the first time must be said, since every partition from there on is visited.
    pub(super) needs_since: bool,
}

/// Why an import cannot begin, or go on.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file is of another one.
    #[error("{path} is of another import, with --{option} {was}. --state names another file")]
    Other {
        /// The file.
        path: String,
        /// The option that differs.
        option: String,
        /// The option's value in the file.
        was: String,
    },
    /// The events would have other ids.
    #[error("these events are imported with --shards {0}, and would be there twice with another number")]
    Shards(ShardCount),
    /// An import is begun, of another range.
    #[error("{path} is in the middle of another range: without {option} it goes on")]
    Unfinished {
        /// The file.
        path: String,
        /// What is said, and differs.
        option: &'static str,
    },
    /// Every partition is visited, from the first time on.
    #[error("--since must say when the table begins: every partition from there on is visited")]
    NoSince,
    /// The range has no time.
    #[error("there is nothing between {0} and {1}")]
    Empty(Timestamp, Timestamp),
    /// What is so new may still be written, and is no import.
    #[error("--until must be at least a minute ago: {0} at the latest")]
    TooNew(Timestamp),
    /// The file is not what it should be.
    #[error("{path} cannot be read: {why}")]
    Foreign {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// The file could not be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        #[source]
        error: std::io::Error,
    },
}

impl State {
    /// An import as it goes on from what a file says, or begins.
    pub(super) fn plan(kept: Option<Self>, asked: ImportRequest, path: &Path) -> Result<Self, StateError> {
        let path = || path.display().to_string();
        if let Some(kept) = &kept {
            kept.check(&asked, path)?;
            if !kept.is_done {
                return Ok(kept.clone());
            }
        }
        let until = asked.until.unwrap_or(asked.latest);
        let goes_on = kept.as_ref().filter(|kept| kept.users == asked.users).map(|kept| kept.until);
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
            shards: kept.map(|kept| kept.shards).or(asked.shards).unwrap_or(asked.default_shards),
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

    /// Whether what is asked for is this import, and this range if it is begun.
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

    /// Where the timeline that is under way stands, if it is begun.
    pub(super) fn position(&self) -> Option<Position> {
        let key = |key: &ImportPositionKey| match key {
            ImportPositionKey::S(text) => KeyValue::S(text.clone()),
            ImportPositionKey::N(number) => KeyValue::N(*number),
        };
        self.position.as_ref().map(|place| match place {
            ImportPosition::At(at) => Position::At(*at),
            ImportPosition::Behind { pk, sk } => Position::Behind(WriteKey { pk: key(pk), sk: key(sk) }),
        })
    }

    /// Goes on behind a page.
    pub(super) fn stand_at(&mut self, position: Position) {
        let key = |key| match key {
            KeyValue::S(text) => ImportPositionKey::S(text),
            KeyValue::N(number) => ImportPositionKey::N(number),
        };
        self.position = Some(match position {
            Position::At(at) => ImportPosition::At(at),
            Position::Behind(WriteKey { pk, sk }) => ImportPosition::Behind { pk: key(pk), sk: key(sk) },
        });
    }

    /// Goes on with the next timeline of so many.
    pub(super) fn end_timeline(&mut self, of: usize) {
        self.timelines += 1;
        self.position = None;
        self.is_done = self.timelines == of;
    }

    /// The state in a file, if the file exists.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, StateError> {
        let foreign = |why| StateError::Foreign { path: path.display().to_string(), why };
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(path)(error)),
        };
        let state: Self = serde_json::from_slice(&text).map_err(|error| foreign(error.to_string()))?;
        match state.version {
            VERSION => Ok(Some(state)),
            other => Err(foreign(format!("it is of version {other}"))),
        }
    }

    /// Writes the file: all of it, or nothing.
    pub(super) fn write(&self, path: &Path) -> Result<(), StateError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let write = || {
            let mut aside = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer_pretty(&mut aside, self)?;
            aside.write_all(b"\n")?;
            aside.as_file().sync_all()?;
            aside.persist(path)?;
            // The name too.
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

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(at)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> StateError {
    let path = path.display().to_string();
    move |error| StateError::Io { path: path.clone(), error }
}

#[cfg(test)]
mod tests;
