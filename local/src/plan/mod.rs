//! `lately plan`: the bill of a workload for a month, by line, before anything is deployed. It needs no network.

pub mod bill;
pub mod prices;
mod units;
pub mod workload;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::failure::{Failure, Result};
use crate::plan::bill::{Line, MONTH_SECONDS, bill};
use crate::plan::prices::{LISTED, Part, Prices};
use crate::plan::workload::{Workload, WorkloadOptions};
use crate::terminal::Terminal;

/// The Region whose prices are listed.
const REGION: &str = "us-east-1";

/// The options of `lately plan`.
#[derive(Clone, Debug, clap::Args)]
pub struct PlanOptions {
    #[command(flatten)]
    workload: WorkloadOptions,

    /// A JSON file with values of the same names, such as {"events":"100/s","live":20}; options come first
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// The AWS Region
    #[arg(long, value_name = "REGION", default_value = REGION)]
    region: String,

    /// A file with other prices, in the form of local/src/plan/prices.json
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the bill.
///
/// # Errors
/// If a file or the Region is invalid.
pub(crate) fn run(options: PlanOptions, mut terminal: Terminal<'_>) -> Result<()> {
    let PlanOptions { workload, file, region, prices, json } = options;
    let text = |path: &Path| {
        fs::read_to_string(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
    };
    let given = match &file {
        Some(path) => serde_json::from_str(&text(path)?)
            .map_err(|error| Failure::usage(format!("{} is no workload: {error}", path.display())))?,
        None => WorkloadOptions::default(),
    };
    let workload = workload.or(given);
    let listed = prices.as_deref().map_or_else(|| Ok(LISTED.to_owned()), text)?;
    let of_file = prices.map(|path| format!("{}: ", path.display())).unwrap_or_default();
    let prices =
        Prices::parse(&listed, &region).map_err(|error| Failure::usage(format!("{of_file}{error}")))?;
    let lines = bill(&workload, &prices);
    let dollars = lines.iter().map(|line| line.dollars).sum::<f64>();
    if json {
        let (date, region) = (&prices.date, &prices.region);
        let bill = json!({ "workload": workload, "region": region, "prices": date, "lines": lines, "dollars": dollars });
        return terminal.print(bill);
    }
    terminal.print(workload)?;
    let Prices { region, date, .. } = &prices;
    terminal.print(format_args!("{region}, list prices of {date}, without free tiers\n"))?;
    terminal.print(format_args!("{:<13}{:>11}", "", "$ a month"))?;
    lines.iter().try_for_each(|line| print(line, &mut terminal))?;
    terminal.print(format_args!("{:<13}{:>11}", "together", money(dollars)))
}

/// The dollars of a workload that runs for some seconds, and whose events are then deleted.
pub(crate) fn of_run(workload: &Workload, seconds: f64) -> f64 {
    let prices = Prices::parse(LISTED, REGION).expect("a test reads these prices");
    let lines = bill(workload, &prices);
    let of_line = |line: &Line| match line.line {
        // A deletion costs as much as the write.
        "writes" | "fan-out" => line.dollars * 2.0,
        "storage" | "alarms" => 0.0,
        _ => line.dollars,
    };
    lines.iter().map(of_line).sum::<f64>() * seconds / MONTH_SECONDS
}

/// Prints a line: its dollars, its amounts, and the assumption below them.
fn print(Line { line, dollars, parts, assumption }: &Line, terminal: &mut Terminal<'_>) -> Result<()> {
    let paid = parts.iter().filter(|part| part.amount > 0.0).map(amount);
    let mut names = [format!("{line:<13}{:>11}", money(*dollars))].into_iter();
    paid.chain([assumption.clone()])
        .try_for_each(|text| terminal.print(format_args!("{:<24}  {text}", names.next().unwrap_or_default())))
}

/// An amount with its price, such as `525.6 M write units × 0.625 a million`.
fn amount(Part { amount, unit, per, price, .. }: &Part) -> String {
    let (amount, scale) = if *amount >= 1e6 { (amount / 1e6, " M") } else { (*amount, "") };
    let per = match per {
        1.0 => String::new(),
        1e6 => " a million".to_owned(),
        per => format!(" for {}", grouped(per)),
    };
    let decimals = if amount.fract() == 0.0 || amount >= 1_000.0 { 0 } else { 1 };
    let cents = if (price * 100.0).fract().abs() < 1e-9 { 2 } else { 4 };
    let price = format!("{price:.cents$}");
    let price = price.strip_suffix('0').filter(|_| cents == 4).unwrap_or(&price);
    format!("{}{scale} {unit} × {price}{per}", grouped(format_args!("{amount:.decimals$}")))
}

/// Dollars with cents.
fn money(dollars: f64) -> String {
    grouped(format_args!("{dollars:.2}"))
}

/// Puts commas between groups of three digits before the decimals.
pub(crate) fn grouped(number: impl ToString) -> String {
    let number = number.to_string();
    let (whole, decimals) = number.split_at(number.find('.').unwrap_or(number.len()));
    let groups: Vec<_> = whole.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",") + decimals
}
