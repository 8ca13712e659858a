//! Events of an erased actor that land while the erasure runs, or whose records come later.
//!
//! Fan-out reads the marks after it has written the entries of the records' events. So an event whose entry was too late
//! for the erasure's walk meets the mark here. The receipt's time of the end decides whether the event is erased. Its id
//! is durable before the event is deleted.

use lately_keys::table::EventKey;
use lately_keys::{Actor, EventId, TableKey, Topic, UnixMillis};
use lately_table::TableError;

use crate::erasure::ids::ErasedIds;
use crate::erasure::mark::ErasureMark;
use crate::erasure::step::ErasureStep;
use crate::event::is_keyed;
use crate::fan_out::FanOut;
use crate::fan_out::backlog::{BacklogItem, LeftEvent};
use crate::op::Op;

/// An erasure whose mark stands in a topic.
#[derive(Debug)]
pub(in crate::fan_out) struct MarkedErasure<'a> {
    op: &'a Op,
    step: ErasureStep,
}

impl<'a> MarkedErasure<'a> {
    /// The erasure of an actor, by the marks of a topic.
    pub(in crate::fan_out) async fn of(
        op: &'a Op,
        marks: &[ErasureMark],
        actor: &Actor,
    ) -> Result<Option<Self>, TableError> {
        let Some(mark) = marks.iter().find(|mark| mark.actor == *actor) else { return Ok(None) };
        let step = op.erasures().step(mark.erasure).await?;
        Ok(step.map(|step| Self { op, step }))
    }

    /// Erases an event that landed at a time, in whole seconds. Returns false if the event stays: it landed after the
    /// end.
    pub(in crate::fan_out) async fn erase(
        &self,
        key: &EventKey,
        landed_at: UnixMillis,
    ) -> Result<bool, TableError> {
        let Self { op, step } = self;
        if !step.covers(landed_at) {
            return Ok(false);
        }
        let Some(event) = op.table.get(key.encode()).await? else { return Ok(true) };
        ErasedIds { op, erasure: step.erasure }.add(key.id()).await?;
        if is_keyed(&event)? {
            op.topic(&key.partition().topic).note_deletion(key.id()).await?;
        }
        op.table.delete(key.encode()).await?;
        Ok(true)
    }
}

impl FanOut<'_> {
    /// Erases the events of an actor that a backlog held back until the erasure had passed.
    pub(in crate::fan_out) async fn erase_left(
        &self,
        actor: &Actor,
        items: &[BacklogItem],
    ) -> Result<(), TableError> {
        let written = items.iter().filter_map(|item| Some((item.written.as_ref()?, &item.events)));
        let mut known: Vec<(&Topic, Option<MarkedErasure<'_>>)> = Vec::new();
        for ((topic, width), events) in written {
            if !known.iter().any(|(known, _)| *known == topic) {
                let announced = self.op.topic(topic).announced().await?;
                known.push((topic, MarkedErasure::of(self.op, &announced.erasing, actor).await?));
            }
            let erasure =
                known.iter().find(|(known, _)| *known == topic).and_then(|(_, erasure)| erasure.as_ref());
            let Some(erasure) = erasure else { continue };
            for LeftEvent { id, at, .. } in events {
                let id: EventId = *id;
                erasure.erase(&EventKey::new(topic.clone(), *width, id), *at).await?;
            }
        }
        Ok(())
    }
}
