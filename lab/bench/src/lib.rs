//! The commands that measure every published figure.
//!
//! | `cargo run -p bench --release --` | measures |
//! | --- | --- |
//! | `designs` | Lately and five published designs under the same workloads |
//! | `reads`, `writes`, `fan-out` | the units and calls that reading, writing and delivering events cost |
//! | `growth` | the delays of writes to a topic of one shard at a rate that only many shards can take |
//! | `overload` | the effect on other sources of a source that is written faster than its timeline can take, and of hostile neighbours |
//! | `local` | the local program under load: times of requests, memory, and the price of a connection |
//! | `live` | live streams of the local program: delays, memory, processor time, and read units |
//! | `cold-start` | the start of each function: its time, instructions, memory and size |
//! | `ids` | the times to make and read ids, keys and cursors; with `--profile bench` instead of `--release` |
//!
//! Each command prints tables, or JSON with `--json`. With `--write` it also writes the figures to their file in
//! `bench/figures`, and fills the pages and pictures from that file (`published.rs`). `publish` only fills pages and
//! pictures. `cargo bench -p bench` times calls to the embedded engine.

pub mod block;
pub mod chart;
pub mod designs;
pub mod fan_out;
pub mod following;
pub mod growth;
pub mod ids;
pub mod overload;
pub mod progress;
pub mod published;
pub mod reads;
pub mod report;
mod topic;
pub mod writes;
