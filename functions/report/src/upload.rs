//! Uploads: objects that are written piece by piece, in one put if they are small, else in several parts at once.
//!
//! An object appears under its name only when it is complete. A failed upload is aborted, so no parts remain; a
//! lifecycle rule of the bucket removes the parts of processes that died.

use std::sync::Arc;

use bytes::Bytes;
use object_store::Error;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use tokio::io::AsyncWriteExt;

use crate::limits::{CHUNK_BYTES, PART_BYTES, PARTS_AT_ONCE};
use crate::output::{Output, OutputError};

/// An upload under way.
#[derive(Debug)]
pub(crate) struct Upload(BufWriter);

impl Upload {
    pub(crate) fn new(output: &Output, name: &Path) -> Self {
        let writer = BufWriter::with_capacity(Arc::clone(output.store()), name.clone(), PART_BYTES);
        Self(writer.with_max_concurrency(PARTS_AT_ONCE))
    }

    /// Writes an object from pieces that are already in memory or generated.
    pub(crate) async fn all(
        output: &Output,
        name: &Path,
        pieces: impl Iterator<Item = Vec<u8>>,
    ) -> Result<(), OutputError> {
        let mut upload = Self::new(output, name);
        let done = upload.put_all(pieces).await;
        upload.end(done).await
    }

    async fn put_all(&mut self, pieces: impl Iterator<Item = Vec<u8>>) -> Result<(), OutputError> {
        let mut chunk = Vec::new();
        for piece in pieces {
            chunk.extend_from_slice(&piece);
            if chunk.len() >= CHUNK_BYTES {
                self.put(std::mem::take(&mut chunk).into()).await?;
            }
        }
        self.put(chunk.into()).await
    }

    /// Writes the next piece.
    pub(crate) async fn put(&mut self, piece: Bytes) -> Result<(), OutputError> {
        Ok(self.0.put(piece).await?)
    }

    /// Ends the upload, so that the object appears; aborts the upload if a piece could not be written.
    pub(crate) async fn end(mut self, written: Result<(), OutputError>) -> Result<(), OutputError> {
        if written.is_ok() {
            // The writer itself aborts an upload that it cannot end.
            let ended = self.0.shutdown().await;
            return Ok(ended.map_err(|error| Error::Generic { store: "upload", source: Box::new(error) })?);
        }
        if let Err(error) = self.0.abort().await {
            tracing::warn!(error = &error as &dyn std::error::Error, "an upload could not be aborted");
        }
        written
    }
}
