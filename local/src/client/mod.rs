//! The commands of the API. They send HTTP requests with a token and print the responses.
//!
//! They stand on the client for Rust alone. Most call one operation and print its response (`command.rs`): as rows for
//! people (`view.rs`) or, with `--json`, as the API's own JSON for programs. The others have a file. Text from elsewhere
//! is printed without control characters (`text.rs`), no request takes effect twice (`access.rs`), and the exit code says
//! how the command ended (`failure.rs`).

pub(crate) mod access;
pub mod check;
mod command;
mod confirm;
pub mod consume;
mod document;
mod erase;
mod failure;
mod issue;
pub(crate) mod jwt;
mod load;
mod post;
pub(crate) mod session;
mod status_line;
mod tail;
pub(crate) mod text;
mod text_table;
mod timeline;
mod topic;
mod topic_deletion;
mod view;
mod wait;

use std::io::Write;
use std::process::ExitCode;

pub(crate) use command::ApiCommand;
pub use failure::{Failure, Refusal};
pub use jwt::JwtArguments;

use session::Terminal;

/// Runs a command.
pub async fn run(
    command: ApiCommand,
    stdout: &mut (dyn Write + Send),
    stderr: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    let columns = terminal_size::terminal_size_of(std::io::stdout());
    let columns = columns.map(|(terminal_size::Width(columns), _)| columns.into());
    let terminal = Terminal { stdout, stderr, columns };
    Box::pin(command.run(terminal)).await
}

/// The process's exit code. A failure is printed to `stderr`, with the command's name, such as `lately topic show`.
pub fn ended(done: Result<(), Failure>, command: &str, stderr: &mut impl Write) -> ExitCode {
    match done {
        Err(failure) if !failure.is_closed_pipe() => {
            // If standard error is closed, nobody reads the message.
            drop(writeln!(stderr, "{command}: {failure}"));
            failure.code().into()
        }
        _ => ExitCode::SUCCESS,
    }
}
