//! The commands of the API. They send HTTP requests with a token and print the responses.
//!
//! They stand on the client for Rust alone. Most are a row of a table (`command.rs`): they call one operation and print its
//! response, as rows for people (`view.rs`) or, with `--json`, as the API's own JSON for programs. The others have a file. Text from elsewhere
//! is printed without control characters (`../text.rs`), no request takes effect twice (`access.rs`), and the exit code says
//! how the command ended (`../failure.rs`).

pub(crate) mod access;
mod arguments;
pub(crate) mod check;
pub(crate) mod command;
mod confirm;
pub(crate) mod consume;
mod document;
pub(crate) mod erase;
mod issue;
pub(crate) mod load;
mod post;
pub(crate) mod session;
mod stack;
mod status_line;
mod tail;
mod timeline;
mod topic;
pub(crate) mod view;
