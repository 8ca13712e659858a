//! `bench`: every published figure, by a subcommand.
//!
//! `cargo run -p bench --release -- designs`

#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use lately_bench::progress::Progress;
use lately_bench::report::{Report, Table};
use lately_bench::{designs, fan_out, ids, overload, published, reads, writes};
use mimalloc::MiMalloc;

mod cold_start;

/// With a million items in memory among requests' short-lived ones, glibc's spends a third of a put on its free lists.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Every published figure
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Lately and five published designs beside each other, under the same workloads
    Designs(OutputOptions),
    /// What pages cost at DynamoDB
    Reads(OutputOptions),
    /// What writing costs at DynamoDB
    Writes(OutputOptions),
    /// What bringing events to feeds costs at DynamoDB
    FanOut(OutputOptions),
    /// What others notice of a source that is written faster than its timeline can take
    Overload(OverloadOptions),
    /// What ids, keys and cursors cost in time
    Ids(OutputOptions),
    ColdStart(ColdStartOptions),
    /// Fill the pages and draw the pictures from the committed figures, and measure nothing
    Publish,
}

/// The output of a report.
#[derive(Debug, clap::Args)]
struct OutputOptions {
    /// Print JSON in place of tables
    #[arg(long)]
    json: bool,

    /// Commit the figures: to their file, and to the pages and pictures that show them
    #[arg(long)]
    write: bool,
}

#[derive(Debug, clap::Args)]
struct OverloadOptions {
    #[command(flatten)]
    shown: OutputOptions,

    /// How long the rush is, in simulated seconds
    #[arg(long, default_value_t = overload::OverloadScale::FULL.seconds)]
    seconds: u32,
}

#[derive(Debug, clap::Args)]
struct ColdStartOptions {
    #[command(flatten)]
    options: cold_start::MeasureOptions,

    /// Commit the figures: to their file, and to the pages that show them
    #[arg(long)]
    write: bool,
}

fn main() -> ExitCode {
    let progress = Progress::on_stderr();
    let done = match CommandLine::parse().command {
        Command::Designs(shown) => {
            show("designs", &designs::report(&designs::WorkloadScale::FULL, &progress), &shown)
        }
        Command::Reads(shown) => show("reads", &reads::report(&progress), &shown),
        Command::Writes(shown) => show("writes", &writes::report(&progress), &shown),
        Command::FanOut(shown) => show("fan-out", &fan_out::report(&progress), &shown),
        Command::Overload(OverloadOptions { shown, seconds }) => {
            let scale = overload::OverloadScale { seconds, ..overload::OverloadScale::FULL };
            show("overload", &overload::report(scale, &progress), &shown)
        }
        Command::Ids(shown) => show("ids", &ids::report(&progress), &shown),
        Command::ColdStart(command) => start_cold(&command),
        Command::Publish => published::publish_all().map(|()| ExitCode::SUCCESS).map_err(Into::into),
    };
    done.unwrap_or_else(|error| {
        println!("{error}");
        ExitCode::FAILURE
    })
}

type Done = Result<ExitCode, Box<dyn Error>>;

fn show(subcommand: &str, report: &Report, shown: &OutputOptions) -> Done {
    println!("{}", if shown.json { report.json() } else { report.markdown() });
    if shown.write {
        published::publish(subcommand, report)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn start_cold(ColdStartOptions { options, write }: &ColdStartOptions) -> Done {
    let report = cold_start::run(options)?;
    println!("{}", if options.json { report.json() } else { report.table() });
    if *write {
        let command = "cargo run -p bench --release -- cold-start".to_owned();
        let functions = Table::of_markdown("functions", &report.table());
        published::publish("cold-start", &Report { command, tables: vec![functions] })?;
    }
    Ok(if options.check && !report.is_ok() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}
