//! `lately erase verify`: proves that nothing of an erased person remains in the table.
//!
//! It reads every item of the table, at a given rate, and writes nothing. The receipt names the person; the table has
//! only the hash of the names.

use std::io::{Read, Write};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use lately_kit::clock;
use lately_model::{ErasureReceipt, ErasureState};
use lately_store::{ErasureCheck, ErasureFinding, ErasureTrace, TableError};

use crate::counted::counted;
use crate::operate::table::{TableArguments, TableTargetError};

/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// The commands that read an erasure directly in the table.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum ErasureCheckCommand {
    /// Prove with a receipt that the table holds nothing of the erased person
    ///
    /// Prints the remaining items, and fails if there are any. Items that expire by themselves are counted, and so are items that
    /// are younger than the erasure. An event that was imported later with an older time counts as remaining.
    Verify {
        #[command(flatten)]
        table: TableArguments,

        /// The file with the receipt, as `lately erase --wait --json` prints it; - reads it from standard input
        receipt: PathBuf,

        /// The number of items to read per second [default: 1000; 10000 in the local program's table]
        #[arg(long, value_name = "N")]
        rate: Option<NonZeroU32>,
    },
}

/// Why an erasure is not proven.
#[derive(Debug, thiserror::Error)]
pub enum ErasureCheckError {
    /// The receipt cannot be read.
    #[error("the receipt cannot be read: {0}")]
    Unreadable(std::io::Error),
    /// The file holds no receipt.
    #[error("the file is no receipt of an erasure: {0}")]
    NoReceipt(serde_json::Error),
    /// The receipt names nobody.
    #[error(
        "the receipt names nobody: `lately erase show ID --actor ACTOR --user USER --json` adds the names"
    )]
    Nameless,
    /// The erasure was not done when the receipt was printed.
    #[error("the erasure was not done yet: `lately erase show {0} --wait --json` prints the receipt")]
    NotDone(lately_keys::ErasureId),
    /// Items of the person remain.
    #[error("{} of the erased person left: erase again", counted(*.0, "item"))]
    Left(u64),
    /// The receipt differs from the table's.
    #[error("the receipt is not the one in the table")]
    Differs,
    /// The table could not be read.
    #[error("{0}\nCheck the table's name, and that these credentials may use the table.")]
    Table(#[from] TableError),
    /// The table cannot be used.
    #[error(transparent)]
    Target(#[from] TableTargetError),
    /// Nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Proves an erasure.
pub(crate) async fn run(
    command: ErasureCheckCommand,
    out: &mut (dyn Write + Send),
    err: &mut (dyn Write + Send),
) -> Result<(), ErasureCheckError> {
    let ErasureCheckCommand::Verify { table, receipt, rate } = command;
    let receipt = read(&receipt)?;
    let rate = table.rate(rate)?;
    let store = table.store().await?;
    let mut due = clock::monotonic_now() + PROGRESS;
    let mut said = Ok(());
    let progress = |check: &ErasureCheck, found: &[ErasureFinding]| {
        if said.is_err() {
            return;
        }
        let mut left = found.iter().filter(|finding| finding.trace == ErasureTrace::Left);
        said = left.try_for_each(|it| writeln!(out, "left  {} / {}", it.key.pk, it.key.sk));
        if said.is_ok() && clock::monotonic_now() >= due {
            due = clock::monotonic_now() + PROGRESS;
            said = writeln!(err, "{} read so far", counted(check.items, "item"));
        }
    };
    let op = store.op();
    let check = op.erasures().verify(&receipt, rate, progress).await?;
    said?;
    print(out, &check)?;
    writeln!(err, "{}", op.cost().of_read())?;
    match check {
        ErasureCheck { left: 1.., .. } => Err(ErasureCheckError::Left(check.left)),
        _ if !check.is_proven() => Err(ErasureCheckError::Differs),
        _ => Ok(()),
    }
}

fn read(path: &PathBuf) -> Result<ErasureReceipt, ErasureCheckError> {
    let text = if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(ErasureCheckError::Unreadable)?;
    let receipt: ErasureReceipt = serde_json::from_str(&text).map_err(ErasureCheckError::NoReceipt)?;
    if receipt.actor.is_none() && receipt.user.is_none() {
        return Err(ErasureCheckError::Nameless);
    }
    match receipt.erasure.state {
        ErasureState::Done => Ok(receipt),
        ErasureState::Erasing => Err(ErasureCheckError::NotDone(receipt.erasure.id)),
    }
}

fn print(out: &mut (dyn Write + Send), check: &ErasureCheck) -> std::io::Result<()> {
    let ErasureCheck { items, left, new, expiring, kept, receipt, ids } = check;
    let comparison = |is_same: &Option<bool>, gone: &'static str| match is_same {
        Some(true) => "as in the table",
        Some(false) => "differs from the table's",
        None => gone,
    };
    writeln!(out, "items read     {items}")?;
    writeln!(out, "left           {left}")?;
    writeln!(out, "expiring       {expiring}")?;
    writeln!(out, "numbers alone  {kept}")?;
    writeln!(out, "younger        {new}")?;
    writeln!(out, "receipt        {}", comparison(receipt, "not in the table"))?;
    writeln!(out, "ids            {}", comparison(ids, "no longer in the table"))
}
