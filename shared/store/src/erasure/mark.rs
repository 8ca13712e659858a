//! The mark of an actor's erasure in a topic, for those who see the topic's events land.
//!
//! ```text
//! ANNOUNCED#{topic} / #ERASING#{actor}
//!   erasure S (an id), step N (the step that put the mark), expires_at N (two days after the erasure is done)
//! ```

use lately_keys::table::{ErasureId, ErasureMarkKey};
use lately_keys::{Actor, TableKey, Topic, UnixMillis};
use lately_table::{Condition, Corrupt, Item, PutIf, TableError, Update};

use crate::limits::{ENDING_MARK_SECONDS, ERASED_IDS_SECONDS};
use crate::op::Op;

/// An erasure of an actor whose events may still land in a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErasureMark {
    pub(crate) actor: Actor,
    pub(crate) erasure: ErasureId,
    /// The step of the erasure that put the mark.
    pub(crate) step: u32,
}

impl ErasureMark {
    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let ErasureMarkKey { actor, .. } = item.key_as()?;
        Ok(Self { actor, erasure: item.parsed("erasure")?, step: item.number("step")? })
    }

    fn key(&self, topic: &Topic) -> ErasureMarkKey {
        ErasureMarkKey { topic: topic.clone(), actor: self.actor.clone() }
    }

    /// The item. It expires in any case: no later step finds a topic that is deleted meanwhile.
    fn encode(&self, topic: &Topic, now: UnixMillis) -> Item {
        Item::at(&self.key(topic))
            .with("erasure", self.erasure.to_string())
            .with("step", self.step)
            .with("expires_at", now.get() / 1000 + ERASED_IDS_SECONDS)
    }

    /// Puts the mark.
    pub(crate) async fn put(&self, op: &Op, topic: &Topic) -> Result<(), TableError> {
        op.table.put(&self.encode(topic, op.now())).await
    }

    /// Puts the mark if the topic has none for the actor. Returns whether this step has put it, now or in an earlier
    /// attempt.
    pub(crate) async fn put_if_missing(&self, op: &Op, topic: &Topic) -> Result<bool, TableError> {
        match op.table.put_if(&self.encode(topic, op.now()), &Condition::no_item()).await? {
            PutIf::Done => Ok(true),
            PutIf::Refused(there) => Ok(there.as_ref().map(Self::decode).transpose()?.as_ref() == Some(self)),
        }
    }

    /// Lets the mark expire soon.
    pub(crate) async fn end(&self, op: &Op, topic: &Topic) -> Result<(), TableError> {
        let update = Update::under(self.key(topic).encode())
            .set("expires_at", op.now().get() / 1000 + ENDING_MARK_SECONDS)
            .only_if(Condition::equals("erasure", self.erasure.to_string()));
        op.table.update(&update).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752";
        let mark = ErasureMark { actor: "ada".parse().unwrap(), erasure: id.parse().unwrap(), step: 3 };
        let stored = Item::from([("pk", "ANNOUNCED#posts"), ("sk", "#ERASING#ada"), ("erasure", id)]);
        let stored = stored.with("step", 3_u64).with("expires_at", 1_000 + ERASED_IDS_SECONDS);
        let now = UnixMillis::new(1_000_500).unwrap();
        assert_eq!(mark.encode(&"posts".parse().unwrap(), now), stored);
        assert_eq!(ErasureMark::decode(&stored), Ok(mark));
    }
}
