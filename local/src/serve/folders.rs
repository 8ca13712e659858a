//! The folders that the program writes to. They are stored with the data, or removed when the program ends.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The program's folders.
pub(crate) struct Folders {
    /// The failure destination of fan-out.
    pub(crate) failures: Folder,
    /// The files of reports.
    pub(crate) reports: Folder,
}

/// A folder that is stored with the data, or removed when it is dropped.
pub(crate) enum Folder {
    Kept(PathBuf),
    Passing(TempDir),
}

impl Folders {
    pub(crate) fn open(data: Option<&Path>) -> std::io::Result<Self> {
        Ok(Self { failures: Folder::of(data, "failures")?, reports: Folder::of(data, "reports")? })
    }
}

impl Folder {
    fn of(data: Option<&Path>, name: &str) -> std::io::Result<Self> {
        let Some(data) = data else { return Ok(Self::Passing(tempfile::tempdir()?)) };
        let folder = data.join(name);
        // It must exist from the start, so that it can be listed.
        std::fs::create_dir_all(&folder)?;
        Ok(Self::Kept(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Kept(folder) => folder,
            Self::Passing(folder) => folder.path(),
        }
    }
}
