//! `lately erase`: erases an actor or a user, and prints the receipt.
//!
//! The service keeps no erased name, so this command adds the names to the receipt that it prints.

use lately_client::{Request, Response};
use lately_keys::table::ErasureId;
use lately_keys::{Actor, User};
use lately_model::{Erasure, ErasureCounts, ErasureEstimate, ErasureReceipt, ErasureState, NewErasure};

use crate::client::ask::Access;
use crate::client::failure::Failure;
use crate::client::session::{Screen, Session, or_dash, read};
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

    /// Print what the erasure would erase, and its price, and erase nothing
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,

    /// Wait until everything is erased, and print the receipt
    #[arg(long)]
    wait: bool,

    #[command(flatten)]
    access: Access,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum EraseCommand {
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

pub(super) async fn run(options: EraseOptions, screen: Screen<'_>) -> Result<(), Failure> {
    let EraseOptions { command, names: Names { actor, user }, dry_run, wait, access } = options;
    match command {
        Some(EraseCommand::Show { id, actor, user, wait, access }) => {
            let mut session = Session::open(access, screen)?;
            let found = session.ask(&progress(id)).await?;
            print(&mut session, found, Names { actor, user }, wait).await
        }
        Some(EraseCommand::Check(command)) => Ok(erasure::run(command, screen.out, screen.told).await?),
        None => {
            let mut session = Session::open(access, screen)?;
            let body = NewErasure { actor, user, dry_run };
            let reply = session.ask(&Request::post("/erasures").json(&body)).await?;
            if dry_run {
                return print_estimate(&mut session, &reply);
            }
            let NewErasure { actor, user, .. } = body;
            print(&mut session, reply, Names { actor, user }, wait).await
        }
    }
}

fn progress(id: ErasureId) -> Request {
    Request::get(format!("/erasures/{id}"))
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
fn kinds(counts: &ErasureCounts) -> [(&'static str, u64); 12] {
    let ErasureCounts {
        events,
        entries,
        copies,
        follows,
        followers,
        profile,
        sessions,
        feed,
        idempotency,
        late,
        jobs,
        issues,
    } = *counts;
    [
        ("events", events),
        ("entries", entries),
        ("copies", copies),
        ("follows", follows),
        ("followers", followers),
        ("profile", profile),
        ("sessions", sessions),
        ("feed", feed),
        ("idempotency", idempotency),
        ("late", late),
        ("jobs", jobs),
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
        return Ok(session.print_json(&serde_json::to_string(&receipt)?)?);
    }
    let ErasureReceipt { actor, user, erasure } = receipt;
    let is_done = erasure.state == ErasureState::Done;
    let mut pairs = vec![
        ("id", erasure.id.to_string()),
        ("actor", or_dash(actor)),
        ("user", or_dash(user)),
        ("state", if is_done { "done" } else { "erasing" }.to_owned()),
        ("started at", erasure.started_at.to_string()),
        ("finished at", or_dash(erasure.finished_at)),
    ];
    pairs.extend(kinds(&erasure.counts).map(|(kind, count)| (kind, count.to_string())));
    pairs.push(("ids sha256", or_dash(erasure.ids_sha256)));
    pairs.extend(erasure.not_covered.into_iter().map(|left| ("not covered", left)));
    session.pairs(&pairs)?;
    if !is_done {
        session.tell(format_args!("the erasure continues: lately erase show {} --wait", erasure.id))?;
    }
    Ok(())
}

fn print_estimate(session: &mut Session<'_>, reply: &Response) -> Result<(), Failure> {
    if session.prints_json(reply)? {
        return Ok(());
    }
    let ErasureEstimate { counts, read_units, write_units } = read(reply)?;
    let mut pairs: Vec<_> = kinds(&counts).map(|(kind, count)| (kind, format!("about {count}"))).into();
    pairs.push(("read units", format!("about {read_units}")));
    pairs.push(("write units", format!("about {write_units}")));
    Ok(session.pairs(&pairs)?)
}
