//! Up to where each lane is settled: what a pump that is started again goes on from.
//!
//! What lies behind a checkpoint was delivered, filtered or given up. What lies ahead may have been
//! delivered too, and will be again: at least once.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use lately_engine::stream::SequenceNumber;

/// The checkpoints of a mapping's lanes, by shard and lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoints {
    pub(crate) stream: String,
    pub(crate) lanes: Vec<Vec<SequenceNumber>>,
}

impl Checkpoints {
    /// Reads what [`Checkpoints::write`] wrote. `None`, if there is no such file.
    ///
    /// # Errors
    /// If the file cannot be read, or is not one of these.
    pub fn read(file: &Path) -> io::Result<Option<Self>> {
        match fs::read(file) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes them to a file, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let unfinished = file.with_extension("unfinished");
        fs::write(&unfinished, serde_json::to_vec(self)?)?;
        fs::rename(&unfinished, file)
    }

    /// Where the lanes of a stream go on; `None`, if these are another stream's. When shards or lanes are not
    /// as many as they were, records have other lanes, and each lane goes on from the least advanced one's.
    pub(crate) fn resume(&self, stream: &str, shards: u16, lanes: u16) -> Option<Vec<Vec<SequenceNumber>>> {
        if self.stream != stream {
            return None;
        }
        let (shards, lanes) = (usize::from(shards), usize::from(lanes));
        if self.lanes.len() == shards && self.lanes.iter().all(|shard| shard.len() == lanes) {
            return Some(self.lanes.clone());
        }
        let least = self.lanes.iter().flatten().min().copied()?;
        Some(vec![vec![least; lanes]; shards])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoints() -> Checkpoints {
        let lanes = vec![[5, 7].map(SequenceNumber::new).to_vec(), [6, 9].map(SequenceNumber::new).to_vec()];
        Checkpoints { stream: "arn".to_owned(), lanes }
    }

    #[test]
    fn checkpoints_survive_their_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("checkpoints.json");
        assert_eq!(Checkpoints::read(&file).unwrap(), None);
        checkpoints().write(&file).unwrap();
        assert_eq!(Checkpoints::read(&file).unwrap(), Some(checkpoints()));
        assert_eq!(fs::read_to_string(&file).unwrap(), r#"{"stream":"arn","lanes":[[5,7],[6,9]]}"#);
    }

    #[test]
    fn other_shards_or_lanes_go_on_from_the_least_advanced_one() {
        let checkpoints = checkpoints();
        assert_eq!(checkpoints.resume("arn", 2, 2), Some(checkpoints.lanes.clone()));
        assert_eq!(checkpoints.resume("arn", 1, 3), Some(vec![vec![SequenceNumber::new(5); 3]]));
        assert_eq!(checkpoints.resume("another", 2, 2), None);
    }
}
