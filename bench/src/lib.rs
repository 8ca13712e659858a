//! Every published figure, reproduced by one command.
//!
//! | `cargo run -p bench --release --` | finds |
//! | --- | --- |
//! | `designs` | Lately and five published designs beside each other, under the same workloads |
//! | `reads`, `writes`, `fan-out` | what reading, writing and delivering events costs at DynamoDB |
//! | `overload` | what others notice of a source that is written faster than its timeline can take |
//! | `cold-start` | how fast each function starts, what it takes and how large it is |
//! | `ids` | what ids, keys and cursors cost in time; with `--profile bench` in place of `--release` |
//!
//! Each prints tables, or with `--json` JSON; with `--write` it commits them, and what is published is made from that
//! (`published.rs`); `publish` makes it anew and measures nothing. `cargo bench -p bench` times calls to the embedded engine.

pub mod block;
pub mod chart;
pub mod designs;
pub mod fan_out;
pub mod ids;
pub mod overload;
pub mod progress;
pub mod published;
pub mod reads;
pub mod report;
mod topic;
pub mod writes;
