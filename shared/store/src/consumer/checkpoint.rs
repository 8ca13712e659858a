//! A consumer's checkpoint: how far it has read, and what it is about to.
//!
//! ```text
//! CONSUMER#{topic}#{name} / CHECKPOINT
//!   incarnation N (its creation's unix microseconds), revision N, settle N (seconds)
//!   start S (an id: what is at or before it is never given), position S (all at or before it is committed)
//!   mode S? (polls | runs: what it was first used for), known L (16 N: the ledger's counters that are dealt with)
//!   running S? (the end of the run under way), last S? (the batch that was committed last), deleting BOOL?
//!   a batch that is given out:  batch S, upto S (an id), late B (ids, 16 bytes each), dealt L (16 N)
//!   sweeps L? of M: shard N, count N, behind S (an id): a partition that was looked through in part
//! ```
//!
//! It changes under its revision alone, as a whole. Whoever loses looks at what is there and decides again, so every
//! decision is one that may be made twice.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use lately_keys::limits::LATE_SHARDS;
use lately_keys::table::ConsumerKey;
use lately_keys::{EventId, Place, TableKey, UnixMillis};
use lately_model::{BatchToken, Revision, SettleSeconds};

use crate::consumer::ConsumerHandle;
use crate::consumer::counters::Counters;
use crate::error::TableError;
use crate::item::{Corrupt, Fields, Item, keyed, number, text};
use crate::limits::CONFLICTS;
use crate::revision::{Guarded, REVISION, revision_of};

/// What a consumer is used for, from its first use on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConsumerMode {
    /// Its events are polled, in batches.
    Polls,
    /// They are reported, in runs.
    Runs,
}

impl ConsumerMode {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Polls => "polls",
            Self::Runs => "runs",
        }
    }

    pub(crate) fn of(fields: Fields<'_>) -> Result<Option<Self>, Corrupt> {
        match fields.optional_text("mode")? {
            None => Ok(None),
            Some("polls") => Ok(Some(Self::Polls)),
            Some("runs") => Ok(Some(Self::Runs)),
            Some(_) => Err(fields.corrupt("mode")),
        }
    }
}

/// A consumer as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) consumer: ConsumerKey,
    /// Which of the consumers that ever had this name it is.
    pub(crate) incarnation: Revision,
    pub(crate) revision: Revision,
    pub(crate) settle: SettleSeconds,
    pub(crate) start: EventId,
    pub(crate) position: EventId,
    pub(crate) mode: Option<ConsumerMode>,
    pub(crate) known: Counters,
    pub(crate) running: Option<EventId>,
    pub(crate) outstanding: Option<Outstanding>,
    /// At most one of each partition.
    pub(crate) sweeps: Vec<Sweep>,
    pub(crate) last: Option<BatchToken>,
    pub(crate) deleting: bool,
}

/// A partition of the late ledger that is too long to be looked through at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sweep {
    pub(crate) shard: u8,
    /// How often the partition was counted when this began at its first entry.
    pub(crate) count: u64,
    /// All entries at or before this id that had landed by then are settled.
    pub(crate) behind: EventId,
}

/// A batch that is given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outstanding {
    pub(crate) batch: BatchToken,
    /// It goes up to this event.
    pub(crate) upto: EventId,
    /// What it holds from behind the position, oldest first.
    pub(crate) late: Vec<EventId>,
    /// The counters that are dealt with once it is committed.
    pub(crate) dealt: Counters,
}

/// The place before all events. The one id that it excludes is that of the first moment of 1970 with all bits zero.
pub(crate) const fn beginning() -> EventId {
    EventId::first_of(UnixMillis::MIN)
}

impl Checkpoint {
    pub(crate) fn key(consumer: &ConsumerKey) -> Item {
        keyed(Place::Table, consumer.encode())
    }

    /// A consumer that is made now.
    pub(crate) fn new(
        consumer: &ConsumerKey,
        start: EventId,
        settle: SettleSeconds,
        incarnation: Revision,
    ) -> Self {
        Self {
            consumer: consumer.clone(),
            incarnation,
            revision: incarnation,
            settle,
            start,
            position: start,
            mode: None,
            known: Counters::default(),
            running: None,
            outstanding: None,
            sweeps: Vec::new(),
            last: None,
            deleting: false,
        }
    }

    /// Up to where everything has had the time to land.
    pub(crate) fn watermark(&self, now: UnixMillis) -> EventId {
        EventId::last_of(now.saturating_sub(self.settle.millis()))
    }

    pub(crate) fn encode(&self) -> Item {
        let mut item = Self::key(&self.consumer);
        let mut put = |name: &str, value| item.insert(name.to_owned(), value);
        put("incarnation", number(self.incarnation.get()));
        put(REVISION, number(self.revision.get()));
        put("settle", number(self.settle.get()));
        put("start", text(self.start.to_string()));
        put("position", text(self.position.to_string()));
        put("known", self.known.encode());
        if let Some(mode) = self.mode {
            put("mode", text(mode.as_str()));
        }
        if let Some(running) = self.running {
            put("running", text(running.to_string()));
        }
        if let Some(last) = self.last {
            put("last", text(last.to_string()));
        }
        if self.deleting {
            put("deleting", AttributeValue::Bool(true));
        }
        if let Some(Outstanding { batch, upto, late, dealt }) = &self.outstanding {
            put("batch", text(batch.to_string()));
            put("upto", text(upto.to_string()));
            put("late", encode_ids(late));
            put("dealt", dealt.encode());
        }
        if !self.sweeps.is_empty() {
            put("sweeps", AttributeValue::L(self.sweeps.iter().map(Sweep::encode).collect()));
        }
        item
    }

    pub(crate) fn decode(item: &Item) -> Result<Self, Corrupt> {
        let fields = Fields(item);
        let consumer = ConsumerKey::decode(fields.text("pk")?, fields.text("sk")?);
        let outstanding = match fields.optional_parsed("batch")? {
            None => None,
            Some(batch) => Some(Outstanding {
                batch,
                upto: fields.parsed("upto")?,
                late: decode_ids(fields, "late")?,
                // Without it, its partitions are looked through once more.
                dealt: match item.contains_key("dealt") {
                    true => Counters::decode(item, "dealt")?,
                    false => Counters::default(),
                },
            }),
        };
        let sweeps = match item.get("sweeps") {
            None => Vec::new(),
            Some(AttributeValue::L(sweeps)) => sweeps.iter().map(Sweep::decode).collect::<Result<_, _>>()?,
            Some(_) => return Err(fields.corrupt("sweeps")),
        };
        let settle = SettleSeconds::new(fields.number("settle")?);
        Ok(Self {
            consumer: consumer.ok_or_else(|| fields.corrupt("sk"))?,
            incarnation: incarnation(fields)?,
            revision: revision_of(item)?,
            settle: settle.map_err(|_| fields.corrupt("settle"))?,
            start: fields.parsed("start")?,
            position: fields.parsed("position")?,
            mode: ConsumerMode::of(fields)?,
            known: Counters::decode(item, "known")?,
            running: fields.optional_parsed("running")?,
            outstanding,
            sweeps,
            last: fields.optional_parsed("last")?,
            deleting: fields.flag("deleting"),
        })
    }
}

impl Sweep {
    fn encode(&self) -> AttributeValue {
        let Self { shard, count, behind } = self;
        let parts =
            [("shard", number(*shard)), ("count", number(*count)), ("behind", text(behind.to_string()))];
        AttributeValue::M(parts.map(|(name, value)| (name.to_owned(), value)).into())
    }

    fn decode(value: &AttributeValue) -> Result<Self, Corrupt> {
        let nothing = Item::new();
        let fields = Fields(value.as_m().unwrap_or(&nothing));
        let shard: u8 = fields.number("shard")?;
        let shard = Some(shard).filter(|shard| *shard < LATE_SHARDS);
        Ok(Self {
            shard: shard.ok_or_else(|| fields.corrupt("shard"))?,
            count: fields.number("count")?,
            behind: fields.parsed("behind")?,
        })
    }
}

/// Which consumer of its name an item belongs to.
pub(crate) fn incarnation(fields: Fields<'_>) -> Result<Revision, Corrupt> {
    fields.number("incarnation").map(Revision::new)
}

/// Ids as one attribute.
pub(crate) fn encode_ids(ids: &[EventId]) -> AttributeValue {
    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.as_uuid().into_bytes()).collect();
    AttributeValue::B(Blob::new(bytes))
}

/// Reads what [`encode_ids`] wrote.
pub(crate) fn decode_ids(fields: Fields<'_>, name: &'static str) -> Result<Vec<EventId>, Corrupt> {
    let ids = fields.bytes(name)?.chunks(16).map(EventId::from_slice).collect::<Option<_>>();
    ids.ok_or_else(|| fields.corrupt(name))
}

impl ConsumerHandle<'_> {
    /// A consumer, if there is one. The read is consistent.
    pub(crate) async fn checkpoint(self) -> Result<Option<Checkpoint>, TableError> {
        let consumer = self.consumer;
        let item = self.op.table.get_item(Checkpoint::key(consumer)).await?;
        Ok(item.as_ref().map(Checkpoint::decode).transpose()?)
    }

    /// Lets `decide` say what a consumer is to become, from what was found of it, and writes that under its revision; from
    /// what is there then if another was first, up to [`CONFLICTS`] times. `None` leaves it as it is. What there is in the
    /// end; none if it was deleted.
    pub(crate) async fn change<E: From<TableError>>(
        self,
        mut found: Option<Checkpoint>,
        mut decide: impl FnMut(&Checkpoint) -> Result<Option<Checkpoint>, E>,
    ) -> Result<Option<Checkpoint>, E> {
        for _ in 0..CONFLICTS {
            let Some(known) = found else { return Ok(None) };
            let Some(wanted) = decide(&known)? else { return Ok(Some(known)) };
            let wanted = Checkpoint { revision: known.revision.next(), ..wanted };
            found = match self.op.table.put_revised(&wanted.encode(), Some(known.revision)).await? {
                Guarded::Written => return Ok(Some(wanted)),
                Guarded::Stale(there) => {
                    there.as_ref().map(Checkpoint::decode).transpose().map_err(TableError::from)?
                }
                // Whatever came since: it is decided from what is there now.
                Guarded::Unknown => self.checkpoint().await?,
            };
        }
        Err(too_busy().into())
    }
}

pub(crate) fn too_busy() -> TableError {
    TableError::unavailable("others keep changing the consumer")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190a4cd-d3e7-7222-9f99-fdb74feee752";

    fn checkpoint() -> Checkpoint {
        let consumer = ConsumerKey { topic: "billing".parse().unwrap(), name: "nightly".parse().unwrap() };
        Checkpoint::new(&consumer, beginning(), SettleSeconds::default(), Revision::new(7))
    }

    /// The attributes, sorted, as they are stored.
    fn golden(checkpoint: &Checkpoint) -> Vec<String> {
        let item = checkpoint.encode();
        assert_eq!(Checkpoint::decode(&item).as_ref(), Ok(checkpoint));
        let written = |(name, value): (String, AttributeValue)| match value {
            AttributeValue::L(list) => {
                let counts: Vec<_> = list.iter().map(|count| count.as_n().unwrap().as_str()).collect();
                format!("{name} L {}", counts.join(" "))
            }
            AttributeValue::B(bytes) => format!("{name} B {:02x?}", bytes.as_ref()),
            value => format!("{name} {value:?}"),
        };
        let mut attributes: Vec<_> = item.into_iter().map(written).collect();
        attributes.sort();
        attributes
    }

    #[test]
    fn golden_bytes() {
        let zeros = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
        assert_eq!(
            golden(&checkpoint()),
            [
                r#"incarnation N("7")"#,
                &format!("known L {zeros}"),
                r#"pk S("CONSUMER#billing#nightly")"#,
                r#"position S("00000000-0000-7000-8000-000000000000")"#,
                r#"revision N("7")"#,
                r#"settle N("10")"#,
                r#"sk S("CHECKPOINT")"#,
                r#"start S("00000000-0000-7000-8000-000000000000")"#,
            ]
        );
        let id: EventId = ID.parse().unwrap();
        let all = Checkpoint {
            mode: Some(ConsumerMode::Polls),
            running: Some(id),
            last: Some(BatchToken::new(Revision::new(7), Revision::new(8))),
            deleting: true,
            outstanding: Some(Outstanding {
                batch: BatchToken::new(Revision::new(7), Revision::new(9)),
                upto: id,
                late: vec![id],
                dealt: Counters::default(),
            }),
            ..checkpoint()
        };
        let added: Vec<_> =
            golden(&all).into_iter().filter(|one| !golden(&checkpoint()).contains(one)).collect();
        assert_eq!(
            added,
            [
                r#"batch S("7-9")"#,
                &format!("dealt L {zeros}"),
                "deleting Bool(true)",
                r#"last S("7-8")"#,
                "late B [01, 90, a4, cd, d3, e7, 72, 22, 9f, 99, fd, b7, 4f, ee, e7, 52]",
                r#"mode S("polls")"#,
                &format!(r#"running S("{ID}")"#),
                &format!(r#"upto S("{ID}")"#),
            ]
        );
        assert_eq!(
            golden(&Checkpoint { mode: Some(ConsumerMode::Runs), ..checkpoint() })[2],
            r#"mode S("runs")"#
        );
    }

    #[test]
    fn golden_bytes_of_sweeps() {
        let sweep = Sweep { shard: 3, count: 17, behind: ID.parse().unwrap() };
        let item = Checkpoint { sweeps: vec![sweep.clone()], ..checkpoint() }.encode();
        let stored = [("shard", number(3_u8)), ("count", number(17_u64)), ("behind", text(ID))];
        let stored = AttributeValue::M(stored.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!(item["sweeps"], AttributeValue::L(vec![stored]));
        assert_eq!(Checkpoint::decode(&item).unwrap().sweeps, [sweep]);
    }

    #[test]
    fn a_batch_that_does_not_say_what_it_deals_with_deals_with_nothing() {
        let batch = BatchToken::new(Revision::new(7), Revision::new(9));
        let dealt = Counters::default();
        let outstanding = Outstanding { batch, upto: beginning(), late: Vec::new(), dealt };
        let all = Checkpoint { outstanding: Some(outstanding), ..checkpoint() };
        let mut item = all.encode();
        item.remove("dealt").unwrap();
        assert_eq!(Checkpoint::decode(&item), Ok(all));
    }

    #[test]
    fn what_is_no_checkpoint_is_corrupt() {
        for (name, value) in [
            ("settle", number(3_601_u64)),
            ("mode", text("both")),
            ("known", AttributeValue::L(vec![])),
            ("position", text("x")),
            ("batch", text("1-1")),
            ("sweeps", AttributeValue::L(vec![number(1_u8)])),
        ] {
            let mut item = checkpoint().encode();
            item.insert(name.to_owned(), value);
            Checkpoint::decode(&item).unwrap_err();
        }
    }
}
