//! Measures the start of each function, and compares it with the smallest possible function.
//!
//! Each function runs as the process that Lambda runs, against a local Runtime API ([`platform`]) and a local DynamoDB
//! ([`table`]). Times are medians of many starts. The functions start in turn, so that other load on the machine
//! affects all of them alike. The important figure is the ratio to `hello-dynamodb`, which starts in the same turns.
//! Instructions, memory and size hardly depend on other load.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod binary;
mod instructions;
mod platform;
mod process;
mod report;
mod table;

use binary::Binary;
use platform::{Endpoint, RuntimeApi};
use process::Process;
use report::{ColdStartReport, FunctionStart};

use crate::figure::median;

/// Measure the start of each function: its time, instructions, memory and size
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MeasureOptions {
    /// Fail if a budget is missed
    #[arg(long)]
    pub(crate) check: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// The folder with the binaries [default: build them]
    #[arg(long, value_name = "FOLDER")]
    binaries: Option<PathBuf>,

    /// The number of starts for each median time
    #[arg(long, value_name = "TIMES", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=1000))]
    starts: u16,
}

/// The result of a measurement. Its error is only printed.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Measures all functions.
///
/// # Errors
/// If a function cannot be built or started, or does not answer.
pub(crate) fn run(options: &MeasureOptions) -> Result<ColdStartReport> {
    let binaries = match &options.binaries {
        Some(folder) => Binary::in_folder(folder)?,
        None => Binary::build()?,
    };
    let table = table::LocalTable::start()?;
    let api = RuntimeApi::start()?;
    let starts = starts(&binaries, &api, options.starts)?;
    let mut measured = Vec::new();
    for (binary, starts) in binaries.iter().zip(starts) {
        let hellos = client_hellos(binary, &api, options.starts)?;
        let (rss_at_poll, rss_after, answer) = memory(binary, &api, &table)?;
        measured.push(FunctionStart {
            function: binary.name,
            start: median(starts),
            instructions: instructions::to_first_poll(binary, &api)?,
            client_hello: hellos.map(median),
            rss_at_poll,
            rss_after,
            answer,
            bytes: binary.bytes()?,
        });
    }
    Ok(ColdStartReport::new(measured))
}

/// The times from spawn to first poll of each binary. The binaries start in turn. A first round, which is not counted,
/// loads all files into memory.
fn starts(binaries: &[Binary], api: &RuntimeApi, times: u16) -> Result<Vec<Vec<Duration>>> {
    let mut starts = vec![Vec::new(); binaries.len()];
    for round in 0..=times {
        for (binary, starts) in binaries.iter().zip(&mut starts) {
            let process = Process::start(binary, api, &[])?;
            let poll = api.poll()?;
            if round > 0 {
                starts.push(poll.at.duration_since(process.started));
            }
        }
    }
    Ok(starts)
}

/// The times from the first event to the first bytes of TLS at the endpoint. `None` if the function has no event.
fn client_hellos(binary: &Binary, api: &RuntimeApi, times: u16) -> Result<Option<Vec<Duration>>> {
    let Some(event) = &binary.event else { return Ok(None) };
    let endpoint = Endpoint::start()?;
    let mut hellos = Vec::new();
    for round in 0..=times {
        let _process = Process::start(binary, api, &[("AWS_ENDPOINT_URL", &endpoint.url())])?;
        let handed_over = api.poll()?.answer(event)?;
        let arrived = endpoint.client_hello(handed_over)?;
        if round > 0 {
            hellos.push(arrived.duration_since(handed_over));
        }
    }
    Ok(Some(hellos))
}

/// The memory at the first poll and after the first event, and the response to that event.
fn memory(
    binary: &Binary,
    api: &RuntimeApi,
    table: &table::LocalTable,
) -> Result<(u64, Option<u64>, String)> {
    let reports = tempfile::tempdir()?;
    let output = format!("file://{}", reports.path().display());
    let variables = [("AWS_ENDPOINT_URL", &*table.url()), ("OUTPUT", &output)];
    let process = Process::start(binary, api, &variables)?;
    let poll = api.poll()?;
    let at_poll = process.resident_bytes()?;
    let Some(event) = &binary.event else { return Ok((at_poll, None, String::new())) };
    poll.answer(event)?;
    let answer = api.answer()?;
    // The function polls again when it has finished the first event.
    api.poll()?;
    Ok((at_poll, Some(process.resident_bytes()?), answer))
}

/// The project's folder.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
