//! `bench`: measures the published figures, with a subcommand for each kind.
//!
//! `cargo run -p bench --release -- designs`

#![expect(clippy::print_stdout, reason = "this program prints figures")]

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use lately_bench::overload::neighbour::{self, Neighbour, NeighbourScale};
use lately_bench::overload::{OverloadScale, TableKind};
use lately_bench::progress::Progress;
use lately_bench::report::{Report, Table};
use lately_bench::{designs, fan_out, growth, ids, overload, published, reads, writes};
use mimalloc::MiMalloc;

mod cold_start;
mod figure;
mod local;
mod process;

/// With a million items among the requests' short-lived memory, glibc's allocator spends a third of a put on its free
/// lists.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Measure the published figures
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Compare Lately with five published designs under the same workloads
    Designs(OutputOptions),
    /// Count the read units of pages of topics and feeds
    Reads(OutputOptions),
    /// Count the write units and calls of writing events
    Writes(OutputOptions),
    /// Count the units of delivering an event to feeds
    FanOut(OutputOptions),
    /// Measure how a topic of one shard takes a rate of writes that only many shards can take
    Growth(OutputOptions),
    /// Measure how a source that is written faster than its timeline can take, and hostile neighbours, affect other sources
    Overload(OverloadOptions),
    /// Time ids, keys and cursors
    Ids(OutputOptions),
    ColdStart(ColdStartOptions),
    Local(LocalOptions),
    /// Measure live streams of the program `lately`: delays, memory, processor time, and read units
    Live(LocalOptions),
    /// Fill the pages and draw the pictures from the committed figures, without measuring
    Publish,
}

/// The output of a report.
#[derive(Debug, clap::Args)]
struct OutputOptions {
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,

    /// Write the figures to their file, and to the pages and pictures that show them
    #[arg(long)]
    write: bool,
}

#[derive(Debug, clap::Args)]
struct OverloadOptions {
    #[command(flatten)]
    shown: OutputOptions,

    /// The length of the rush, in simulated seconds
    #[arg(long, default_value_t = OverloadScale::FULL.seconds)]
    seconds: u32,

    /// The kind of table; all three without this option
    #[arg(long, value_enum)]
    table: Option<TableKind>,

    /// Follow the busy source's timeline live
    #[arg(long)]
    watch: bool,

    /// Let fan-out stand still at the beginning of the rush for so many simulated seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pause: u32,

    /// Measure only the effect of this neighbour
    #[arg(long, value_enum, conflicts_with_all = ["write", "seconds", "table", "watch", "pause"])]
    neighbour: Option<Neighbour>,
}

#[derive(Debug, clap::Args)]
struct LocalOptions {
    #[command(flatten)]
    options: local::LoadOptions,

    #[command(flatten)]
    shown: OutputOptions,
}

#[derive(Debug, clap::Args)]
struct ColdStartOptions {
    #[command(flatten)]
    options: cold_start::MeasureOptions,

    /// Write the figures to their file, and to the pages that show them
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
        Command::Growth(shown) => show("growth", &growth::report(&progress), &shown),
        Command::Overload(options) => show("overload", &overload_report(&options, &progress), &options.shown),
        Command::Ids(shown) => show("ids", &ids::report(&progress), &shown),
        Command::ColdStart(command) => start_cold(&command),
        Command::Local(LocalOptions { options, shown }) => {
            local::report(&options, &progress).and_then(|report| show("local", &report, &shown))
        }
        Command::Live(LocalOptions { options, shown }) => {
            local::live::report(&options, &progress).and_then(|report| show("live", &report, &shown))
        }
        Command::Publish => published::publish_all().map(|()| ExitCode::SUCCESS).map_err(Into::into),
    };
    done.unwrap_or_else(|error| {
        println!("{error}");
        ExitCode::FAILURE
    })
}

/// The rush and all neighbours, or one neighbour.
fn overload_report(options: &OverloadOptions, progress: &Progress) -> Report {
    if let Some(neighbour) = options.neighbour {
        let command =
            format!("cargo run -p bench --release -- overload --neighbour {}", neighbour.argument());
        let table = neighbour::table(&[neighbour], NeighbourScale::FULL, progress);
        return Report { command, tables: vec![table] };
    }
    let scale = OverloadScale {
        seconds: options.seconds,
        is_watched: options.watch,
        pause_seconds: options.pause,
        ..OverloadScale::FULL
    };
    let kinds = match options.table {
        Some(kind) => vec![kind],
        None => vec![TableKind::New, TableKind::Warm, TableKind::Unbounded],
    };
    let mut report = overload::report(scale, &kinds, progress);
    report.tables.push(neighbour::table(&Neighbour::ALL, NeighbourScale::FULL, progress));
    report
}

type CommandResult = Result<ExitCode, Box<dyn Error + Send + Sync>>;

fn show(subcommand: &str, report: &Report, shown: &OutputOptions) -> CommandResult {
    println!("{}", if shown.json { report.json() } else { report.markdown() });
    if shown.write {
        published::publish(subcommand, report)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn start_cold(ColdStartOptions { options, write }: &ColdStartOptions) -> CommandResult {
    let report = cold_start::run(options)?;
    println!("{}", if options.json { report.json() } else { report.table() });
    if *write {
        let command = "cargo run -p bench --release -- cold-start".to_owned();
        let functions = Table::of_markdown("functions", &report.table());
        published::publish("cold-start", &Report { command, tables: vec![functions] })?;
    }
    Ok(if options.check && !report.is_ok() { ExitCode::from(2) } else { ExitCode::SUCCESS })
}
