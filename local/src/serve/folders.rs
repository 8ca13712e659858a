//! The folders that the program writes to. They are stored with the data, or removed when the program ends.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The program's folders.
pub(crate) struct Folders {
    /// The failure destination of fan-out.
    pub(crate) failures: PathBuf,
    /// The files of reports.
    pub(crate) reports: PathBuf,
    /// The folder of both if no data are stored. It is removed when it is dropped.
    _temporary: Option<TempDir>,
}

impl Folders {
    pub(crate) fn open(data: Option<&Path>) -> std::io::Result<Self> {
        let temporary = if data.is_none() { Some(tempfile::tempdir()?) } else { None };
        let within = data.or(temporary.as_ref().map(TempDir::path)).expect("one of the two");
        let (failures, reports) = (within.join("failures"), within.join("reports"));
        // They must exist from the start, so that they can be listed.
        std::fs::create_dir_all(&failures)?;
        std::fs::create_dir_all(&reports)?;
        Ok(Self { failures, reports, _temporary: temporary })
    }
}
