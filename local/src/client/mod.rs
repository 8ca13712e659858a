//! The commands of the API. They send HTTP requests with a token and print the responses.
//!
//! Each command has a file. It parses its arguments into the API's types, sends requests, and prints rows for people
//! or, with `--json`, the API's own JSON for programs. Text from elsewhere is printed without control characters
//! (`text.rs`), no request takes effect twice (`ask.rs`), and the exit code says how the command ended (`failure.rs`).

pub(crate) mod ask;
pub mod check;
mod confirm;
pub mod consume;
mod consumer;
mod document;
mod erase;
mod event;
mod failure;
mod feed;
mod follow;
mod issue;
mod issue_view;
pub(crate) mod jwt;
mod latest;
mod list;
mod load;
mod post;
pub(crate) mod remote;
pub(crate) mod session;
mod source;
mod status_line;
mod tail;
pub(crate) mod text;
mod text_table;
mod timeline;
mod token_session;
mod topic;
mod topic_deletion;
mod wait;
mod whoami;

use std::io::Write;
use std::process::ExitCode;

pub use check::CheckOptions;
pub use consumer::ConsumerOptions;
pub use document::{ProfileOptions, SettingsOptions};
pub use erase::EraseOptions;
pub use event::EventOptions;
pub use failure::{Failure, Refusal};
pub use feed::FeedOptions;
pub use follow::{FollowOptions, FollowersOptions, FollowingOptions, UnfollowOptions};
pub use issue::IssueOptions;
pub use jwt::JwtArguments;
pub use latest::LatestOptions;
pub use load::LoadOptions;
pub use post::PostOptions;
pub use source::SourceOptions;
pub use tail::TailOptions;
pub use token_session::SessionOptions;
pub use topic::TopicOptions;
pub use whoami::WhoamiOptions;

use session::Terminal;

/// The commands of the API.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ApiCommand {
    /// List, show, create, change and delete topics
    Topic(TopicOptions),
    /// Write one event, or one event for each line of a file or of standard input
    ///
    /// A line is {"type":…,"actor":…,"subject":…,"data":…,"at":…}; subject, data and at are optional. Blank lines are
    /// skipped. Lines are sent in batches of up to 500 lines and 3 MiB. A batch that fails temporarily is retried for a
    /// minute, and no line is written twice. A single event without --idempotency-key is not retried if it may have
    /// been written.
    Post(Box<PostOptions>),
    /// Print the latest events of a topic, an actor or a subject, newest first
    ///
    /// For an actor or a subject, the events of all topics are printed, unless a topic is given. If there are more
    /// events, standard error shows the cursor of the next page. With --json each page is one line, as the API returns
    /// it.
    Latest(Box<LatestOptions>),
    /// Print the last events of a topic, oldest first, and with -f also new events
    ///
    /// With -f, each new event is printed once: as soon as it is written if the server streams, else about two seconds
    /// later. While the server cannot be reached, the command keeps retrying. With --json each event is one line.
    Tail(Box<TailOptions>),
    /// Show or delete one event, by its id
    Event(EventOptions),
    /// Show a user's feed, mark it as seen, verify and rebuild it
    Feed(FeedOptions),
    /// Make a user follow an actor or a subject
    Follow(FollowOptions),
    /// Make a user unfollow an actor or a subject
    Unfollow(UnfollowOptions),
    /// List the actors and subjects that a user follows
    Following(FollowingOptions),
    /// List the followers of an actor or a subject
    Followers(FollowersOptions),
    /// Show how many users follow an actor or a subject, and how its events reach their feeds
    Source(SourceOptions),
    /// List, show, open, edit, close and reopen issues
    Issue(IssueOptions),
    /// Show, set and delete a user's profile
    Profile(Box<ProfileOptions>),
    /// Show, set and delete an application's settings
    Settings(Box<SettingsOptions>),
    /// Create, show, move and delete a topic's consumers (scope consume)
    Consumer(ConsumerOptions),
    /// List, show, create and revoke sessions: the tokens' users, scopes and ends (scope admin)
    Session(SessionOptions),
    /// Erase an actor, a user, or both, and print the receipt (scope admin)
    ///
    /// An actor's events are erased in all topics, with their copies in timelines and feeds. A user's profile, sessions,
    /// feed and follows are erased. The receipt counts what was erased; it names the data that an erasure
    /// cannot reach. Keep the receipt: --json prints it in the form that lately erase verify reads.
    // `lately erase verify` reads the table, so it takes no options of the API.
    #[command(mut_args(|argument| argument.global(false)))]
    Erase(Box<EraseOptions>),
    /// Test a stack through its API, after a deployment for example (scope admin)
    ///
    /// It creates topics, events, follows, records and a consumer with new names, checks the responses, and deletes what it
    /// created, except issues. It prints the time and the price of each case, and the bound that the documents state. The
    /// exit code is 1 if a case fails, and 2 if the URL is not Lately's API or the token lacks the scope.
    Check(Box<CheckOptions>),
    /// Send a steady load to a stack, and measure how the stack takes it (scope admin)
    ///
    /// It posts events to new topics, at most a hundred posts a second: at higher rates, each post is a batch. Meanwhile
    /// readers read the latest 50 events, one live stream follows a topic, and one feed shows when fan-out has copied an
    /// event. Delays begin with the response to the post. No request is repeated. At the end, and after Ctrl-C, it deletes
    /// what it created. It asks before it sends to another machine, and names the price first.
    Load(Box<LoadOptions>),
    /// Show the user for whom a token acts, what it may do, and when it expires
    Whoami(WhoamiOptions),
}

/// Runs a command.
pub async fn run(
    command: ApiCommand,
    stdout: &mut (dyn Write + Send),
    stderr: &mut (dyn Write + Send),
) -> Result<(), Failure> {
    let columns = terminal_size::terminal_size_of(std::io::stdout());
    let columns = columns.map(|(terminal_size::Width(columns), _)| columns.into());
    let terminal = Terminal { stdout, stderr, columns };
    match command {
        ApiCommand::Topic(options) => Box::pin(topic::run(options, terminal)).await,
        ApiCommand::Post(options) => Box::pin(post::run(*options, terminal)).await,
        ApiCommand::Latest(options) => Box::pin(latest::run(*options, terminal)).await,
        ApiCommand::Tail(options) => Box::pin(tail::run(*options, terminal)).await,
        ApiCommand::Event(options) => Box::pin(event::run(options, terminal)).await,
        ApiCommand::Feed(options) => Box::pin(feed::run(options, terminal)).await,
        ApiCommand::Follow(options) => Box::pin(follow::follow(options, terminal)).await,
        ApiCommand::Unfollow(options) => Box::pin(follow::unfollow(options, terminal)).await,
        ApiCommand::Following(options) => Box::pin(follow::following(options, terminal)).await,
        ApiCommand::Followers(options) => Box::pin(follow::followers(options, terminal)).await,
        ApiCommand::Source(options) => Box::pin(source::run(options, terminal)).await,
        ApiCommand::Issue(options) => Box::pin(issue::run(options, terminal)).await,
        ApiCommand::Profile(options) => Box::pin(document::profile(*options, terminal)).await,
        ApiCommand::Settings(options) => Box::pin(document::settings(*options, terminal)).await,
        ApiCommand::Consumer(options) => Box::pin(consumer::run(options, terminal)).await,
        ApiCommand::Session(options) => Box::pin(token_session::run(options, terminal)).await,
        ApiCommand::Erase(options) => Box::pin(erase::run(*options, terminal)).await,
        ApiCommand::Check(options) => Box::pin(check::run(*options, terminal)).await,
        ApiCommand::Load(options) => Box::pin(load::run(*options, terminal)).await,
        ApiCommand::Whoami(options) => Box::pin(whoami::run(options, terminal)).await,
    }
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
