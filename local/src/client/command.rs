//! The commands of the API, as tables: a row is a command's help, its arguments, and the operation that it calls with
//! the view that it prints. A command that does more has a file.

use clap::ArgGroup;
use clap::builder::TypedValueParser;
use lately_client::{IssueQuery, RecordQuery, SessionQuery};
use lately_keys::{BucketWidth, EventId, IssuePriority, IssueStatus, SessionId, Topic, User};
use lately_model::limits::BACKFILL;
use lately_model::{IssueBody, IssueTitle, Label, NewConsumer, SeekTo, SettleSeconds, Start};
use reqwest::StatusCode;
use serde_json::json;

use crate::client::access::Access;
use crate::client::arguments::{
    AppArgument, ConsumerArgument, EventArgument, Group, ListArguments, Revised, SourceArgument,
    TopicArgument, UserArgument, given,
};
use crate::client::document::{self, DocumentCommand};
use crate::client::issue::{IssueArgument, IssueChangeArguments, RepositoryArgument};
use crate::client::post::{self, PostArguments};
use crate::client::session::Session;
use crate::client::tail::TailArguments;
use crate::client::timeline::{PageArguments, TimelineArguments, show_event};
use crate::client::topic::{self, SettingsArguments};
use crate::client::view::View::{Done, List, Pairs, Text, Token};
use crate::client::view::{CONSUMER, ISSUE, TOPIC};
use crate::commands::commands;
use crate::counted::counted;
use crate::new_token::NewTokenArguments;
use crate::operate::feed_repair::FeedRepairCommand;
use crate::terminal::Terminal;
use crate::time_argument::parse_time;
use crate::values::one_of;

commands! {
    /// The commands on topics and their events.
    pub EventsCommand opens session

    /// List, show, create, change and delete topics
    Topic(group: Group<TopicCommand>) group.command.run(session);

    /// Write one event, or one event for each line of a file or of standard input
    ///
    /// A line is {"type":…,"actor":…,"subject":…,"data":…,"at":…}; subject, data and at are optional. Blank lines are
    /// skipped. Lines are sent in batches of up to 500 lines and 3 MiB. A batch that fails temporarily is retried for a
    /// minute, and no line is written twice. A single event without --idempotency-key is not retried if it may have
    /// been written.
    Post(post: Box<PostArguments>) post::run(*post, session);

    /// Print the latest events of a topic, an actor or a subject, newest first
    ///
    /// For an actor or a subject, the events of all topics are printed, unless a topic is given. If there are more
    /// events, standard error shows the cursor of the next page. With --json each page is one line, as the API returns
    /// it.
    Latest(timeline: TimelineArguments, page: Box<PageArguments>) timeline.print(*page, session);

    /// Print the last events of a topic, oldest first, and with -f also new events
    ///
    /// With -f, each new event is printed once: as soon as it is written if the server streams, else about two seconds
    /// later. While the server cannot be reached, the command keeps retrying. With --json each event is one line.
    Tail(topic: TopicArgument, tail: Box<TailArguments>)
        tail.print(session, false, |api| api.topic(&topic.topic).entries());

    /// Show or delete one event, by its id
    Event(group: Group<EventCommand>) group.command.run(session);
}

commands! {
    /// The commands on follows, and on records that have one operation for each command.
    pub RecordsCommand opens session

    /// Make a user follow an actor or a subject
    Follow(
        user: UserArgument, source: SourceArgument;
        /// The number of its latest events to add to the feed: 0 to 200 [default: 50]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(..=i64::from(BACKFILL)))]
        backfill: Option<u16>
    )
        session.api.user(user.user).follow_with(source.source, &given(json!({ "backfill": backfill })))
            => Pairs("following=source,since");

    /// Make a user unfollow an actor or a subject
    Unfollow(user: UserArgument, source: SourceArgument)
        session.api.user(&user.user).unfollow(&source.source)
            => Done(&format!("{} unfollowed {}", user.user, source.source));

    /// List the actors and subjects that a user follows
    Following(user: UserArgument, list: ListArguments)
        session.api.user(user.user).following(list.query()).page() => List("following", "source,since");

    /// List the followers of an actor or a subject
    Followers(source: SourceArgument, list: ListArguments)
        session.api.source(source.source).followers(list.query()).page() => List("followers", "user,since");

    /// Show how many users follow an actor or a subject, and how its events reach their feeds
    Source(source: SourceArgument)
        session.api.source(source.source).get()
            => Pairs("source,followers,mode");

    /// List, show, open, edit, close and reopen issues
    Issue(group: Group<IssueCommand>) group.command.run(session);

    /// Show, set and delete a user's profile
    Profile(group: Group<DocumentCommand<UserArgument>>)
        document::run(group.command, |api, it| api.user(it.user).profile(), session);

    /// Show, set and delete an application's settings
    Settings(group: Group<DocumentCommand<AppArgument>>)
        document::run(group.command, |api, it| api.settings(it.app), session);

    /// Create, show, move and delete a topic's consumers (scope consume)
    Consumer(group: Group<ConsumerCommand>) group.command.run(session);

    /// List, show, create and revoke sessions: the tokens' users, scopes and ends (scope admin)
    Session(group: Group<SessionCommand>) group.command.run(session);

    /// Show the user for whom a token acts, what it may do, and when it expires
    Whoami()
        session.api.sessions().own()
            => Pairs("user,scopes,topics=limited_to,until=expires_at,limits,issuer?");
}

commands! {
    /// The commands on a topic.
    pub TopicCommand in session: &mut Session<'_>,

    /// List the topics
    List(list: ListArguments)
        session.api.topics(list.query()).page()
            => List("topics", "topic,bucket,days=retention_days,shards=shard_range,fan-out=fan_out,views");

    /// Show a topic and its newest buckets
    Show(topic: TopicArgument) session.api.topic(topic.topic).get() => TOPIC;

    /// Create a topic (scope admin)
    Create(
        topic: TopicArgument, settings: SettingsArguments;
        /// The width of the topic's buckets, which never changes [default: day]
        #[arg(long, value_name = "WIDTH", value_parser = one_of(&BucketWidth::ALL, BucketWidth::as_str))]
        bucket: Option<BucketWidth>
    )
        topic::create(topic.topic, bucket, settings, session);

    /// Change a topic's settings; absent settings do not change (scope admin)
    Set(topic: TopicArgument, settings: SettingsArguments) topic::set(topic.topic, settings, session);

    /// Delete a topic: its events with their copies, its consumers and its settings (scope admin)
    Delete(
        topic: TopicArgument;
        /// The topic's name, to confirm the deletion; without it, the command asks for the name on a terminal
        #[arg(long, value_name = "TOPIC")]
        confirm: Option<Topic>,
        /// Print what the deletion would delete, and delete nothing
        #[arg(long, conflicts_with_all = ["confirm", "wait"])]
        dry_run: bool,
        /// Wait until the topic is deleted
        #[arg(long)]
        wait: bool
    )
        topic::delete(topic.topic, confirm, dry_run, wait, session);

    /// Show the progress of a topic's deletion (scope admin)
    Deletion(
        topic: TopicArgument;
        /// Wait until the topic is deleted
        #[arg(long)]
        wait: bool
    )
        topic::show_deletion(session.api.topic(&topic.topic).deletion(), &topic.topic, wait, session);
}

commands! {
    /// The commands on one event.
    pub EventCommand in session: &mut Session<'_>,

    /// Show an event
    Get(event: EventArgument) show_event(session.api.topic(event.topic).event(event.id), session);

    /// Delete an event: as its actor, or with a token that may act as anyone
    Delete(event: EventArgument)
        session.api.topic(event.topic).delete_event(event.id)
            => Done(&format!("the event {} is deleted, or did not exist", event.id));
}

commands! {
    /// The commands that read a feed through the API.
    pub FeedReadCommand opens session

    /// Print the feed's events, newest first
    Show(user: UserArgument, page: Box<PageArguments>)
        page.print(session.api.feed(user.user).entries(), None, true, session);

    /// Print the feed's last events, oldest first, and with -f also new events
    Tail(user: UserArgument, tail: Box<TailArguments>)
        tail.print(session, true, |api| api.feed(&user.user).entries());

    /// Count the events that the user has not seen
    Unread(user: UserArgument)
        session.api.feed(user.user).unread() => Text("unread");

    /// Mark the feed as seen up to an event
    Seen(
        user: UserArgument;
        /// The event's id, as `lately feed show --ids` prints it
        id: EventId
    )
        session.api.feed(user.user).seen(id) => Done(&format!("seen up to {id}"));
}

/// The commands on a user's feed. Those that verify and rebuild it read the table.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum FeedCommand {
    #[command(flatten)]
    Read(FeedReadCommand),
    #[command(flatten)]
    Repair(FeedRepairCommand),
}

commands! {
    /// The commands on a repository's issues.
    pub IssueCommand in session: &mut Session<'_>,

    /// List a repository's issues, newest first
    List(
        repository: RepositoryArgument, list: ListArguments;
        /// Only issues of this status
        #[arg(long, value_name = "STATUS", conflicts_with = "priority",
            value_parser = one_of(&IssueStatus::ALL, IssueStatus::as_str))]
        status: Option<IssueStatus>,
        /// Only issues of this priority
        #[arg(long, value_name = "PRIORITY", value_parser = one_of(&IssuePriority::ALL, IssuePriority::as_str))]
        priority: Option<IssuePriority>
    )
        repository.of(session).issues(IssueQuery {
            status: status.map(|status| status.to_string()),
            priority: priority.map(|priority| priority.to_string()),
            limit: Some(list.limit.get()),
            cursor: list.cursor,
            ..IssueQuery::default()
        }).page()
            => List("issues", "number,status,priority,changed=updated_at,by=opened_by,labels,title");

    /// Show an issue
    Show(issue: IssueArgument) issue.of(session).get(RecordQuery::default()) => ISSUE;

    /// Open an issue, as the token's user
    Open(
        repository: RepositoryArgument;
        /// The issue's title, one line
        #[arg(long)]
        title: IssueTitle,
        /// The issue's text
        #[arg(long)]
        body: Option<IssueBody>,
        /// A label of the issue; repeatable
        #[arg(long = "label", value_name = "LABEL")]
        labels: Vec<Label>
    )
        repository.of(session).open(&given(json!({ "title": title, "body": body, "labels": labels }))) => ISSUE;

    /// Change an issue
    Edit(change: Box<IssueChangeArguments>, issue: Revised<IssueArgument>) issue.change(change.body(), session);

    /// Close an issue
    Close(issue: Revised<IssueArgument>) issue.change(json!({ "status": IssueStatus::Closed }), session);

    /// Open an issue again
    Reopen(issue: Revised<IssueArgument>) issue.change(json!({ "status": IssueStatus::Open }), session);
}

commands! {
    /// The commands on a topic's consumers.
    pub ConsumerCommand in session: &mut Session<'_>,

    /// Create a consumer; of an existing one, only the settle time changes
    Create(
        consumer: ConsumerArgument;
        /// The position at which a new consumer starts: earliest, latest, a time, or the time since then, such as 1h
        #[arg(long, value_name = "START", default_value = "latest", value_parser = parse_time::<Start>)]
        from: Start,
        /// The seconds after which an event is returned: 0 to 3600 [default: 10]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).try_map(SettleSeconds::new))]
        settle_seconds: Option<SettleSeconds>
    )
        async {
            let settings = NewConsumer { start: from, settle_seconds };
            let created = session.ask(consumer.of(session).put(&settings)).await?;
            if created.response.status == StatusCode::OK {
                session.terminal.log("the consumer exists already; its position does not change")?;
            }
            session.print_response(&created.response, CONSUMER)
        };

    /// Show a consumer's position and its lag
    Show(consumer: ConsumerArgument) consumer.of(session).get() => CONSUMER;

    /// Move a consumer; an outstanding batch is dropped
    Seek(
        consumer: ConsumerArgument;
        /// The new position: earliest, latest, a time, the time since then, such as 1h, or the id of an event
        #[arg(value_name = "POSITION", value_parser = parse_time::<SeekTo>)]
        to: SeekTo
    )
        consumer.of(session).seek(to) => CONSUMER;

    /// List the runs of a consumer that makes reports
    Runs(consumer: ConsumerArgument, list: ListArguments)
        consumer.of(session).runs(list.query()).page()
            => List("runs", "run=to,begun=announced_at,finished=committed_at,events,late,file=files/0");

    /// Delete a consumer and its position
    Delete(consumer: ConsumerArgument)
        consumer.of(session).delete()
            => Done(&format!("the consumer {} of {} is deleted, or did not exist", consumer.name, consumer.topic));
}

commands! {
    /// The commands on sessions.
    pub SessionCommand in session: &mut Session<'_>,

    /// List the sessions that have not ended, newest first
    List(
        list: ListArguments;
        /// Only sessions of this user
        #[arg(long, value_name = "USER")]
        user: Option<User>
    )
        session.api.sessions().list(SessionQuery {
            user: user.map(|user| user.to_string()),
            limit: Some(list.limit.get()),
            cursor: list.cursor,
        }).page()
            => List("sessions", "id,user,scopes,topics=limited_to,until=expires_at,limits");

    /// Show a session
    Show(
        ;
        /// The session's id, as `lately session list` prints it
        id: SessionId
    )
        session.api.sessions().get(id)
            => Pairs("id,user,scopes,topics=limited_to,created at=created_at,until=expires_at,limits");

    /// Create a session and print its token; the token cannot be shown again
    Create(new: NewTokenArguments)
        session.api.sessions().create(&new.session()?) => Token;

    /// Revoke sessions, by their ids or all of a user
    #[command(group(ArgGroup::new("revoked").required(true)))]
    Revoke(
        ;
        /// The ids of the sessions, as `lately session list` prints them
        #[arg(value_name = "ID", group = "revoked")]
        ids: Vec<SessionId>,
        /// Revoke all sessions of this user
        #[arg(long, value_name = "USER", group = "revoked")]
        user: Option<User>
    )
        async {
            for id in ids {
                session.show(session.api.sessions().revoke(id), Done(&format!("revoked {id}"))).await?;
            }
            let Some(user) = user else { return Ok(()) };
            let done = session.ask(session.api.sessions().revoke_all(&user)).await?;
            match session.json {
                true => session.print_body(&done.response),
                false => session.terminal.log(format_args!("revoked {} of {user}", counted(done.value.revoked, "session"))),
            }
        };
}
