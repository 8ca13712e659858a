//! Publishing: assembles the committed attempt's files under their final names.
//!
//! Any invocation may do this any number of times, even at the same time as others: the content follows from the
//! manifest alone, and each file appears only when it is complete. The file of ids is written last and marks that all
//! files were there. So a file that its reader removes after that is not written again.

use futures_util::TryStreamExt;
use lately_model::RunFiles;
use object_store::{Error, ObjectStoreExt};

use crate::attempt::Manifest;
use crate::ids::TableBuilder;
use crate::names::Names;
use crate::output::{Output, OutputError};
use crate::upload::Upload;

/// Ensures that a run's files are there, or once were.
pub(crate) async fn publish(output: &Output, names: &Names, attempt: &str) -> Result<(), OutputError> {
    let mark = names.file(RunFiles::ids);
    if output.has(&mark).await? {
        return Ok(());
    }
    match put_together(output, names, attempt).await {
        // Another invocation was faster: it wrote the files and then removed the attempt that this one reads.
        Err(OutputError::Store(Error::NotFound { .. })) if output.has(&mark).await? => Ok(()),
        Err(OutputError::Store(Error::NotFound { .. })) => {
            Err(OutputError::Gone { attempts: names.attempts().clone() })
        }
        done => done,
    }
}

async fn put_together(output: &Output, names: &Names, attempt: &str) -> Result<(), OutputError> {
    let manifest = Manifest::read(output, names, attempt).await?;
    output.store().copy(&names.summary(attempt), &names.file(RunFiles::summary)).await?;
    let events = names.file(RunFiles::events);
    if let [only] = &manifest.segments[..] {
        output.store().copy(&names.lines(&only.attempt, only.number), &events).await?;
    } else {
        let mut upload = Upload::new(output, &events);
        let joined = async {
            for segment in &manifest.segments {
                let mut pieces = output.stream(&names.lines(&segment.attempt, segment.number)).await?;
                while let Some(piece) = pieces.try_next().await? {
                    upload.put(piece).await?;
                }
            }
            Ok(())
        }
        .await;
        upload.end(joined).await?;
    }
    let mut upload = Upload::new(output, &names.file(RunFiles::ids));
    let joined = async {
        let mut table = TableBuilder::default();
        for segment in &manifest.segments {
            let ids = output.get(&names.ids(&segment.attempt, segment.number)).await?;
            table.pass(&ids);
            upload.put(ids).await?;
        }
        upload.put(table.finish().into()).await
    }
    .await;
    upload.end(joined).await
}
