//! `lately erase`: erases an actor or a user, and prints the receipt.
//!
//! The service stores no erased name, so this command adds the names to the receipt that it prints.

use lately_client::{Request, Response};
use lately_keys::{Actor, ErasureId, User};
use lately_model::{
    Erasure, ErasureCounts, ErasureList, ErasureReceipt, ErasureState, NewErasure, SourceView,
};

use crate::client::ask::Access;
use crate::client::confirm;
use crate::client::failure::Failure;
use crate::client::list::ListArguments;
use crate::client::session::{Session, Terminal, or_dash, read};
use crate::client::wait::{Work, until_done};
use crate::counted::counted;
use crate::operate::erasure::{self, ErasureCheckCommand};

/// Erase an actor, a user, or both, and print the receipt (scope admin)
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct EraseOptions {
    #[command(subcommand)]
    command: Option<EraseCommand>,

    #[command(flatten)]
    names: Names,

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

#[derive(Clone, Debug, clap::Subcommand)]
enum EraseCommand {
    /// List the erasures that run, and those of the last two days, newest first
    List {
        #[command(flatten)]
        list: ListArguments,

        #[command(flatten)]
        access: Access,
    },
    /// Show an erasure, by its id
    Show {
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
        wait: bool,

        #[command(flatten)]
        access: Access,
    },
    #[command(flatten)]
    Check(ErasureCheckCommand),
}

#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Names {
    /// Erase this actor's events
    #[arg(long, value_name = "ACTOR")]
    actor: Option<Actor>,

    /// Erase this user's profile, sessions, feed and follows
    #[arg(long, value_name = "USER")]
    user: Option<User>,
}

pub(super) async fn run(options: EraseOptions, terminal: Terminal<'_>) -> Result<(), Failure> {
    let EraseOptions { command, names: Names { actor, user }, confirm, wait, access } = options;
    match command {
        Some(EraseCommand::List { list, access }) => {
            let mut session = Session::open(access, terminal)?;
            session.ask_and_show(&Request::get("/erasures").query(&list.query()), print_list).await
        }
        Some(EraseCommand::Show { id, actor, user, wait, access }) => {
            let mut session = Session::open(access, terminal)?;
            let found = session.ask(&progress(id)).await?;
            print(&mut session, found, Names { actor, user }, wait).await
        }
        Some(EraseCommand::Check(command)) => {
            Ok(erasure::run(command, terminal.stdout, terminal.stderr).await?)
        }
        None => {
            let mut session = Session::open(access, terminal)?;
            let confirm = match confirm {
                Some(confirm) => confirm,
                None => asked(&mut session, actor.as_ref(), user.as_ref()).await?,
            };
            let body = NewErasure { actor, user, confirm };
            let reply = session.ask(&Request::post("/erasures").json(&body)).await?;
            let NewErasure { actor, user, .. } = body;
            print(&mut session, reply, Names { actor, user }, wait).await
        }
    }
}

fn progress(id: ErasureId) -> Request {
    Request::get(format!("/erasures/{id}"))
}

/// The name as the user types it, after the user has seen what the erasure covers.
async fn asked(
    session: &mut Session<'_>,
    actor: Option<&Actor>,
    user: Option<&User>,
) -> Result<String, Failure> {
    let name = actor.map(Actor::as_str).or(user.map(User::as_str)).unwrap_or_default().to_owned();
    confirm::needs_terminal(|| format!("add --confirm {name} to erase everything that names {name}"))?;
    if let Some(actor) = actor {
        let source = session.ask(&Request::get(format!("/sources/actor:{actor}"))).await?;
        let followers = counted(read::<SourceView>(&source)?.followers, "follower");
        session.log(format_args!("the actor {actor}: all events with their copies, and {followers}"))?;
    }
    if let Some(user) = user {
        session.log(format_args!("the user {user}: the profile, the sessions, the feed and the follows"))?;
    }
    confirm::ask(
        session.terminal.stderr,
        &name,
        "this cannot be undone; type the name to erase it",
        "nothing is deleted",
    )?;
    Ok(name)
}

impl Work for Erasure {
    fn progress(&self) -> Option<String> {
        let items: u64 = kinds(&self.counts).iter().map(|(_, count)| count).sum();
        (self.state == ErasureState::Erasing).then(|| {
            format!("erased {}, {} in all", counted(self.counts.events, "event"), counted(items, "item"))
        })
    }
}

/// The counts with their names, in the order of the contract.
fn kinds(counts: &ErasureCounts) -> [(&'static str, u64); 7] {
    let ErasureCounts { events, follows, followers, profile, sessions, feed, issues } = *counts;
    [
        ("events", events),
        ("follows", follows),
        ("followers", followers),
        ("profile", profile),
        ("sessions", sessions),
        ("feed", feed),
        ("issues", issues),
    ]
}

/// Prints an erasure with the erased names, as it is or when it is done.
async fn print(
    session: &mut Session<'_>,
    found: Response,
    Names { actor, user }: Names,
    wait: bool,
) -> Result<(), Failure> {
    let mut erasure: Erasure = read(&found)?;
    if wait {
        erasure = read(&until_done::<Erasure>(session, &progress(erasure.id)).await?)?;
    }
    let receipt = ErasureReceipt { actor, user, erasure };
    if session.json {
        return session.print_json(&serde_json::to_string(&receipt)?);
    }
    let ErasureReceipt { actor, user, erasure } = receipt;
    let is_done = erasure.state == ErasureState::Done;
    let mut pairs = vec![
        ("id", erasure.id.to_string()),
        ("actor", or_dash(actor)),
        ("user", or_dash(user)),
        ("state", state_text(erasure.state).to_owned()),
        ("started at", erasure.started_at.to_string()),
        ("finished at", or_dash(erasure.finished_at)),
    ];
    pairs.extend(kinds(&erasure.counts).map(|(kind, count)| (kind, count.to_string())));
    pairs.push(("ids sha256", or_dash(erasure.ids_sha256)));
    pairs.extend(erasure.not_covered.into_iter().map(|part| ("not covered", part)));
    session.pairs(&pairs)?;
    if !is_done {
        session.log(format_args!("the erasure continues: lately erase show {} --wait", erasure.id))?;
    }
    Ok(())
}

fn print_list(session: &mut Session<'_>, ErasureList { erasures, next }: ErasureList) -> Result<(), Failure> {
    session.list(&["id", "state", "started at", "finished at", "events"], erasures.into_iter().map(row), next)
}

fn row(Erasure { id, state, started_at, finished_at, counts, .. }: Erasure) -> Vec<String> {
    let (finished_at, events) = (or_dash(finished_at), counts.events.to_string());
    vec![id.to_string(), state_text(state).to_owned(), started_at.to_string(), finished_at, events]
}

fn state_text(state: ErasureState) -> &'static str {
    match state {
        ErasureState::Erasing => "erasing",
        ErasureState::Done => "done",
    }
}
