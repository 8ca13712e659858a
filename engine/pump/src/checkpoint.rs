//! Checkpoints: the position up to which each lane is settled. A pump that is started again continues from them.
//!
//! Every record up to a checkpoint was delivered, filtered or given up. Records after it may have been delivered too,
//! and are delivered again, so delivery is at least once.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use lately_engine::stream::SequenceNumber;

use crate::destination::write_whole;

/// The records of a lane are those of some items, as on AWS. Older versions kept the order of a partition key instead.
const ORDER: &str = "item";

/// The checkpoints of a mapping's lanes, by shard and lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoints {
    pub(crate) stream: String,
    /// The order by which records belong to the lanes: [`ORDER`]. A file of an older version names another or none.
    #[serde(default)]
    order: String,
    pub(crate) lanes: Vec<Vec<SequenceNumber>>,
}

impl Checkpoints {
    pub(crate) fn new(stream: &str, lanes: Vec<Vec<SequenceNumber>>) -> Self {
        Self { stream: stream.to_owned(), order: ORDER.to_owned(), lanes }
    }

    /// Reads the checkpoints that [`Checkpoints::write`] wrote. `None` if the file does not exist.
    ///
    /// # Errors
    /// If the file cannot be read, or does not hold checkpoints.
    pub fn read(file: &Path) -> io::Result<Option<Self>> {
        match fs::read(file) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the checkpoints to a file, completely or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        write_whole(file, &serde_json::to_vec(self)?)
    }

    /// The positions from which the lanes of a stream continue. `None` if the checkpoints are another stream's. If the
    /// order, or the number of shards or lanes, has changed, records belong to other lanes, so every lane continues from
    /// the earliest position.
    pub(crate) fn resume(&self, stream: &str, shards: u16, lanes: u16) -> Option<Vec<Vec<SequenceNumber>>> {
        if self.stream != stream {
            return None;
        }
        let (shards, lanes) = (usize::from(shards), usize::from(lanes));
        if self.order == ORDER
            && self.lanes.len() == shards
            && self.lanes.iter().all(|shard| shard.len() == lanes)
        {
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
        let lanes = vec![[5, 7].map(SequenceNumber).to_vec(), [6, 9].map(SequenceNumber).to_vec()];
        Checkpoints::new("arn", lanes)
    }

    #[test]
    fn checkpoints_are_read_from_a_file_as_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("checkpoints.json");
        assert_eq!(Checkpoints::read(&file).unwrap(), None);
        checkpoints().write(&file).unwrap();
        assert_eq!(Checkpoints::read(&file).unwrap(), Some(checkpoints()));
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            r#"{"stream":"arn","order":"item","lanes":[[5,7],[6,9]]}"#
        );
    }

    #[test]
    fn changed_shards_or_lanes_continue_from_the_earliest_position() {
        let checkpoints = checkpoints();
        let resume = |stream, shards, lanes| checkpoints.resume(stream, shards, lanes);
        assert_eq!(resume("arn", 2, 2), Some(checkpoints.lanes.clone()));
        assert_eq!(resume("arn", 1, 3), Some(vec![vec![SequenceNumber(5); 3]]));
        assert_eq!(resume("another", 2, 2), None);
    }

    #[test]
    fn checkpoints_of_an_older_version_continue_from_the_earliest_position() {
        let earliest = vec![vec![SequenceNumber(5); 2]; 2];
        for order in ["", r#""order":"partition","#] {
            let older = format!(r#"{{"stream":"arn",{order}"lanes":[[5,7],[6,9]]}}"#);
            let older: Checkpoints = serde_json::from_str(&older).unwrap();
            assert_eq!(older.resume("arn", 2, 2).as_ref(), Some(&earliest));
        }
    }
}
