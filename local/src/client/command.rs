//! The commands of the API: their arguments, and for each command the operation that it calls and the view that it
//! prints. A command that does more has a file.

use lately_client::Lately;
use lately_keys::{Source, Topic, User};
use lately_model::limits::BACKFILL;
use serde_json::json;

use crate::client::access::Access;
use crate::client::check::{self, CheckOptions};
use crate::client::consumer::ConsumerCommand;
use crate::client::document::{self, DocumentCommand, ProfileArgument, SettingsArgument};
use crate::client::erase::{self, EraseOptions};
use crate::client::event::EventCommand;
use crate::client::feed::FeedCommand;
use crate::client::issue::{self, IssueCommand};
use crate::client::list::ListArguments;
use crate::client::load::{self, LoadOptions};
use crate::client::post::{self, PostArguments};
use crate::client::session::Session;
use crate::client::tail::TailArguments;
use crate::client::timeline::{PageArguments, TimelineArguments};
use crate::client::token_session::SessionCommand;
use crate::client::topic::{self, TopicCommand};
use crate::client::view;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The commands of the API.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum ApiCommand {
    /// List, show, create, change and delete topics
    Topic {
        #[command(subcommand)]
        command: TopicCommand,

        #[command(flatten)]
        access: Access,
    },
    /// Write one event, or one event for each line of a file or of standard input
    ///
    /// A line is {"type":…,"actor":…,"subject":…,"data":…,"at":…}; subject, data and at are optional. Blank lines are
    /// skipped. Lines are sent in batches of up to 500 lines and 3 MiB. A batch that fails temporarily is retried for a
    /// minute, and no line is written twice. A single event without --idempotency-key is not retried if it may have
    /// been written.
    Post {
        #[command(flatten)]
        post: Box<PostArguments>,

        #[command(flatten)]
        access: Access,
    },
    /// Print the latest events of a topic, an actor or a subject, newest first
    ///
    /// For an actor or a subject, the events of all topics are printed, unless a topic is given. If there are more
    /// events, standard error shows the cursor of the next page. With --json each page is one line, as the API returns
    /// it.
    Latest {
        #[command(flatten)]
        timeline: TimelineArguments,

        #[command(flatten)]
        page: Box<PageArguments>,

        #[command(flatten)]
        access: Access,
    },
    /// Print the last events of a topic, oldest first, and with -f also new events
    ///
    /// With -f, each new event is printed once: as soon as it is written if the server streams, else about two seconds
    /// later. While the server cannot be reached, the command keeps retrying. With --json each event is one line.
    Tail {
        /// The topic
        topic: Topic,

        #[command(flatten)]
        tail: Box<TailArguments>,

        #[command(flatten)]
        access: Access,
    },
    /// Show or delete one event, by its id
    Event {
        #[command(subcommand)]
        command: EventCommand,

        #[command(flatten)]
        access: Access,
    },
    /// Show a user's feed, mark it as seen, verify and rebuild it
    #[command(subcommand)]
    Feed(FeedCommand),
    /// Make a user follow an actor or a subject
    Follow {
        /// The user
        user: User,

        /// The actor or subject to follow: actor:NAME or subject:NAME
        source: Source,

        /// The number of its latest events to add to the feed: 0 to 200 [default: 50]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=i64::from(BACKFILL)))]
        backfill: Option<u16>,

        #[command(flatten)]
        access: Access,
    },
    /// Make a user unfollow an actor or a subject
    Unfollow {
        /// The user
        user: User,

        /// The actor or subject to unfollow: actor:NAME or subject:NAME
        source: Source,

        #[command(flatten)]
        access: Access,
    },
    /// List the actors and subjects that a user follows
    Following {
        /// The user
        user: User,

        #[command(flatten)]
        list: ListArguments,

        #[command(flatten)]
        access: Access,
    },
    /// List the followers of an actor or a subject
    Followers {
        /// The followed actor or subject: actor:NAME or subject:NAME
        source: Source,

        #[command(flatten)]
        list: ListArguments,

        #[command(flatten)]
        access: Access,
    },
    /// Show how many users follow an actor or a subject, and how its events reach their feeds
    Source {
        /// The actor or subject: actor:NAME or subject:NAME
        source: Source,

        #[command(flatten)]
        access: Access,
    },
    /// List, show, open, edit, close and reopen issues
    Issue {
        #[command(subcommand)]
        command: IssueCommand,

        #[command(flatten)]
        access: Access,
    },
    /// Show, set and delete a user's profile
    Profile {
        #[command(subcommand)]
        command: DocumentCommand<ProfileArgument>,

        #[command(flatten)]
        access: Access,
    },
    /// Show, set and delete an application's settings
    Settings {
        #[command(subcommand)]
        command: DocumentCommand<SettingsArgument>,

        #[command(flatten)]
        access: Access,
    },
    /// Create, show, move and delete a topic's consumers (scope consume)
    Consumer {
        #[command(subcommand)]
        command: ConsumerCommand,

        #[command(flatten)]
        access: Access,
    },
    /// List, show, create and revoke sessions: the tokens' users, scopes and ends (scope admin)
    Session {
        #[command(subcommand)]
        command: SessionCommand,

        #[command(flatten)]
        access: Access,
    },
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
    Whoami {
        #[command(flatten)]
        access: Access,
    },
}

impl ApiCommand {
    /// Runs the command.
    pub(crate) async fn run(self, terminal: Terminal<'_>) -> Result<(), Failure> {
        match self {
            Self::Topic { command, access } => topic::run(command, Session::open(access, terminal)?).await,
            Self::Post { post, access } => post::run(*post, access, terminal).await,
            Self::Latest { timeline, page, access } => {
                timeline.print(*page, Session::open(access, terminal)?).await
            }
            Self::Tail { topic, tail, access } => {
                tail.print(Session::open(access, terminal)?, false, |api| api.topic(topic).entries()).await
            }
            Self::Event { command, access } => command.run(Session::open(access, terminal)?).await,
            Self::Feed(command) => command.run(terminal).await,
            Self::Follow { user, source, backfill, access } => {
                let mut session = Session::open(access, terminal)?;
                let body = backfill.map_or_else(|| json!({}), |backfill| json!({ "backfill": backfill }));
                session.show(session.api.user(user).follow_with(source, &body), view::FOLLOW).await
            }
            Self::Unfollow { user, source, access } => {
                let mut session = Session::open(access, terminal)?;
                session.ask(session.api.user(&user).unfollow(&source)).await?;
                session.log(format_args!("{user} unfollowed {source}"))
            }
            Self::Following { user, list, access } => {
                let mut session = Session::open(access, terminal)?;
                session.show(session.api.user(user).following(list.query()).page(), view::FOLLOWING).await
            }
            Self::Followers { source, list, access } => {
                let mut session = Session::open(access, terminal)?;
                session.show(session.api.source(source).followers(list.query()).page(), view::FOLLOWERS).await
            }
            Self::Source { source, access } => {
                let mut session = Session::open(access, terminal)?;
                session.show(session.api.source(source).get(), view::SOURCE).await
            }
            Self::Issue { command, access } => issue::run(command, Session::open(access, terminal)?).await,
            Self::Profile { command, access } => {
                let record = |lately: &Lately, ProfileArgument { user }| lately.user(user).profile();
                document::run(command, record, Session::open(access, terminal)?).await
            }
            Self::Settings { command, access } => {
                let record = |lately: &Lately, SettingsArgument { app }| lately.settings(app);
                document::run(command, record, Session::open(access, terminal)?).await
            }
            Self::Consumer { command, access } => command.run(Session::open(access, terminal)?).await,
            Self::Session { command, access } => command.run(Session::open(access, terminal)?).await,
            Self::Erase(options) => erase::run(*options, terminal).await,
            Self::Check(options) => check::run(*options, terminal).await,
            Self::Load(options) => load::run(*options, terminal).await,
            Self::Whoami { access } => {
                let mut session = Session::open(access, terminal)?;
                session.show(session.api.sessions().own(), view::OWN_SESSION).await
            }
        }
    }
}
