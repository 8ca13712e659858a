//! The destination of batches that are given up. It holds named objects as an S3 bucket does, in memory or in a folder.
//!
//! An object is written completely or not at all. In a folder each object is a file, and the slashes of its name
//! separate folders.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A store of named objects. Clones share one store.
#[derive(Debug, Clone)]
pub struct Destination(FailureStore);

#[derive(Debug, Clone)]
enum FailureStore {
    Memory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>),
    Folder(PathBuf),
}

/// The extension of a file while it is written.
const UNFINISHED: &str = "unfinished";

impl Destination {
    /// An empty store in memory.
    pub fn memory() -> Self {
        Self(FailureStore::Memory(Arc::default()))
    }

    /// A folder, which is created with the first object.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self(FailureStore::Folder(path.into()))
    }

    /// Puts an object. It replaces an object of the same name.
    ///
    /// # Errors
    /// If the object cannot be written, or the name is not valid.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match &self.0 {
            FailureStore::Memory(objects) => {
                lock(objects).insert(name.to_owned(), bytes.to_owned());
            }
            FailureStore::Folder(folder) => {
                let path = file(folder, name)?;
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent)?;
                }
                write_whole(&path, bytes)?;
            }
        }
        Ok(())
    }

    /// The names of all objects, sorted.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<String>> {
        match &self.0 {
            FailureStore::Memory(objects) => Ok(lock(objects).keys().cloned().collect()),
            FailureStore::Folder(folder) => {
                let mut names = Vec::new();
                list(folder, "", &mut names)?;
                names.sort();
                Ok(names)
            }
        }
    }

    /// Reads an object.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], if no object has this name; others, if it cannot be read.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        match &self.0 {
            FailureStore::Memory(objects) => lock(objects).get(name).cloned().ok_or_else(not_found),
            FailureStore::Folder(folder) => fs::read(file(folder, name)?),
        }
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], if no object has this name; others, if it cannot be deleted.
    pub fn delete(&self, name: &str) -> io::Result<()> {
        match &self.0 {
            FailureStore::Memory(objects) => lock(objects).remove(name).map(drop).ok_or_else(not_found),
            FailureStore::Folder(folder) => fs::remove_file(file(folder, name)?),
        }
    }
}

/// Writes a file, completely or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = path.with_extension(UNFINISHED);
    fs::write(&unfinished, bytes)?;
    fs::rename(&unfinished, path)
}

fn lock(objects: &Mutex<BTreeMap<String, Vec<u8>>>) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
    objects.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// The file of an object. A name that leads out of the folder is refused.
fn file(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
    if name.is_empty() || !Path::new(name).components().all(inside) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of an object"));
    }
    Ok(folder.join(name))
}

fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        // A file whose name is not UTF-8 is no object, since objects' names are.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let name = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), names)?;
        } else if entry.path().extension().is_none_or(|extension| extension != UNFINISHED) {
            names.push(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(check: impl Fn(Destination)) {
        check(Destination::memory());
        let directory = tempfile::tempdir().unwrap();
        check(Destination::folder(directory.path().join("failures")));
    }

    #[test]
    fn objects_can_be_listed_read_and_deleted() {
        both(|destination| {
            assert_eq!(destination.list().unwrap(), [""; 0]);
            destination.put("b/2026-01-01T00.00.00-x", b"2").unwrap();
            destination.put("a", b"0").unwrap();
            destination.put("a", b"1").unwrap();
            assert_eq!(destination.list().unwrap(), ["a", "b/2026-01-01T00.00.00-x"]);
            assert_eq!(destination.read("a").unwrap(), b"1");
            destination.delete("a").unwrap();
            assert_eq!(destination.read("a").unwrap_err().kind(), io::ErrorKind::NotFound);
            assert_eq!(destination.delete("a").unwrap_err().kind(), io::ErrorKind::NotFound);
            assert_eq!(destination.list().unwrap().len(), 1);
        });
    }

    #[test]
    fn a_name_never_leads_out_of_the_folder() {
        let directory = tempfile::tempdir().unwrap();
        let destination = Destination::folder(directory.path());
        for name in ["", "../x", "/x", "a/../../x"] {
            assert_eq!(destination.put(name, b"").unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
    }
}
