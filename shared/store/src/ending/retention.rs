//! Another retention for what is there: how it begins. Fan-out runs the steps (`fan_out/kinds/retention.rs`).
//!
//! From the change on, reads show no event that is past the new retention. The steps then give each event, and its
//! entries in timelines and feeds, the new expiry. They delete what is past the new retention, and what has expired
//! under the old one: a longer retention restores nothing.
//!
//! Until the last step, the topic stores the *floor*: no older event is shown or accepted. So what was hidden stays hidden
//! however far the steps have come. A change that begins before an earlier one is done takes over its floor.

use lately_items::{Ending, EndingMark, RetentionFloor, RetentionStep, StepName, StoredTopic, oldest_kept};
use lately_keys::{TableKey, UnixMillis};
use lately_model::RetentionChange;
use lately_table::{Condition, REVISION, Rounds, TableError, Transacted, Transaction, Update};

use crate::handle::EndingHandle;

impl EndingHandle<'_> {
    /// Replaces a topic by one with another retention, and begins the steps. Returns the topic; `None` if it has changed
    /// meanwhile, or may have.
    pub(crate) async fn change_retention(
        self,
        known: StoredTopic,
        wanted: StoredTopic,
    ) -> Result<Option<StoredTopic>, TableError> {
        let (topic, now) = (self.topic, self.op.now());
        let days = wanted.settings.retention_days;
        let either = [known.settings.retention_days, days].into_iter().flatten();
        let floor = either.map(|days| oldest_kept(days, now)).chain(known.changing.map(|it| it.floor)).max();
        let floor = RetentionFloor { floor: floor.unwrap_or(UnixMillis::MIN), begun: now };
        let wanted = StoredTopic { changing: Some(floor), ..wanted };
        let is_known = Condition::equals(REVISION, known.revision.get());
        let transaction = Transaction::new(self.op.ambient())
            .put_if(wanted.encode(topic), is_known)
            .put(EndingMark::of_retention(topic, now, days))
            .put(RetentionStep::first(topic.clone(), now, days, floor.floor).encode());
        let is_done = transaction.commit(&self.op.table).await? == Transacted::Done;
        Ok(is_done.then_some(wanted))
    }

    /// The progress of the change of the retention that began then; `None` if it is done.
    pub(crate) async fn retention_change(
        self,
        begun: UnixMillis,
    ) -> Result<Option<RetentionChange>, TableError> {
        let step: Option<RetentionStep> =
            self.op.table.find(Ending::Retention.step_of(self.topic).encode()).await?;
        let step = step.filter(|step| step.name.begun == begun);
        Ok(step.map(|step| RetentionChange { begun_at: begun, events: step.events, bucket: step.bucket() }))
    }

    /// Ends a change of the retention: shows all remaining events.
    pub(crate) async fn finish_retention(self, name: StepName) -> Result<(), TableError> {
        let mut rounds = Rounds::of(&self.op.table, "the topic");
        loop {
            let found = self.op.topic(self.topic).find().await?;
            let is_ours = |changing: RetentionFloor| changing.begun == name.begun;
            let Some(stored) = found.filter(|found| found.changing.is_some_and(is_ours)) else { break };
            let is_known = Condition::equals(REVISION, stored.revision.get());
            let update = Update::under(StoredTopic::key(self.topic))
                .remove(RetentionFloor::FLOOR)
                .remove(RetentionFloor::CHANGED)
                .set(REVISION, stored.revision.next().get());
            if self.op.table.update(&update.only_if(is_known)).await? {
                break;
            }
            rounds.lose_and_pause().await?;
        }
        self.op.memory().forget_topic(self.topic);
        Ok(())
    }
}
