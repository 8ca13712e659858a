//! The commands of the API: what a client can do, on the command line, over HTTP.
//!
//! A file a command. Each reads its arguments into the types of the API, asks, and prints: rows for people, with `--json`
//! what the API says for programs. What comes from elsewhere is printed plain (`text.rs`), nothing is done twice
//! (`ask.rs`), and the process ends with a code that says how it went (`failure.rs`).

pub(crate) mod ask;
pub mod consume;
mod failure;
mod feed;
mod follow;
mod issue;
mod issue_view;
mod latest;
mod list;
mod post;
pub(crate) mod remote;
pub mod scenario;
mod session;
mod tail;
pub(crate) mod text;
mod text_table;
mod timeline;
mod topic;

use std::io::Write;
use std::process::ExitCode;

pub use failure::{Failure, Refusal};
pub use feed::FeedOptions;
pub use follow::{FollowOptions, FollowersOptions, FollowingOptions, UnfollowOptions};
pub use issue::IssueOptions;
pub use latest::LatestOptions;
pub use post::PostOptions;
pub use tail::TailOptions;
pub use topic::TopicOptions;

use session::Screen;

/// What can be done through the API.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ApiCommand {
    /// List, show, create and change topics
    Topic(TopicOptions),
    /// Write an event, or each line of a file or of standard input as one
    ///
    /// A line is {"type":…,"actor":…,"subject":…,"data":…,"at":…}, the last three optional; blank lines are passed over.
    /// Lines are sent in batches of up to 500 and 3 MiB. What fails for a while is sent again, for a minute, and never
    /// written twice. Without a key, a single event is not sent again where it may have been written.
    Post(Box<PostOptions>),
    /// Print the latest events of a topic, an actor or a subject, newest first
    ///
    /// Of an actor or a subject, what they have in all topics, unless one is named. Where the page does not end the
    /// timeline, standard error says the cursor of the next one; with --json each page is a line, as the API gives it.
    Latest(Box<LatestOptions>),
    /// Print the last events of a topic, oldest first, and those that come
    ///
    /// With -f, an event shows about two seconds after it was written, and once; while the server is away, it is asked
    /// again and again. With --json each event is a line.
    Tail(TailOptions),
    /// Show a user's feed, mark it as seen, and mend it
    Feed(FeedOptions),
    /// Let a user follow an actor or a subject
    Follow(FollowOptions),
    /// Let a user no longer follow an actor or a subject
    Unfollow(UnfollowOptions),
    /// List what a user follows
    Following(FollowingOptions),
    /// List who follows an actor or a subject
    Followers(FollowersOptions),
    /// List, show, open, edit, close and reopen issues
    Issue(IssueOptions),
}

/// Does what a command says.
///
/// # Errors
/// See [`Failure`].
pub async fn run(
    command: ApiCommand,
    out: &mut (dyn Write + Send),
    told: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    let columns = terminal_size::terminal_size_of(std::io::stdout());
    let columns = columns.map(|(terminal_size::Width(columns), _)| columns.into());
    let screen = Screen { out, told, columns };
    match command {
        ApiCommand::Topic(options) => Box::pin(topic::run(options, screen)).await,
        ApiCommand::Post(options) => Box::pin(post::run(*options, screen)).await,
        ApiCommand::Latest(options) => Box::pin(latest::run(*options, screen)).await,
        ApiCommand::Tail(options) => Box::pin(tail::run(options, screen)).await,
        ApiCommand::Feed(options) => Box::pin(feed::run(options, screen)).await,
        ApiCommand::Follow(options) => Box::pin(follow::follow(options, screen)).await,
        ApiCommand::Unfollow(options) => Box::pin(follow::unfollow(options, screen)).await,
        ApiCommand::Following(options) => Box::pin(follow::following(options, screen)).await,
        ApiCommand::Followers(options) => Box::pin(follow::followers(options, screen)).await,
        ApiCommand::Issue(options) => Box::pin(issue::run(options, screen)).await,
    }
}

/// The process's exit code. A failure is printed to `told`.
pub fn ended(done: Result<(), Failure>, told: &mut impl Write) -> ExitCode {
    match done {
        Err(failure) if !failure.is_closed_pipe() => {
            // Where nothing can be written any more, there is nobody to tell.
            drop(writeln!(told, "lately: {failure}"));
            failure.code().into()
        }
        _ => ExitCode::SUCCESS,
    }
}
