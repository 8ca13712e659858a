//! The commands of the API: their arguments, and for each command the operation that it calls and the view that it
//! prints. A command that does more has a file.

use lately_client::{Lately, ListQuery, SessionQuery};
use lately_keys::{Actor, Consumer, EventId, SessionId, Source, Subject, Topic, User};
use lately_model::limits::BACKFILL;
use lately_model::{
    NewConsumer, PageSize, RevokedSessions, SeekTo, SessionToken, SettleSeconds, Start, Unread,
};
use reqwest::StatusCode;
use serde_json::json;

use crate::client::access::{Access, Api};
use crate::client::check::{self, CheckOptions};
use crate::client::document::{self, DocumentCommand, ProfileArgument, SettingsArgument};
use crate::client::erase::{self, EraseOptions};
use crate::client::failure::Failure;
use crate::client::issue::{self, IssueCommand};
use crate::client::load::{self, LoadOptions};
use crate::client::post::{self, PostArguments};
use crate::client::session::{Session, Terminal};
use crate::client::tail::TailArguments;
use crate::client::timeline::{self, PageArguments};
use crate::client::topic::{self, TopicCommand};
use crate::client::view;
use crate::counted::counted;
use crate::new_token::NewTokenArguments;
use crate::operate::feed_repair::{self, FeedRepairCommand};
use crate::time_argument::{parse_seek, parse_start};

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
    Feed {
        #[command(subcommand)]
        command: FeedCommand,
    },
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

/// The timeline that `lately latest` prints.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "timeline", required = true, multiple = true)]
pub struct TimelineArguments {
    /// The topic
    topic: Option<Topic>,

    /// Events of this actor
    #[arg(long, value_name = "ACTOR", conflicts_with = "subject")]
    actor: Option<Actor>,

    /// Events of this subject
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<Subject>,
}

/// The size and the start of a list's page.
#[derive(Clone, Debug, clap::Args)]
pub struct ListArguments {
    /// Entries per page: 1 to 200
    #[arg(short = 'n', value_name = "N", default_value = "50")]
    limit: PageSize,

    /// Continue after an earlier page, from the cursor that it printed
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum EventCommand {
    /// Show an event
    Get(EventArgument),
    /// Delete an event: as its actor, or with a token that may act as anyone
    Delete(EventArgument),
}

#[derive(Clone, Debug, clap::Args)]
pub struct EventArgument {
    /// The topic
    topic: Topic,

    /// The event's id, as `lately latest --ids` prints it
    id: EventId,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum FeedCommand {
    /// Print the feed's events, newest first
    Show {
        /// The user whose feed it is
        user: User,

        #[command(flatten)]
        page: Box<PageArguments>,

        #[command(flatten)]
        access: Access,
    },
    /// Print the feed's last events, oldest first, and with -f also new events
    Tail {
        /// The user whose feed it is
        user: User,

        #[command(flatten)]
        tail: Box<TailArguments>,

        #[command(flatten)]
        access: Access,
    },
    /// Count exactly the events that the user has not seen
    Unread {
        /// The user whose feed it is
        user: User,

        #[command(flatten)]
        access: Access,
    },
    /// Mark the feed as seen up to an event
    Seen {
        /// The user whose feed it is
        user: User,

        /// The event's id, as `lately feed show --ids` prints it
        id: EventId,

        #[command(flatten)]
        access: Access,
    },
    #[command(flatten)]
    Mend(FeedRepairCommand),
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum ConsumerCommand {
    /// Create a consumer; of an existing one, only the settle time changes
    Create {
        #[command(flatten)]
        consumer: ConsumerArgument,

        /// The position at which a new consumer starts: earliest, latest, a time, or the time since then, such as 1h
        #[arg(long, value_name = "START", default_value = "latest", value_parser = parse_start)]
        from: Start,

        /// The seconds after which an event is returned: 0 to 3600 [default: 10]
        #[arg(long, value_name = "N", value_parser = parse_settle)]
        settle_seconds: Option<SettleSeconds>,
    },
    /// Show a consumer's position and its lag
    Show(ConsumerArgument),
    /// Move a consumer; an outstanding batch is dropped
    Seek {
        #[command(flatten)]
        consumer: ConsumerArgument,

        /// The new position: earliest, latest, a time, the time since then, such as 1h, or the id of an event
        #[arg(value_name = "POSITION", value_parser = parse_seek)]
        to: SeekTo,
    },
    /// List the runs of a consumer that makes reports
    Runs {
        #[command(flatten)]
        consumer: ConsumerArgument,

        #[command(flatten)]
        list: ListArguments,
    },
    /// Delete a consumer and its position
    Delete(ConsumerArgument),
}

#[derive(Clone, Debug, clap::Args)]
pub struct ConsumerArgument {
    /// The topic
    topic: Topic,

    /// The consumer's name
    name: Consumer,
}

fn parse_settle(text: &str) -> Result<SettleSeconds, String> {
    let refused = "must be a whole number from 0 to 3600".to_owned();
    text.parse().ok().and_then(|seconds| SettleSeconds::new(seconds).ok()).ok_or(refused)
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum SessionCommand {
    /// List the sessions that have not ended, newest first
    List {
        /// Only sessions of this user
        #[arg(long, value_name = "USER")]
        user: Option<User>,

        #[command(flatten)]
        list: ListArguments,
    },
    /// Show a session
    Show {
        /// The session's id, as `lately session list` prints it
        id: SessionId,
    },
    /// Create a session and print its token; the token cannot be shown again
    Create {
        #[command(flatten)]
        new: NewTokenArguments,
    },
    /// Revoke sessions, by their ids or all of a user
    Revoke(RevokedArguments),
}

#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct RevokedArguments {
    /// The ids of the sessions, as `lately session list` prints them
    #[arg(value_name = "ID")]
    ids: Vec<SessionId>,

    /// Revoke all sessions of this user
    #[arg(long, value_name = "USER")]
    user: Option<User>,
}

impl ListArguments {
    pub(super) fn query(self) -> ListQuery {
        ListQuery { limit: Some(self.limit.get()), cursor: self.cursor }
    }
}

impl ApiCommand {
    /// Runs the command.
    pub(super) async fn run(self, terminal: Terminal<'_>) -> Result<(), Failure> {
        match self {
            Self::Topic { command, access } => topic::run(command, terminal.open(access)?).await,
            Self::Post { post, access } => post::run(*post, access, terminal).await,
            Self::Latest { timeline, page, access } => timeline.print(*page, terminal.open(access)?).await,
            Self::Tail { topic, tail, access } => {
                tail.print(terminal.open(access)?, false, |api| api.topic(&topic).entries()).await
            }
            Self::Event { command, access } => command.run(terminal.open(access)?).await,
            Self::Feed { command } => command.run(terminal).await,
            Self::Follow { user, source, backfill, access } => {
                let body = backfill.map_or_else(|| json!({}), |backfill| json!({ "backfill": backfill }));
                let follow = |api: &mut Api| api.user(user).follow_with(source, &body);
                terminal.open(access)?.show(follow, view::FOLLOW).await
            }
            Self::Unfollow { user, source, access } => {
                let mut session = terminal.open(access)?;
                session.ask(|api| api.user(&user).unfollow(&source)).await?;
                session.log(format_args!("{user} unfollowed {source}"))
            }
            Self::Following { user, list, access } => {
                let following = |api: &mut Api| api.user(user).following(list.query()).page();
                terminal.open(access)?.show(following, view::FOLLOWING).await
            }
            Self::Followers { source, list, access } => {
                let followers = |api: &mut Api| api.source(source).followers(list.query()).page();
                terminal.open(access)?.show(followers, view::FOLLOWERS).await
            }
            Self::Source { source, access } => {
                terminal.open(access)?.show(|api| api.source(source).get(), view::SOURCE).await
            }
            Self::Issue { command, access } => issue::run(command, terminal.open(access)?).await,
            Self::Profile { command, access } => {
                let record = |lately: &Lately, ProfileArgument { user }| lately.user(user).profile();
                document::run(command, record, terminal.open(access)?).await
            }
            Self::Settings { command, access } => {
                let record = |lately: &Lately, SettingsArgument { app }| lately.settings(app);
                document::run(command, record, terminal.open(access)?).await
            }
            Self::Consumer { command, access } => command.run(terminal.open(access)?).await,
            Self::Session { command, access } => command.run(terminal.open(access)?).await,
            Self::Erase(options) => erase::run(*options, terminal).await,
            Self::Check(options) => check::run(*options, terminal).await,
            Self::Load(options) => load::run(*options, terminal).await,
            Self::Whoami { access } => {
                terminal.open(access)?.show(|api| api.sessions().own(), view::OWN_SESSION).await
            }
        }
    }
}

impl TimelineArguments {
    async fn print(self, page: PageArguments, mut session: Session<'_>) -> Result<(), Failure> {
        let Self { topic, actor, subject } = self;
        let api = &mut session.api;
        let timeline = match (actor, subject, &topic) {
            (Some(actor), ..) => api.actor(actor).entries(),
            (None, Some(subject), _) => api.subject(subject).entries(),
            (None, None, Some(topic)) => {
                let timeline = api.topic(topic).entries();
                return page.print(&mut session, timeline, None, false).await;
            }
            (None, None, None) => unreachable!("clap requires one of them"),
        };
        page.print(&mut session, timeline, topic, true).await
    }
}

impl EventCommand {
    async fn run(self, mut session: Session<'_>) -> Result<(), Failure> {
        match self {
            Self::Get(EventArgument { topic, id }) => {
                timeline::show_event(&mut session, |api| api.topic(&topic).event(id)).await
            }
            Self::Delete(EventArgument { topic, id }) => {
                session.ask(|api| api.topic(&topic).delete_event(id)).await?;
                session.log(format_args!("the event {id} is deleted, or did not exist"))
            }
        }
    }
}

impl FeedCommand {
    async fn run(self, terminal: Terminal<'_>) -> Result<(), Failure> {
        match self {
            Self::Show { user, page, access } => {
                let mut session = terminal.open(access)?;
                let feed = session.api.feed(user).entries();
                page.print(&mut session, feed, None, true).await
            }
            Self::Tail { user, tail, access } => {
                tail.print(terminal.open(access)?, true, |api| api.feed(user).entries()).await
            }
            Self::Unread { user, access } => {
                let print = |session: &mut Session<'_>, Unread { unread, more }| {
                    session.print(format_args!("{unread}{}", if more { " or more" } else { "" }))
                };
                terminal.open(access)?.show_by(|api| api.feed(user).unread(), print).await
            }
            Self::Seen { user, id, access } => {
                let mut session = terminal.open(access)?;
                session.ask(|api| api.feed(user).seen(id)).await?;
                session.log(format_args!("seen up to {id}"))
            }
            Self::Mend(command) => Ok(feed_repair::run(command, terminal.stdout, terminal.stderr).await?),
        }
    }
}

impl ConsumerCommand {
    async fn run(self, mut session: Session<'_>) -> Result<(), Failure> {
        match self {
            Self::Create { consumer: ConsumerArgument { topic, name }, from, settle_seconds } => {
                let body = NewConsumer { start: from, settle_seconds };
                let created = session.ask(|api| api.consumer(&topic, &name).put(&body)).await?;
                if created.response.status == StatusCode::OK {
                    session.log("the consumer exists already; its position does not change")?;
                }
                session.print_response(&created.response, view::CONSUMER)
            }
            Self::Show(ConsumerArgument { topic, name }) => {
                session.show(|api| api.consumer(&topic, &name).get(), view::CONSUMER).await
            }
            Self::Seek { consumer: ConsumerArgument { topic, name }, to } => {
                session.show(|api| api.consumer(&topic, &name).seek(to), view::CONSUMER).await
            }
            Self::Runs { consumer: ConsumerArgument { topic, name }, list } => {
                let runs = |api: &mut Api| api.consumer(&topic, &name).runs(list.query()).page();
                session.show(runs, view::RUNS).await
            }
            Self::Delete(ConsumerArgument { topic, name }) => {
                session.ask(|api| api.consumer(&topic, &name).delete()).await?;
                session.log(format_args!("the consumer {name} of {topic} is deleted, or did not exist"))
            }
        }
    }
}

impl SessionCommand {
    async fn run(self, mut session: Session<'_>) -> Result<(), Failure> {
        match self {
            Self::List { user, list: ListArguments { limit, cursor } } => {
                let user = user.map(|user| user.to_string());
                let query = SessionQuery { user, limit: Some(limit.get()), cursor };
                session.show(|api| api.sessions().list(query).page(), view::SESSIONS).await
            }
            Self::Show { id } => session.show(|api| api.sessions().get(id), view::SESSION).await,
            Self::Create { new } => {
                let new = new.session().map_err(|error| Failure::Usage(error.to_string()))?;
                let print =
                    |session: &mut Session<'_>, SessionToken { id, token, expires_at }: SessionToken<'_>| {
                        session.log(format_args!("session {id}, valid until {expires_at}"))?;
                        session.print(token)
                    };
                session.show_by(|api| api.sessions().create(&new), print).await
            }
            Self::Revoke(RevokedArguments { ids, user }) => {
                for id in ids {
                    session.ask(|api| api.sessions().revoke(id)).await?;
                    session.log(format_args!("revoked {id}"))?;
                }
                let Some(user) = user else { return Ok(()) };
                let print = |session: &mut Session<'_>, RevokedSessions { revoked }| {
                    session.log(format_args!("revoked {} of {user}", counted(revoked, "session")))
                };
                session.show_by(|api| api.sessions().revoke_all(&user), print).await
            }
        }
    }
}
