//! A consumer's runs: one by its end, or a list, newest first.

use lately_items::{Run, RunKey};
use lately_keys::{EventId, Fingerprint, Order, Position, TableKey};
use lately_model::{ListQuery, RunList};
use lately_table::{Item, Query, TableError};

use crate::consumer::{ConsumerError, existing};
use crate::handle::RunsHandle;
use crate::list::Pager;

impl RunsHandle<'_> {
    fn key(self, to: EventId) -> RunKey {
        RunKey { consumer: self.consumer.clone(), to }
    }

    /// The run of the consumer that ends at an id, whatever its incarnation. The read is consistent.
    pub(super) async fn stored(self, to: EventId) -> Result<Option<Run>, TableError> {
        self.op.table.find(self.key(to).encode()).await
    }

    /// The run of a consumer that ends at an id, if there is one.
    pub async fn find(self, to: EventId) -> Result<Option<Run>, TableError> {
        let run = self.stored(to).await?;
        self.op.table.meter().items(run.iter().len());
        Ok(run)
    }

    /// A page of a consumer's runs, newest first.
    pub async fn list(self, query: &ListQuery) -> Result<RunList, ConsumerError> {
        let list = Fingerprint::of("runs").text(&self.consumer.to_string()).finish();
        let pager = Pager { list, order: Order::NewestFirst };
        let after = pager.after(query.cursor.as_deref())?.map(|to| Item::at(&self.key(to)));
        self.op.topic(&self.consumer.topic).stored().await?;
        let checkpoint = self.op.consumer(self.consumer).checkpoint().await?;
        existing(checkpoint, self.consumer)?;
        let runs = Query::partition(self.consumer.to_string())
            .begins_with(RunKey::PREFIX)
            .start(after)
            .backward(true)
            .limit(query.limit.get());
        let page = self.op.table.query_items(&runs).await?;
        self.op.table.meter().round();
        let runs: Vec<Run> = page.records()?;
        let last = runs.last().filter(|_| page.next.is_some());
        let next = last.map(|last| pager.cursor(Position::Event(last.to)));
        Ok(RunList { runs: runs.into_iter().map(Run::view).collect(), next })
    }
}
