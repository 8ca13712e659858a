//! Every item that Lately stores: its keys, its attributes, and how it is stored. Pure.
//!
//! The table has the keys `pk` and `sk` and two indexes, `gsi1` and `gsi2`. Each file here draws the layout of its item,
//! declares the item's keys (`key.rs` shows how), and encodes and decodes its attributes. No other code composes key text.
//! `ARCHITECTURE.md` draws the whole table.
//!
//! # The items
//!
//! | item | file | who writes it | who reads it |
//! | --- | --- | --- | --- |
//! | topic | `topic.rs` | topics | everything |
//! | directory entry | `directory.rs` | writes of events | pages, walks, the console |
//! | event | `event.rs` | writes of events | pages, fan-out |
//! | idempotency record, note of a deleted event | `idempotency.rs` | writes and deletions of events | retries of writes |
//! | entry of a timeline or a feed | `timeline_entry.rs` | fan-out | timelines, feeds |
//! | source | `source.rs` | fan-out, follows | timelines, feeds, fan-out |
//! | pull marker, seen mark | `feed.rs` | fan-out; users who read their feed | feeds |
//! | follow edge, follower, counts of a shard, leaver | `follow.rs` | follows, fan-out | feeds, fan-out |
//! | page of a job, mark of a page that began | `job.rs` | fan-out | fan-out |
//! | backlog | `backlog.rs` | fan-out | fan-out |
//! | note of a change that is handled later | `change.rs` | fan-out | fan-out |
//! | next steps of background work | `work.rs` | | |
//! | step of a feed's cleanup | `cleanup_step.rs` | fan-out | fan-out |
//! | mark and step of a deletion, or of another retention | `ending.rs`, `ending_step.rs` | topics, fan-out | fan-out, topics |
//! | step, erased ids and list of erasures | `erasure_step.rs`, `erasure.rs` | erasures, fan-out | fan-out, writes of events |
//! | consumer | `consumer.rs` | consumers, report runs | consumers, report runs |
//! | announcement | `announcement.rs` | consumers, report runs | fan-out |
//! | late log of a topic | `late_log.rs` | fan-out; readers fill gaps | consumers, report runs, live streams |
//! | report run, late events that it reports | `run.rs` | report runs | report runs |
//! | watch of a live timeline, note of late entries | `live.rs` | live streams; fan-out | fan-out; live streams |
//! | profile, settings | `document.rs` | records | records |
//! | repository, issue | `issue.rs`, `issue_schema.rs` | issues | issues |
//! | session | `session.rs` | sessions | the authorizer |
//! | quota, open stream | `quota.rs` | every function; live streams | the same |
//! | keys of an issuer of JWTs | `issuer.rs` | the authorizer | the authorizer |
//!
//! # A file
//!
//! A file has its parts in this order: the layout, the keys (`key!`), the struct with its attributes, and a test of the
//! stored bytes. If an item's attributes are the fields of a struct, `record!` declares both, and makes the encoder and the
//! decoder (`record.rs` shows how). Other items have these functions by hand. `attribute.rs` says how each type is stored.
//! `decode` fails with [`Corrupt`] if the item has another form. Stored bytes never change, so the tests of them never do. Decisions about an item that need no call are here too; calls, conditions and updates are in the store.
//!
//! ```
//! use lately_items::{AnyKey, EventKey};
//! use lately_keys::{BucketWidth, TableKey};
//!
//! let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse()?;
//! let key = EventKey::new("posts".parse()?, BucketWidth::Day, id);
//! let text = key.encode();
//! assert_eq!(text.pk, "EVENTS#posts#2024-07-12#SHARD126");
//! assert_eq!(text.sk, "fe6f5b32-2c18-8ddd-6066-0248b01118ad");
//! assert_eq!(AnyKey::decode(&text.pk, &text.sk), Some(AnyKey::Event(key)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]

mod announcement;
mod any_key;
mod attribute;
mod backlog;
mod change;
mod cleanup_step;
mod consumer;
mod directory;
mod document;
mod ending;
mod ending_step;
mod erasure;
mod erasure_step;
pub mod event;
mod feed;
mod follow;
mod form;
mod idempotency;
pub mod issue;
mod issue_schema;
mod issuer;
mod item;
mod job;
mod key;
mod late_log;
pub mod limits;
mod live;
mod quota;
mod record;
mod run;
pub mod session;
mod source;
mod timeline_entry;
mod topic;
mod work;

pub use self::{
    announcement::*,
    any_key::AnyKey,
    attribute::{Attribute, Value},
    backlog::*,
    change::*,
    cleanup_step::*,
    consumer::*,
    directory::*,
    document::*,
    ending::*,
    ending_step::*,
    erasure::*,
    erasure_step::*,
    event::{Acceptance, EventKey, EventPartition, TypeViewKey, TypeViewPartition},
    feed::*,
    follow::*,
    idempotency::*,
    issue::{IssueKey, IssuePriorityKey, IssueStatusKey, RepositoryKey},
    issue_schema::*,
    issuer::*,
    item::{Corrupt, EXPIRES_AT, INCARNATION, Item, REVISION, id_of_sort_key},
    job::*,
    late_log::*,
    live::*,
    quota::*,
    record::Record,
    run::*,
    session::{SessionKey, SessionListKey, SessionNameKey, TokenHash, UserSessionKey},
    source::*,
    timeline_entry::*,
    topic::*,
    work::*,
};

#[cfg(test)]
mod tests;
