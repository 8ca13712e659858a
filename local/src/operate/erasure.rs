//! `lately erase verify`: proves that nothing of an erased person remains in the table.
//!
//! It reads every item of the table, at a given rate, and writes nothing. The receipt names the person; the table has
//! only the hash of the names.

use std::io::Read;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use lately_kit::clock;
use lately_model::{Erasure, ErasureReceipt, ErasureState};
use lately_store::{ErasureCheck, ErasureFinding, ErasureTrace};

use crate::counted::counted;
use crate::failure::{Failure, Result};
use crate::operate::table::{READ_RATE, TableArguments};
use crate::terminal::Terminal;

/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// Proves an erasure.
pub(crate) async fn verify(
    table: TableArguments,
    receipt: &Path,
    rate: Option<NonZeroU32>,
    mut terminal: Terminal<'_>,
) -> Result<()> {
    let receipt = read(receipt)?;
    let rate = table.rate(rate, READ_RATE)?;
    let store = table.store().await?;
    let mut due = clock::monotonic_now() + PROGRESS;
    let mut said = Ok(());
    let progress = |check: &ErasureCheck, found: &[ErasureFinding]| {
        if said.is_err() {
            return;
        }
        let mut left = found.iter().filter(|finding| finding.trace == ErasureTrace::Left);
        said = left.try_for_each(|it| terminal.print(format_args!("left  {} / {}", it.key.pk, it.key.sk)));
        if said.is_ok() && clock::monotonic_now() >= due {
            due = clock::monotonic_now() + PROGRESS;
            said = terminal.log(format_args!("{} read so far", counted(check.items, "item")));
        }
    };
    let op = store.op();
    let check = op.erasures().verify(&receipt, rate, progress).await?;
    said?;
    print(&mut terminal, &check)?;
    terminal.log(op.cost().of_read())?;
    match check {
        ErasureCheck { left: left @ 1.., .. } => {
            let items = counted(left, "item");
            Err(Failure::new(1, format!("{items} of the erased person left: erase again")))
        }
        _ if !check.is_proven() => Err(Failure::new(1, "the receipt is not the one in the table")),
        _ => Ok(()),
    }
}

fn read(path: &Path) -> Result<ErasureReceipt> {
    let text = if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(Failure::of("the receipt cannot be read"))?;
    let receipt = serde_json::from_str::<ErasureReceipt>(&text);
    let receipt = receipt.map_err(Failure::of("the file is no receipt of an erasure"))?;
    if receipt.actor.is_none() && receipt.user.is_none() {
        let add = "`lately erase show ID --actor ACTOR --user USER --json` adds the names";
        return Err(Failure::new(1, format!("the receipt names nobody: {add}")));
    }
    match receipt.erasure {
        Erasure { state: ErasureState::Done, .. } => Ok(receipt),
        Erasure { id, .. } => {
            let show = format!("`lately erase show {id} --wait --json` prints the receipt");
            Err(Failure::new(1, format!("the erasure was not done yet: {show}")))
        }
    }
}

fn print(terminal: &mut Terminal<'_>, check: &ErasureCheck) -> Result<()> {
    let ErasureCheck { items, left, new, expiring, kept, receipt, ids } = check;
    let comparison = |is_same: &Option<bool>, gone: &str| match is_same {
        Some(true) => "as in the table".to_owned(),
        Some(false) => "differs from the table's".to_owned(),
        None => gone.to_owned(),
    };
    terminal.pairs(&[
        ("items read", items.to_string()),
        ("left", left.to_string()),
        ("expiring", expiring.to_string()),
        ("numbers alone", kept.to_string()),
        ("younger", new.to_string()),
        ("receipt", comparison(receipt, "not in the table")),
        ("ids", comparison(ids, "no longer in the table")),
    ])
}
