//! Another retention for what is there: how it begins. Fan-out takes the steps.
//!
//! From the change on, reads show no event that is past the new retention. The steps then give each event, and its
//! entries in timelines and feeds, the new expiry. They delete what is past the new retention, and what has expired
//! under the old one: a longer retention brings nothing back.

use lately_table::{Condition, REVISION, TableError, Transacted, Transaction};

use crate::ending::mark::EndingMark;
use crate::ending::step::RetentionStep;
use crate::topic::{self, StoredTopic, TopicHandle};

impl TopicHandle<'_> {
    /// Replaces a topic by one with another retention, and begins the steps. False if the topic has changed meanwhile,
    /// or if it may have.
    pub(crate) async fn change_retention(
        self,
        known: StoredTopic,
        wanted: StoredTopic,
    ) -> Result<bool, TableError> {
        let (topic, now) = (self.topic, self.op.now());
        let days = wanted.settings.retention_days;
        let is_known = Condition::equals(REVISION, known.revision.get());
        let transaction = Transaction::new(self.op.ambient())
            .put_if(topic::encode(topic, wanted), is_known)
            .put(EndingMark::of_retention(topic, now, days))
            .put(RetentionStep::first(now, days).encode(topic));
        Ok(self.op.table.transact(&transaction).await? == Transacted::Done)
    }
}
