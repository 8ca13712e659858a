//! The start of each function, beside the smallest possible function.
//!
//! Each is run as the process that Lambda runs, against a Runtime API and a DynamoDB that are here ([`platform`],
//! [`table`]). Times are medians of many starts, the functions in turn, so that what else the machine does falls on all of
//! them alike; what counts is the ratio to `hello-dynamodb`, which was
//! started in the same turns. Instructions, memory and size
//! hardly depend on what else the machine does.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

mod binary;
mod figure;
mod instructions;
mod platform;
mod process;
mod report;
mod table;

use binary::Binary;
use figure::median;
use platform::{Endpoint, RuntimeApi};
use process::Process;
use report::{ColdStartReport, Measured};

/// How fast each function starts
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MeasureOptions {
    /// Fail if a budget is missed
    #[arg(long)]
    pub(crate) check: bool,

    /// Print JSON in place of a table
    #[arg(long)]
    pub(crate) json: bool,

    /// Where the binaries are; without it, they are built
    #[arg(long, value_name = "FOLDER")]
    binaries: Option<PathBuf>,

    /// How often each is started for a time
    #[arg(long, value_name = "TIMES", default_value_t = 40, value_parser = clap::value_parser!(u16).range(1..=1000))]
    starts: u16,
}

/// What else goes wrong is said as it is.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Measures all functions.
///
/// # Errors
/// If one cannot be built, started or talked to.
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
        measured.push(Measured {
            function: binary.name,
            start: median(starts),
            instructions: instructions::to_first_poll(&binary.path, &api)?,
            client_hello: hellos.map(median),
            rss_at_poll,
            rss_after,
            answer,
            bytes: binary.bytes()?,
        });
    }
    Ok(ColdStartReport::new(measured))
}

/// From spawn to first poll, of each binary: in turn, after a round that is not counted and brings all into memory.
fn starts(binaries: &[Binary], api: &RuntimeApi, times: u16) -> Result<Vec<Vec<Duration>>> {
    let mut starts = vec![Vec::new(); binaries.len()];
    for round in 0..=times {
        for (binary, starts) in binaries.iter().zip(&mut starts) {
            let process = Process::start(&binary.path, api, &[])?;
            let poll = api.poll()?;
            if round > 0 {
                starts.push(poll.at.duration_since(process.started));
            }
        }
    }
    Ok(starts)
}

/// From the first event to the first bytes of TLS at the endpoint; none, if it calls nobody.
fn client_hellos(binary: &Binary, api: &RuntimeApi, times: u16) -> Result<Option<Vec<Duration>>> {
    let Some(event) = &binary.event else { return Ok(None) };
    let endpoint = Endpoint::start()?;
    let mut hellos = Vec::new();
    for round in 0..=times {
        let _process = Process::start(&binary.path, api, &[("AWS_ENDPOINT_URL", &endpoint.url())])?;
        let handed_over = api.poll()?.answer(event)?;
        let arrived = endpoint.client_hello(handed_over)?;
        if round > 0 {
            hellos.push(arrived.duration_since(handed_over));
        }
    }
    Ok(Some(hellos))
}

/// Memory at the first poll and after the main event, and what that was answered with.
fn memory(
    binary: &Binary,
    api: &RuntimeApi,
    table: &table::LocalTable,
) -> Result<(u64, Option<u64>, String)> {
    let reports = tempfile::tempdir()?;
    let output = format!("file://{}", reports.path().display());
    let variables = [("AWS_ENDPOINT_URL", &*table.url()), ("OUTPUT", &output)];
    let process = Process::start(&binary.path, api, &variables)?;
    let poll = api.poll()?;
    let at_poll = process.resident_bytes()?;
    let Some(event) = &binary.event else { return Ok((at_poll, None, String::new())) };
    poll.answer(event)?;
    let answer = api.answer()?;
    // It polls again when all of the first event is done.
    api.poll()?;
    Ok((at_poll, Some(process.resident_bytes()?), answer))
}

/// The project's folder.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
