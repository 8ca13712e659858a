//! The commands of the API. They send HTTP requests with a token and print the responses.
//!
//! They stand on the client for Rust alone. Most call one operation and print its response (`command.rs`): as rows for
//! people (`view.rs`) or, with `--json`, as the API's own JSON for programs. The others have a file. Text from elsewhere
//! is printed without control characters (`../text.rs`), no request takes effect twice (`access.rs`), and the exit code says
//! how the command ended (`../failure.rs`).

pub(crate) mod access;
pub mod check;
mod command;
mod confirm;
pub(crate) mod consume;
mod consumer;
mod document;
mod erase;
mod event;
mod feed;
mod issue;
pub(crate) mod jwt;
mod list;
mod load;
mod post;
mod session;
mod stack;
mod status_line;
mod tail;
mod timeline;
mod token_session;
mod topic;
mod topic_deletion;
mod view;
mod wait;

pub(crate) use command::ApiCommand;
