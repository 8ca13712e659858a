//! An attempt at a run: the run's events as segments, a summary, and a manifest of what it wrote.
//!
//! The objects that an attempt writes are private until the run's item names the attempt. An attempt that must end
//! early saves its progress: its segments, its position and its counts. The next attempt continues from there under its
//! own name. It shares the segments, which never change.
//!
//! ```text
//! progress    the manifest so far, a line; then the lines of the tally
//! manifest    the same one line, of all
//! ```

use std::io;

use futures_util::{AsyncBufReadExt, TryStreamExt};
use lately_items::ConsumerKey;
use lately_keys::EventId;
use lately_model::{Event, RunSpec};
use lately_store::{Progress, Run};
use serde::{Deserialize, Serialize};

use crate::names::Names;
use crate::output::{Output, OutputError};
use crate::segment::Segment;
use crate::summary::{SummaryHead, Tally, json};
use crate::upload::Upload;

/// An attempt at work.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    output: &'a Output,
    names: &'a Names,
    /// Its name: 32 hexadecimal digits.
    id: String,
    manifest: Manifest,
    tally: Tally,
    segment: Segment,
}

/// The list of what was written for a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The segments, in order.
    pub(crate) segments: Vec<WrittenSegment>,
    /// The number of their events.
    pub(crate) events: u64,
    /// The number of late events among them.
    pub(crate) late: u64,
    /// The number of bytes of their lines.
    pub(crate) bytes: u64,
}

/// A segment, named by the attempt that wrote it and its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WrittenSegment {
    pub(crate) attempt: String,
    pub(crate) number: u32,
}

impl<'a> Attempt<'a> {
    pub(crate) fn new(output: &'a Output, names: &'a Names, id: String, spec: RunSpec) -> Self {
        let (manifest, segment) = (Manifest::default(), Segment::default());
        Self { output, names, id, manifest, tally: Tally::new(spec), segment }
    }

    /// Continues from another attempt's progress.
    pub(crate) async fn take_over(&mut self, progress: &Progress) -> Result<(), OutputError> {
        let name = self.names.progress(&progress.object);
        let pieces = self.output.stream(&name).await?;
        let mut lines = pieces.map_err(io::Error::other).into_async_read().lines();
        let corrupt = || OutputError::Corrupt { name: name.clone() };
        // The reader's only error of its own is a line that is not text.
        let failed = |error: io::Error| match error.downcast::<object_store::Error>() {
            Ok(error) => error.into(),
            Err(_) => corrupt(),
        };
        for number in 0_u64.. {
            let Some(line) = lines.try_next().await.map_err(failed)? else { break };
            let read = match number {
                0 => serde_json::from_str(&line).map(|manifest| self.manifest = manifest),
                1 => self.tally.read_rest(line.as_bytes()),
                _ => self.tally.read_group(line.as_bytes()),
            };
            read.map_err(|_| corrupt())?;
        }
        (self.manifest.events == progress.events).then_some(()).ok_or_else(corrupt)
    }

    /// The number of bytes of all lines so far.
    pub(crate) const fn bytes(&self) -> u64 {
        self.manifest.bytes + self.segment.lines.len() as u64
    }

    /// Adds the next event.
    pub(crate) async fn push(&mut self, event: &Event, is_late: bool) -> Result<(), OutputError> {
        self.tally.add(event);
        self.segment.push(event);
        self.manifest.events += 1;
        self.manifest.late += u64::from(is_late);
        if self.segment.is_full() { self.write_segment().await } else { Ok(()) }
    }

    async fn write_segment(&mut self) -> Result<(), OutputError> {
        let Segment { lines, ids } = std::mem::take(&mut self.segment);
        if lines.is_empty() {
            return Ok(());
        }
        // Segments are numbered through the whole run, across attempts, so a number never occurs twice in a manifest.
        let number =
            u32::try_from(self.manifest.segments.len()).expect("petabytes are not written in minutes");
        self.manifest.bytes += lines.len() as u64;
        self.output.put(&self.names.lines(&self.id, number), lines).await?;
        self.output.put(&self.names.ids(&self.id, number), ids).await?;
        self.manifest.segments.push(WrittenSegment { attempt: self.id.clone(), number });
        Ok(())
    }

    /// Saves the progress up to a position, for another attempt to continue from.
    pub(crate) async fn leave(mut self, position: EventId) -> Result<Progress, OutputError> {
        self.write_segment().await?;
        let first = [json(&self.manifest), b"\n".to_vec()].concat();
        let lines = std::iter::once(first).chain(self.tally.lines());
        Upload::all(self.output, &self.names.progress(&self.id), lines).await?;
        Ok(Progress { object: self.id, position, events: self.manifest.events })
    }

    /// Writes the summary and the manifest. Then the attempt is complete and can be committed under its name.
    pub(crate) async fn complete(mut self, run: &Run) -> Result<(String, Manifest), OutputError> {
        self.write_segment().await?;
        let ConsumerKey { topic, name: consumer } = run.consumer.clone();
        let head = SummaryHead {
            topic,
            consumer,
            from: run.from.at(),
            to: run.to.at(),
            events: self.manifest.events,
            late: self.manifest.late,
            group_by: run.spec.group_by,
            sum: run.spec.sum.clone(),
            not_summed: None,
        };
        Upload::all(self.output, &self.names.summary(&self.id), self.tally.file(head)).await?;
        self.output.put(&self.names.manifest(&self.id), json(&self.manifest)).await?;
        Ok((self.id, self.manifest))
    }
}

impl Manifest {
    /// The manifest of a complete attempt.
    pub(crate) async fn read(output: &Output, names: &Names, attempt: &str) -> Result<Self, OutputError> {
        let name = names.manifest(attempt);
        let bytes = output.get(&name).await?;
        serde_json::from_slice(&bytes).map_err(|_| OutputError::Corrupt { name })
    }
}
