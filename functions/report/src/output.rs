//! The output of reports: a bucket or a folder, with the same objects in both.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use lately_kit::aws::Environment;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutPayload};

use crate::bucket;
use crate::names::below;
use crate::summary::Summary;

/// The URL of reports, as a setting names it: `s3://bucket/prefix`, `file:///folder`, or a folder's path.
///
/// ```
/// use lately_report::OutputUrl;
///
/// assert!("s3://reports/eu".parse::<OutputUrl>().is_ok());
/// assert!("target/reports".parse::<OutputUrl>().is_ok());
/// assert!("gs://reports".parse::<OutputUrl>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputUrl {
    /// Objects of a bucket of S3.
    Bucket {
        /// The bucket's name.
        name: String,
        /// The prefix of the objects' names.
        prefix: Path,
    },
    /// Files in a folder, which is created if it does not exist.
    Folder(PathBuf),
}

/// The text is not a valid output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the output must be s3://bucket/prefix, file:///folder, or a folder's path")]
pub struct OutputUrlError;

impl FromStr for OutputUrl {
    type Err = OutputUrlError;

    fn from_str(text: &str) -> Result<Self, OutputUrlError> {
        if let Some(bucket) = text.strip_prefix("s3://") {
            let (name, prefix) = bucket.split_once('/').unwrap_or((bucket, ""));
            let prefix = Path::parse(prefix).map_err(|_| OutputUrlError)?;
            // S3 checks the bucket's name when it is called.
            return (!name.is_empty())
                .then(|| Self::Bucket { name: name.to_owned(), prefix })
                .ok_or(OutputUrlError);
        }
        let folder = text.strip_prefix("file://").unwrap_or(text);
        let of_another_kind = folder.contains("://") || (folder != text && !folder.starts_with('/'));
        (!folder.is_empty() && !of_another_kind).then(|| Self::Folder(folder.into())).ok_or(OutputUrlError)
    }
}

/// The reason why an output could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The bucket or the folder cannot be used.
    #[error("the output cannot be used: {0}")]
    Store(#[from] Error),
    /// The folder cannot be created.
    #[error("the output's folder cannot be created: {0}")]
    Folder(#[from] std::io::Error),
}

/// The reason why an object could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A call to the bucket or the folder failed.
    #[error(transparent)]
    Store(#[from] Error),
    /// A committed run's attempt was removed before the run had its files. The attempt must be restored from a copy, or
    /// the consumer must be deleted and created again.
    #[error("{attempts} is gone, so the run that was committed with it cannot get its files")]
    Gone {
        /// The folder of the run's attempts.
        attempts: Path,
    },
    /// An object does not have the expected content.
    #[error("{name} does not have the expected content")]
    Corrupt {
        /// The object.
        name: Path,
    },
}

/// An open output. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Output {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl Output {
    /// Opens an output. The environment is read only for a bucket.
    ///
    /// # Errors
    /// If the environment's settings for the bucket are invalid, or the folder cannot be created.
    pub async fn open(
        url: &OutputUrl,
        environment: impl Future<Output = Environment>,
    ) -> Result<Self, OpenError> {
        match url {
            OutputUrl::Bucket { name, prefix } => {
                Ok(Self::new(bucket::open(name, &environment.await)?, prefix.clone()))
            }
            OutputUrl::Folder(folder) => Self::folder(folder),
        }
    }

    /// Opens a folder.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn folder(folder: &std::path::Path) -> Result<Self, OpenError> {
        std::fs::create_dir_all(folder)?;
        // Like in a bucket, written files survive a power cut.
        let files = LocalFileSystem::new_with_prefix(folder)?.with_fsync(true);
        // The attempts' folders are removed with their last files.
        Ok(Self::new(Arc::new(files.with_automatic_cleanup(true)), Path::default()))
    }

    /// An output in an object store.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self { store, prefix }
    }

    /// The summary of a run, by the file name in the run's view.
    ///
    /// # Errors
    /// If the file does not exist or cannot be read.
    pub async fn summary(&self, file: &str) -> Result<Summary, OutputError> {
        let name = below(&self.prefix, file);
        serde_json::from_slice(&self.get(&name).await?).map_err(|_| OutputError::Corrupt { name })
    }

    pub(crate) const fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    pub(crate) const fn prefix(&self) -> &Path {
        &self.prefix
    }

    pub(crate) async fn put(&self, name: &Path, bytes: impl Into<PutPayload>) -> Result<(), Error> {
        self.store.put(name, bytes.into()).await.map(drop)
    }

    pub(crate) async fn get(&self, name: &Path) -> Result<Bytes, Error> {
        self.store.get(name).await?.bytes().await
    }

    /// An object as a stream of pieces, so that memory use does not grow with its size.
    pub(crate) async fn stream(
        &self,
        name: &Path,
    ) -> Result<BoxStream<'static, Result<Bytes, Error>>, Error> {
        Ok(self.store.get(name).await?.into_stream())
    }

    pub(crate) async fn has(&self, name: &Path) -> Result<bool, Error> {
        match self.store.head(name).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes all objects of a folder. Objects that are already gone are ignored.
    pub(crate) async fn remove(&self, folder: &Path) -> Result<(), Error> {
        let names = self.store.list(Some(folder)).map_ok(|object| object.location).boxed();
        let mut removed = self.store.delete_stream(names);
        while let Some(removed) = removed.next().await {
            match removed {
                Ok(_) | Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_a_bucket_or_a_folder() {
        let bucket = |name: &str, prefix: &str| {
            Ok(OutputUrl::Bucket { name: name.to_owned(), prefix: Path::from(prefix) })
        };
        let folder = |path: &str| Ok(OutputUrl::Folder(path.into()));
        let parse = |text: &str| text.parse::<OutputUrl>();
        assert_eq!(parse("s3://reports"), bucket("reports", ""));
        assert_eq!(parse("s3://reports/"), bucket("reports", ""));
        assert_eq!(parse("s3://reports/eu/billing/"), bucket("reports", "eu/billing"));
        assert_eq!(parse("file:///var/reports"), folder("/var/reports"));
        assert_eq!(parse("/var/reports"), folder("/var/reports"));
        assert_eq!(parse("data/reports"), folder("data/reports"));
        for text in [
            "",
            "s3://",
            "s3:///eu",
            "s3://reports/a//b",
            "gs://reports",
            "file://host/x",
            "file://",
            "s3://r/../x",
        ] {
            assert_eq!(parse(text), Err(OutputUrlError), "{text}");
        }
    }

    #[tokio::test]
    async fn a_folder_is_created_and_removed_with_its_last_object() {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::folder(&folder.path().join("a/b")).unwrap();
        for name in ["c/1", "c/d/2", "e/3"] {
            output.put(&Path::from(name), "x").await.unwrap();
        }
        output.remove(&Path::from("c")).await.unwrap();
        output.remove(&Path::from("never")).await.unwrap();
        assert!(!folder.path().join("a/b/c").exists());
        assert!(output.has(&Path::from("e/3")).await.unwrap());
        assert!(!output.has(&Path::from("c/1")).await.unwrap());
    }
}
