//! Which run covers an id: the first that ends at or behind it, if it does not begin behind it too.

use std::collections::BTreeMap;

use lately_keys::table::{ConsumerKey, RunKey};
use lately_keys::{EventId, UnixMillis};
use lately_model::Revision;

use crate::error::TableError;
use crate::item::text;
use crate::limits::COVERING_RUNS;
use crate::op::Op;
use crate::run::Run;
use crate::run::RunsHandle;

/// The runs of a consumer that were asked for so far.
#[derive(Debug, Default)]
pub(crate) struct Covering {
    /// By their ends.
    runs: BTreeMap<EventId, Run>,
}

impl Covering {
    /// The run of an incarnation that covers an id. Its commit may not be known here.
    pub(crate) async fn run_of(
        &mut self,
        op: &Op,
        consumer: &ConsumerKey,
        incarnation: Revision,
        id: EventId,
    ) -> Result<Option<&Run>, TableError> {
        if self.known(id).is_none() {
            let found = op.runs(consumer).first_run_from(id).await?;
            let Some(run) = found.filter(|run| run.incarnation == incarnation) else { return Ok(None) };
            if self.runs.len() >= COVERING_RUNS {
                self.runs.clear();
            }
            self.runs.insert(run.to, run);
        }
        Ok(self.known(id))
    }

    fn known(&self, id: EventId) -> Option<&Run> {
        let (_, run) = self.runs.range(id..).next()?;
        (run.from < id).then_some(run)
    }
}

impl RunsHandle<'_> {
    /// The first run that ends at an id or behind it. The read is consistent.
    async fn first_run_from(self, id: EventId) -> Result<Option<Run>, TableError> {
        let consumer = self.consumer;
        let last = EventId::last_of(UnixMillis::MAX);
        let answer = self
            .op
            .table
            .query(|query| {
                query
                    .key_condition_expression("pk = :pk AND sk BETWEEN :first AND :last")
                    .expression_attribute_values(":pk", text(consumer.to_string()))
                    .expression_attribute_values(":first", text(RunKey::sort_key(id)))
                    .expression_attribute_values(":last", text(RunKey::sort_key(last)))
                    .limit(1)
                    .consistent_read(true)
            })
            .await?;
        self.op.table.meter.items(answer.items().len());
        Ok(answer.items().first().map(Run::decode).transpose()?)
    }
}
