//! Background work: items whose stream records run a step.
//!
//! | item | file |
//! | --- | --- |
//! | step of a topic's deletion, or of a change of its retention | `ending_step.rs` |
//! | step of an erasure | `erasure_step.rs` |
//! | step of a feed's cleanup | `cleanup_step.rs` |
//! | page of a job | `job.rs` |
//! | item of a backlog | `backlog.rs` |
//! | note of a change that is handled later | `change.rs` |
//!
//! Each put of such an item makes a record of the table's stream, and fan-out then runs the step (the store's `work/`).

use lately_keys::{Key, UnixMillis};

use crate::item::{Corrupt, EXPIRES_AT, Item};
use crate::record::record;
use crate::{AnyKey, BacklogItem, ChangeNote, JobStep};

/// All work is in partitions with this prefix. The work's kind and its name follow.
const PREFIX: &str = "JOB#";

record! {
    /// The name of a step, if the same item holds one step of the work after another: when the work began, and the step's
    /// number.
    #[derive(Copy)]
    pub struct StepName {
        /// When the work began.
        pub begun: UnixMillis = required(BEGUN = "begun"),
        /// The step's number. In an item of a backlog, it is the number of the item's puts.
        pub number: u64 = required(NUMBER = "step"),
    }
}

impl StepName {
    /// The first step.
    pub const fn first(begun: UnixMillis) -> Self {
        Self { begun, number: 0 }
    }

    /// The name of an item's step; `None` if the item has no further step.
    ///
    /// # Errors
    /// If the item has another form.
    pub fn found(item: &Item) -> Result<Option<Self>, Corrupt> {
        // An item that says when the work was finished is no step.
        (item.has(Self::BEGUN) && !item.has("finished")).then(|| Self::decode(item)).transpose()
    }

    /// The next step.
    pub const fn next(self) -> Self {
        Self { number: self.number + 1, ..self }
    }
}

/// A step that waits in the table, as an operator sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingStep {
    /// The step's item.
    pub key: Key,
    /// The number of the step, of a job's page, or of the puts of a backlog's item.
    pub number: u64,
    /// When the work began, or when the change was made that it follows from.
    pub begun: UnixMillis,
    /// When the item expires, in unix seconds. Then the work is given up.
    pub expires_at: Option<u64>,
    /// Since when the step waits for other work of fan-out.
    pub waiting_since: Option<UnixMillis>,
}

impl WaitingStep {
    /// The kind of backlogs.
    pub const BACKLOG: &str = "backlog";

    /// The step of an item; `None` if the item is no step, or the work is done.
    ///
    /// # Errors
    /// If the item has another form. The error names the item's key, for the operator.
    pub fn of(item: &Item) -> Result<Option<Self>, Corrupt> {
        let key = item.key()?;
        Self::found(item, key.clone()).map_err(|error| error.under(&key))
    }

    fn found(item: &Item, key: Key) -> Result<Option<Self>, Corrupt> {
        let expires_at = item.optional::<u64>(EXPIRES_AT)?;
        let named = |waits: Option<UnixMillis>| {
            let name = StepName::found(item)?;
            Ok::<_, Corrupt>(name.map(|name| (name.number, name.begun, waits)))
        };
        let found = match AnyKey::decode(&key.pk, &key.sk) {
            Some(AnyKey::EndingStep(_)) => named(item.optional("since")?)?,
            Some(AnyKey::ErasureStep(_)) => named(item.optional("waiting")?)?,
            Some(AnyKey::CleanupStep(_)) => named(None)?,
            Some(AnyKey::Job(key)) => Some((key.page.into(), JobStep::decode(item)?.changed_at(), None)),
            Some(AnyKey::Backlog(_)) => {
                let BacklogItem { key, events, step, .. } = BacklogItem::decode(item)?;
                let oldest = events.iter().map(|event| event.at).min();
                Some((step, oldest.unwrap_or_else(|| key.id.at()), None))
            }
            Some(AnyKey::ChangeNote(_)) => Some((0, ChangeNote::decode(item)?.at, None)),
            _ => None,
        };
        Ok(found.map(|(number, begun, waiting_since)| Self { key, number, begun, expires_at, waiting_since }))
    }

    /// The kind of the work: `deletion`, `push`, `backlog` …
    pub fn kind(&self) -> String {
        self.parts().0.to_ascii_lowercase()
    }

    /// The name of the work within its kind: `posts`.
    pub fn name(&self) -> &str {
        self.parts().1
    }

    fn parts(&self) -> (&str, &str) {
        self.key.pk.strip_prefix(PREFIX).and_then(|work| work.split_once('#')).unwrap_or_default()
    }

    /// The partition of the work with a kind and a name.
    ///
    /// ```
    /// assert_eq!(lately_items::WaitingStep::partition("deletion", "posts"), "JOB#DELETION#posts");
    /// ```
    pub fn partition(kind: &str, name: &str) -> String {
        format!("{PREFIX}{}#{name}", kind.to_ascii_uppercase())
    }
}
