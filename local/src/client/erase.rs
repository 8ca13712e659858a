//! `lately erase`: erases an actor or a user, and prints the receipt.
//!
//! The service stores no erased name, so this command adds the names to the receipt that it prints.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::ArgGroup;
use lately_client::{Lately, Operation};
use lately_keys::{Actor, ErasureId, Source, User};
use lately_model::{Erasure, ErasureCounts, ErasureReceipt, ErasureState, NewErasure};

use crate::client::access::Access;
use crate::client::arguments::ListArguments;
use crate::client::confirm;
use crate::client::session::Session;
use crate::client::status_line::ask_for_work;
use crate::client::view;
use crate::client::view::View::{self, List};
use crate::commands::commands;
use crate::counted::counted;
use crate::failure::Result;
use crate::operate::erasure;
use crate::operate::table::TableArguments;
use crate::terminal::Terminal;

/// The fields of a receipt.
const RECEIPT: &str = "id,actor,user,state,started at=started_at,finished at=finished_at,events=counts/events,\
    follows=counts/follows,followers=counts/followers,profile=counts/profile,sessions=counts/sessions,feed=counts/feed,\
    issues=counts/issues,ids sha256=ids_sha256";

/// The list of erasures.
const ERASURES: View<'_> =
    List("erasures", "id,state,started at=started_at,finished at=finished_at,events=counts/events");

/// Erase an actor, a user, or both, and print the receipt (scope admin)
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(group(ArgGroup::new("names").required(true).multiple(true)))]
pub struct EraseOptions {
    #[command(subcommand)]
    command: Option<EraseCommand>,

    /// Erase this actor's events
    #[arg(long, value_name = "ACTOR", group = "names")]
    actor: Option<Actor>,

    /// Erase this user's profile, sessions, feed and follows
    #[arg(long, value_name = "USER", group = "names")]
    user: Option<User>,

    /// The actor's name once more, or the user's if you name no actor; without it, the command asks for the name on a
    /// terminal
    #[arg(long, value_name = "NAME")]
    confirm: Option<String>,

    /// Wait until everything is erased, and print the receipt
    #[arg(long)]
    wait: bool,

    #[command(flatten)]
    access: Access,
}

commands! {
    /// The commands that read an erasure: through the API, or directly in the table.
    EraseCommand in terminal: Terminal<'_>,

    /// List the erasures that run, and those of the last two days, newest first
    List(list: ListArguments) @access: Access,
        async {
            let mut session = Session::open(access, terminal)?;
            session.show(session.api.erasures().list(list.query()).page(), ERASURES).await
        };

    /// Show an erasure, by its id
    Show(
        ;
        /// The erasure's id, as `lately erase` prints it
        id: ErasureId,
        /// The erased actor, to print it in the receipt
        #[arg(long, value_name = "ACTOR")]
        actor: Option<Actor>,
        /// The erased user, to print it in the receipt
        #[arg(long, value_name = "USER")]
        user: Option<User>,
        /// Wait until everything is erased
        #[arg(long)]
        wait: bool
    ) @access: Access,
        async {
            let mut session = Session::open(access, terminal)?;
            print(session.api.erasures().get(id), actor, user, wait, &mut session).await
        };

    /// Prove with a receipt that the table holds nothing of the erased person
    ///
    /// Prints the remaining items, and fails if there are any. Items that expire by themselves are counted, and so are items that
    /// are younger than the erasure. An event that was imported later with an older time counts as remaining.
    Verify(
        table: TableArguments;
        /// The file with the receipt, as `lately erase --wait --json` prints it; - reads it from standard input
        receipt: PathBuf,
        /// The number of items to read per second [default: 1000; 10000 in the local program's table]
        #[arg(long, value_name = "N")]
        rate: Option<NonZeroU32>
    )
        erasure::verify(table, &receipt, rate, terminal);
}

pub(crate) async fn run(options: EraseOptions, terminal: Terminal<'_>) -> Result<()> {
    let EraseOptions { command, actor, user, confirm, wait, access } = options;
    if let Some(command) = command {
        return command.run(terminal).await;
    }
    let mut session = Session::open(access, terminal)?;
    let confirm = match confirm {
        Some(confirm) => confirm,
        None => asked(&mut session, actor.as_ref(), user.as_ref()).await?,
    };
    let body = NewErasure { actor, user, confirm };
    let begun = session.api.erasures().begin(&body);
    print(begun, body.actor, body.user, wait, &mut session).await
}

/// The name as the user types it, after the user has seen what the erasure covers.
async fn asked(session: &mut Session<'_>, actor: Option<&Actor>, user: Option<&User>) -> Result<String> {
    let name = actor.map(Actor::as_str).or(user.map(User::as_str)).unwrap_or_default().to_owned();
    confirm::needs_terminal(|| format!("add --confirm {name} to erase everything that names {name}"))?;
    if let Some(actor) = actor {
        let source = session.ask(session.api.source(Source::Actor(actor.clone())).get()).await?.value;
        let followers = counted(source.followers, "follower");
        session
            .terminal
            .log(format_args!("the actor {actor}: all events with their copies, and {followers}"))?;
    }
    if let Some(user) = user {
        session
            .terminal
            .log(format_args!("the user {user}: the profile, the sessions, the feed and the follows"))?;
    }
    let question = "this cannot be undone; type the name to erase it";
    confirm::ask(session.terminal.stderr, &name, question, "nothing is deleted")?;
    Ok(name)
}

/// The progress as text for people; none if the erasure is done.
fn progress(Erasure { state, counts, .. }: &Erasure) -> Option<String> {
    let ErasureCounts { events, follows, followers, profile, sessions, feed, issues } = *counts;
    let items = events + follows + followers + profile + sessions + feed + issues;
    let (events, items) = (counted(events, "event"), counted(items, "item"));
    (*state == ErasureState::Erasing).then(|| format!("erased {events}, {items} in all"))
}

/// Sends an operation, and prints its erasure with the erased names, as it is or when it is done.
async fn print(
    operation: Operation<Erasure>,
    actor: Option<Actor>,
    user: Option<User>,
    wait: bool,
    session: &mut Session<'_>,
) -> Result<()> {
    let again = |api: &Lately, begun: &Erasure| api.erasures().get(begun.id);
    let erasure = ask_for_work(session, operation, wait, again, progress).await?.value;
    let receipt = ErasureReceipt { actor, user, erasure };
    if session.json {
        return session.terminal.print_json(&serde_json::to_string(&receipt)?);
    }
    let mut pairs = view::pairs(RECEIPT, &serde_json::to_value(&receipt)?);
    let Erasure { id, state, not_covered, .. } = receipt.erasure;
    pairs.extend(not_covered.into_iter().map(|part| ("not covered", part)));
    session.terminal.pairs(&pairs)?;
    if state == ErasureState::Done {
        return Ok(());
    }
    session.terminal.log(format_args!("the erasure continues: lately erase show {id} --wait"))
}
