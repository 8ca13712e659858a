//! Fan-out's dead letters: the batches that it gave up on. They are objects in a bucket on AWS, and files in a folder
//! of the local program.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Name;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::operate::table::environment;

/// The failure of a bucket or a folder.
const UNREADABLE: &str = "the failed batches cannot be read";

/// The bucket or the folder of the dead letters.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct DeadLettersLocation {
    /// The bucket: the stack's output FailuresBucket
    #[arg(long, env = "LATELY_FAILURES", value_name = "NAME")]
    bucket: Option<String>,

    /// The folder that the local program prints at its start (Failures)
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// The dead letters of a bucket or folder.
#[derive(Clone, Debug)]
pub(crate) struct DeadLetters(Arc<dyn ObjectStore>);

/// A batch of records that fan-out gave up on.
#[derive(Clone, Debug)]
pub(crate) struct DeadLetter {
    /// The reason, in Lambda's words.
    pub(crate) condition: String,
    /// The time of the failure.
    pub(crate) at: String,
    /// The number of records.
    pub(crate) records: u64,
    /// The function's event: an invocation with it retries the records.
    pub(crate) payload: String,
}

impl DeadLetters {
    /// Opens the bucket or the folder.
    ///
    /// # Errors
    /// If the folder does not exist, or the environment's settings for the bucket are invalid.
    pub(crate) async fn open(location: &DeadLettersLocation) -> Result<Self> {
        Ok(Self(match (&location.bucket, &location.folder) {
            (_, Some(folder)) => {
                Arc::new(LocalFileSystem::new_with_prefix(folder).map_err(Failure::of(UNREADABLE))?)
            }
            (bucket, None) => {
                let bucket = bucket.as_deref().unwrap_or_default();
                lately_report::bucket::open(bucket, &environment().await).map_err(Failure::of(UNREADABLE))?
            }
        }))
    }

    /// The names of all dead letters, sorted: oldest first as far as names show.
    ///
    /// # Errors
    /// If the bucket or the folder cannot be read.
    pub(crate) async fn names(&self) -> Result<Vec<String>> {
        let objects: Vec<_> = self.0.list(None).try_collect().await.map_err(Failure::of(UNREADABLE))?;
        let mut names: Vec<_> = objects.into_iter().map(|object| object.location.to_string()).collect();
        names.sort();
        Ok(names)
    }

    /// Reads a dead letter by its name.
    ///
    /// # Errors
    /// If it cannot be read, or is not a dead letter.
    pub(crate) async fn read(&self, name: &str) -> Result<DeadLetter> {
        let object = self.0.get(&Name::from(name)).await.map_err(Failure::of(UNREADABLE))?;
        let bytes = object.bytes().await.map_err(Failure::of(UNREADABLE))?;
        let json: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if !json["payload"].is_string() {
            let check = "is this the right bucket or folder?";
            return Err(Failure::new(1, format!("{name} is not a failed batch of fan-out; {check}")));
        }
        Ok(DeadLetter {
            condition: text(&json["requestContext"]["condition"]),
            at: text(&json["timestamp"]),
            records: json["DDBStreamBatchInfo"]["batchSize"].as_u64().unwrap_or_default(),
            payload: text(&json["payload"]),
        })
    }

    /// Removes a dead letter.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub(crate) async fn remove(&self, name: &str) -> Result<()> {
        self.0.delete(&Name::from(name)).await.map_err(Failure::of(UNREADABLE))
    }
}
