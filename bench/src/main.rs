//! `lately-bench`: the figures that take processes to measure.
//!
//! `cargo run -p lately-bench --release -- cold-start`

#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

use std::process::ExitCode;

use clap::Parser;

mod cold_start;

/// The figures that take processes to measure
#[derive(Debug, Parser)]
struct Bench {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    ColdStart(cold_start::Options),
}

fn main() -> ExitCode {
    let Command::ColdStart(options) = Bench::parse().command;
    match cold_start::run(&options) {
        Ok(report) => {
            println!("{}", if options.json { report.json() } else { report.table() });
            if options.check && !report.is_ok() { ExitCode::from(2) } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}
