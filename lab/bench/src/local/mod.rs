//! Measures the program `lately` under load: times of requests, memory, and the price of a connection.
//!
//! The program runs as a process of its own, in memory and without the demo. The load shares the machine's processors
//! with it, as a developer's own client would. Figures of two runs compare only on the same machine with nothing else to
//! do.

mod bulk;
mod connection;
pub(crate) mod live;

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hyper::Method;
use lately_bench::progress::Progress;
use lately_bench::report::{Cell, Report, Table};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::figure::{median, permille};
use crate::process::MeasuredProcess;
use connection::{ApiRequest, Connection};

/// The result of a measurement. Its error is only printed.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Measure the program `lately` under load: times of requests, memory, and the price of a connection
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LoadOptions {
    /// The program [default: `lately` in the folder of this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// The numbers of connections with which the memory is measured. The first is also that of the timed requests.
const CONNECTIONS: [usize; 2] = [32, 256];

/// The length of each kind of load.
const LOAD: Duration = Duration::from_secs(5);

/// The time after which the program has accepted new connections, and its memory no longer changes.
const SETTLED: Duration = Duration::from_millis(500);

/// The rounds in which connections are opened and closed. The system counts processor time in steps of 10 ms.
const ROUNDS: usize = 8;

/// The number of events in a batch.
const BATCH: usize = 100;

/// Measures the program.
///
/// # Errors
/// If the program cannot be started, or does not answer with a success.
pub(crate) fn report(LoadOptions { program }: &LoadOptions, progress: &Progress) -> Result<Report> {
    let program = found(program.as_ref())?;
    let table = tokio::runtime::Runtime::new()?.block_on(measure(&program, progress))?;
    Ok(Report { command: "cargo run -p bench --release -- local".to_owned(), tables: vec![table] })
}

/// The program to measure.
fn found(program: Option<&PathBuf>) -> Result<PathBuf> {
    Ok(match program {
        Some(program) => program.clone(),
        None => std::env::current_exe()?.with_file_name("lately"),
    })
}

async fn measure(program: &Path, progress: &Progress) -> Result<Table> {
    progress.expect(7);
    let (process, address) = start(program)?;
    Connection::open(address).await?.send(put(TOPIC.to_owned(), "{}")).await?;
    // A page of 50 events, and a topic's first fan-out, are there before the memory is measured.
    Connection::open(address).await?.send(post(&batch(0))).await?;
    sleep(2 * SETTLED).await;
    let mut table = Table::new("local", &["the program under load", "figure"]);
    let mut push = |name: String, cell: Cell| table.push([name.into(), cell]);
    push("memory without connections".to_owned(), megabytes(&process)?);
    let mut silent = Vec::new();
    for connections in CONNECTIONS {
        while silent.len() < connections {
            silent.push(Connection::open(address).await?);
        }
        sleep(SETTLED).await;
        push(format!("memory with {connections} silent connections"), megabytes(&process)?);
    }
    drop(silent);
    progress.done("silent connections");
    push(
        "processor time to open and close a connection".to_owned(),
        millis(price_of_a_connection(&process, address).await?, 100.0),
    );
    progress.done("opening and closing connections");
    for connections in CONNECTIONS {
        let reading = load(address, connections, |_| get(LATEST.to_owned()));
        // The connections are still open and reading when the memory is measured.
        let (times, memory) = tokio::join!(reading, async {
            sleep(LOAD - SETTLED).await;
            megabytes(&process)
        });
        push(format!("memory with {connections} reading connections"), memory?);
        if connections == CONNECTIONS[0] {
            push_times(&mut push, "reads of the latest 50 events", 1, times?);
        } else {
            times?;
        }
        progress.done(&format!("reads from {connections} connections"));
    }
    let singles = load(address, CONNECTIONS[0], |number| post(&event(number))).await?;
    push_times(&mut push, "posts of one event", 1, singles);
    progress.done("posts of one event");
    let batches = load(address, CONNECTIONS[0], |number| post(&batch(number))).await?;
    push_times(&mut push, &format!("posts of {BATCH} events"), BATCH, batches);
    progress.done("posts of batches");
    drop(process);
    let bulk::BulkTimes { quiet, all } = bulk::measure(program).await?;
    push(format!("quiet source behind a bulk of {} events", bulk::BULK), millis(quiet, 1.0));
    let a_second = bulk::BULK as u64 * 1_000 / u64::try_from(all.as_millis())?.max(1);
    push("events fanned out a second, one follower".to_owned(), a_second.into());
    progress.done("a bulk of events");
    Ok(table)
}

/// Starts the program on free ports, and returns the address of its API.
fn start(program: &Path) -> Result<(MeasuredProcess, SocketAddr)> {
    let mut command = Command::new(program);
    command.args(["--port", "0", "--dynamodb-port", "0", "--no-demo"]).stdout(Stdio::piped());
    let process = MeasuredProcess::start(&mut command);
    let mut process = process.map_err(|error| format!("{}: {error}", program.display()))?;
    let output = process.take_output().ok_or("the output is not piped")?;
    for line in BufReader::new(output).lines() {
        if let Some(address) = line?.trim().strip_prefix("API ") {
            return Ok((process, address.trim().trim_start_matches("http://").parse()?));
        }
    }
    Err("the program ended before it printed the address of its API".into())
}

/// The processor time that the program spends on a connection that is opened, sends nothing and is closed.
async fn price_of_a_connection(process: &MeasuredProcess, address: SocketAddr) -> Result<Duration> {
    let connections = CONNECTIONS[1];
    let before = process.processor_time()?;
    for _ in 0..ROUNDS {
        let mut open = Vec::new();
        while open.len() < connections {
            open.push(Connection::open(address).await?);
        }
        sleep(SETTLED).await;
    }
    sleep(SETTLED).await;
    let spent = process.processor_time()? - before;
    Ok(spent / u32::try_from(ROUNDS * connections)?)
}

/// The times of the requests that a number of connections send, each one after the other, for [`LOAD`].
async fn load(
    address: SocketAddr,
    connections: usize,
    request: impl Fn(usize) -> ApiRequest,
) -> Result<Vec<Duration>> {
    let mut clients = JoinSet::new();
    for number in 0..connections {
        let (mut connection, request) = (Connection::open(address).await?, request(number));
        clients.spawn(async move {
            let (started, mut times) = (Instant::now(), Vec::new());
            while started.elapsed() < LOAD {
                times.push(connection.send(request.clone()).await?);
            }
            Result::Ok(times)
        });
    }
    let mut all = Vec::new();
    while let Some(times) = clients.join_next().await {
        all.extend(times??);
    }
    Ok(all)
}

fn push_times(push: &mut impl FnMut(String, Cell), name: &str, events: usize, times: Vec<Duration>) {
    let a_second = (times.len() * events) as u64 / LOAD.as_secs();
    let what = if events == 1 { "" } else { ", in events" };
    push(format!("{name}, a second{what}"), a_second.into());
    push_spread(push, name, times);
}

fn push_spread(push: &mut impl FnMut(String, Cell), name: &str, times: Vec<Duration>) {
    push(format!("{name}, median"), millis(median(times.clone()), 10.0));
    push(format!("{name}, 99th percentile"), millis(permille(times, 990), 10.0));
}

fn megabytes(process: &MeasuredProcess) -> Result<Cell> {
    Ok(Cell::Text(format!("{} MB", process.resident_bytes()? / 1_000_000)))
}

/// Milliseconds, rounded to this part of one.
fn millis(time: Duration, part: f64) -> Cell {
    Cell::Text(format!("{} ms", (time.as_secs_f64() * 1e3 * part).round() / part))
}

const TOPIC: &str = "/topics/load";
const EVENTS: &str = "/topics/load/events";
const LATEST: &str = "/topics/load/events?limit=50";

fn get(path: String) -> ApiRequest {
    ApiRequest { method: Method::GET, path, body: String::new() }
}

fn put(path: String, body: &str) -> ApiRequest {
    ApiRequest { method: Method::PUT, path, body: body.to_owned() }
}

fn post(body: &str) -> ApiRequest {
    ApiRequest { method: Method::POST, path: EVENTS.to_owned(), body: body.to_owned() }
}

/// An event. Each connection posts those of its own actor.
fn event(number: usize) -> String {
    format!(
        r#"{{"type":"load.posted","actor":"user-{number}","data":{{"text":"A text of some thirty letters."}}}}"#
    )
}

fn batch(number: usize) -> String {
    format!("[{}]", vec![event(number); BATCH].join(","))
}
