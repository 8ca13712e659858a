//! A consumer's runs, one by one and newest first.

use lately_keys::table::RunKey;
use lately_keys::{Cursor, CursorError, EventId, Fingerprint, Order, Position};
use lately_model::{ListQuery, RunFiles, RunList, RunView};

use crate::consumer::{ConsumerError, existing};
use crate::error::TableError;
use crate::item::text;
use crate::run::Run;
use crate::run::RunsHandle;

impl RunsHandle<'_> {
    /// The run of a consumer that ends there, if there is one.
    ///
    /// # Errors
    /// If the table could not be read.
    pub async fn find(self, to: EventId) -> Result<Option<Run>, TableError> {
        let consumer = self.consumer;
        let item = self.op.table.get_item(Run::key_of(consumer, to)).await?;
        let run = item.as_ref().map(Run::decode).transpose()?;
        self.op.table.meter.items(run.iter().len());
        Ok(run)
    }

    /// A page of a consumer's runs, newest first.
    ///
    /// # Errors
    /// See [`ConsumerError`].
    pub async fn list(self, query: &ListQuery) -> Result<RunList, ConsumerError> {
        let consumer = self.consumer;
        let fingerprint = Fingerprint::of("runs").text(&consumer.to_string()).finish();
        let after = match query.cursor.as_deref().map(|text| Cursor::decode(text, fingerprint)).transpose()? {
            None => None,
            Some(Cursor { order: Order::NewestFirst, position: Position::Event(to), .. }) => {
                Some(Run::key_of(consumer, to))
            }
            Some(_) => return Err(CursorError::Foreign.into()),
        };
        self.op.topic(&consumer.topic).settings().await?;
        let checkpoint = self.op.consumer(consumer).checkpoint().await?;
        existing(checkpoint, consumer)?;
        let answer = self
            .op
            .table
            .query(|ask| {
                ask.key_condition_expression("pk = :pk AND begins_with(sk, :prefix)")
                    .expression_attribute_values(":pk", text(consumer.to_string()))
                    .expression_attribute_values(":prefix", text(RunKey::PREFIX))
                    .set_exclusive_start_key(after.clone())
                    .scan_index_forward(false)
                    .limit(query.limit.get().into())
            })
            .await?;
        self.op.table.meter.items(answer.items().len());
        self.op.table.meter.round();
        let runs: Result<Vec<Run>, _> = answer.items().iter().map(Run::decode).collect();
        let runs = runs.map_err(TableError::from)?;
        let next = runs.last().filter(|_| answer.last_evaluated_key().is_some()).map(|last| {
            let position = Position::Event(last.to);
            Cursor { query: fingerprint, order: Order::NewestFirst, position }.to_string()
        });
        let runs = runs.into_iter().map(Run::view).collect();
        Ok(RunList { runs, next })
    }
}

impl Run {
    /// The run as it is told of.
    #[must_use]
    pub fn view(self) -> RunView {
        let Self { from, to, announced_at, spec, committed, .. } = self;
        let files = RunFiles::new(&self.consumer, self.incarnation, from, to);
        let files = committed.iter().flat_map(|_| [files.events(), files.summary()]).collect();
        RunView {
            from,
            to,
            announced_at,
            committed_at: committed.as_ref().map(|committed| committed.committed_at),
            events: committed.as_ref().map(|committed| committed.events),
            late: committed.as_ref().map(|committed| committed.late),
            bytes: committed.as_ref().map(|committed| committed.bytes),
            group_by: spec.group_by,
            sum: spec.sum,
            files,
        }
    }
}
