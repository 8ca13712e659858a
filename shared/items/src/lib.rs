//! Every item that Lately stores, one file each: its keys, its attributes, and how it is stored. Pure.
//!
//! The table has the keys `pk` and `sk` and two indexes, `gsi1` and `gsi2`. Each file here draws the layout of its item,
//! declares the item's keys (`key.rs` shows how), and encodes and decodes its attributes. No other code composes key text.
//! `ARCHITECTURE.md` draws the whole table.
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
mod backlog;
mod consumer;
mod deleted;
mod directory;
mod document;
mod ending;
mod ending_step;
mod erasure;
mod erasure_step;
pub mod event;
mod feed;
mod follow;
mod follower;
mod form;
mod idempotency;
pub mod issue;
mod issue_schema;
mod issuer;
mod item;
mod job;
mod key;
mod late;
mod late_page;
mod ledger_counters;
pub mod limits;
mod live;
mod profile;
mod quota;
mod repository;
mod run;
pub mod session;
mod settings;
mod source;
mod timeline_entry;
mod topic;

pub use self::{
    announcement::*,
    any_key::AnyKey,
    backlog::*,
    consumer::*,
    deleted::*,
    directory::*,
    document::*,
    ending::*,
    ending_step::*,
    erasure::*,
    erasure_step::*,
    event::{Acceptance, EventKey, EventPartition, TypeViewKey, TypeViewPartition},
    feed::*,
    follow::*,
    follower::*,
    idempotency::*,
    issue::{IssueKey, IssuePriorityKey, IssueStatusKey},
    issue_schema::*,
    issuer::*,
    item::{Corrupt, Item, REVISION, Value, revision_of},
    job::*,
    late::*,
    late_page::*,
    ledger_counters::*,
    live::*,
    profile::*,
    quota::*,
    repository::*,
    run::*,
    session::{SessionKey, SessionListKey, SessionNameKey, TokenHash, UserSessionKey},
    settings::*,
    source::*,
    timeline_entry::*,
    topic::*,
};

#[cfg(test)]
mod tests;
