//! The lock on a directory. Only one process at a time uses a directory, since two would overwrite each other's stream.
//!
//! It is the operating system's lock on the file `lock`, so it is released however its process ends. The file holds the
//! id of the process, and the error of a second process names it.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::Path;

use crate::error::EngineError;

/// A lock that is held.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    file: File,
}

/// The process that holds the lock of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process's id. `None` if the process has not written it to the file yet.
    pub process: Option<u32>,
}

impl DirectoryLock {
    pub(crate) fn hold(directory: &Path) -> Result<Self, EngineError> {
        let path = directory.join("lock");
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                file.read_to_string(&mut text)?;
                let holder = Holder { process: text.trim().parse().ok() };
                return Err(EngineError::InUse { directory: directory.to_owned(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        file.set_len(0)?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { file })
    }
}

impl Drop for DirectoryLock {
    /// Releases the lock even if a child process that was just forked still has a copy of the open file.
    fn drop(&mut self) {
        // If this fails, the operating system releases the lock when the last copy of the file is closed.
        self.file.unlock().ok();
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some(process) => write!(f, "process {process}"),
            None => f.write_str("another process"),
        }
    }
}
