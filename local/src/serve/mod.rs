//! The whole system in one process: its start, its services and its end.

pub mod console;
mod demo;
mod folders;
mod guard;
mod health;
pub mod issuer;
pub mod literal_tokens;
mod measurements;
pub mod options;
mod report_function;
pub mod system;
mod welcome;

use std::future::Future;
use std::io::{self, Write};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use futures_util::future::{OptionFuture, join, join_all};
use hyper_util::service::TowerToHyperService;
use lately_authorize::{Issuers, Scheme};
use lately_engine::connections::{self, ConnectionBounds};
use lately_engine::{Engine, OpenProgress};
use lately_kit::log;
use lately_pump::{Destination, PumpHandle, Troubles};
use lately_report::{Answer, Outcome, Output};
use lately_store::Store;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tower::util::option_layer;
use tower_http::timeout::RequestBodyTimeout;

use crate::failure::{Failure, Result};
use crate::serve::console::ConsoleParts;
use crate::serve::demo::DemoState;
use crate::serve::folders::Folders;
use crate::serve::guard::{Guard, cors, guard};
use crate::serve::issuer::LocalIssuer;
use crate::serve::options::{Host, ServeOptions};
use crate::serve::report_function::ReportFunction;
use crate::serve::system::{REPORT_CHECKPOINTS, System, TABLE};
use crate::terminal::Terminal;

/// The time between two removals of expired items, and the most items that one removal deletes.
const EXPIRY: (Duration, usize) = (Duration::from_secs(1), 1_000);

/// The longest wait for fan-out to handle the demo's events before the demo's users follow each other.
const DEMO_FAN_OUT: Duration = Duration::from_secs(10);

/// The time that requests under way have to finish when the program stops.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// The time between two lines about the progress of a long start.
const OPENING: Duration = Duration::from_secs(2);

/// The number of the stream's newest records that stay in memory, and in the folder of the data, for the console and for
/// clients of the DynamoDB port, after the functions have done them.
const RECORDS_KEPT: u64 = 20_000;

/// The longest pause within a request's body. A client that pauses for longer gets an error.
const BODY_PAUSE: Duration = Duration::from_secs(30);

/// Runs the whole system until the process gets Ctrl-C, SIGTERM or SIGHUP. Standard output gets what a user wants to read,
/// and standard error the troubles of parts of the program. If nobody reads them, the program runs on.
pub async fn run(options: ServeOptions, terminal: Terminal<'_>) -> Result<()> {
    let Terminal { stdout: out, stderr: err, .. } = terminal;
    options.check_strangers()?;
    if options.log {
        log::start(tracing::Level::INFO).map_err(io::Error::other)?;
    }
    let (api, dynamodb, issuer, system) = bind_and_open(&options, err).await?;
    // Before temporary folders are created, because a process that a signal kills would leave them behind.
    let asked_to_stop = pin!(asked_to_stop()?);
    let data = options.data.as_deref();
    let folders = Folders::open(data)?;
    let failures = Destination::folder(&folders.failures);
    let output = Output::folder(&folders.reports)?;
    let (answer_sender, answers) = mpsc::unbounded_channel();
    let report_function = ReportFunction { system: system.clone(), output, answer_sender };
    let (sender, lines) = mpsc::unbounded_channel();
    let faults = || options.stream_faults.clone();
    let fan_out = system.pump(failures.clone(), faults(), data)?;
    let (handler, file) = (report_function.clone().handler(), data.map(|data| data.join(REPORT_CHECKPOINTS)));
    let reports = system.pump_of("ReportFunction", handler, None, faults(), file)?;
    let (pump, mappings) = (fan_out.handle(), [("fan-out", fan_out.handle()), ("report", reports.handle())]);
    for (function, pump) in &mappings {
        tokio::spawn(log_troubles(function, pump.troubles(), sender.clone()));
    }
    let pumps = [fan_out, reports].map(|pump| tokio::spawn(pump.run()));
    // The printed commands read the demo's topics, so these are created first. Their events are written while the API
    // answers already.
    let demo = if options.no_demo { DemoState::Absent } else { create_demo(&system.store).await? };
    let addresses = (api.local_addr()?, dynamodb.local_addr()?);

    let (stop, stopped) = watch::channel(());
    let (engine, stop_dynamodb) = (system.engine.clone(), wait_for_stop(stopped.clone()));
    let dynamodb = tokio::spawn(async move { engine.serve(dynamodb, stop_dynamodb).await });
    let every = options.report_every.0.filter(|_| demo != DemoState::Absent);
    let mut endless = start_endless(mappings.clone(), demo, report_function, every, sender);
    let parts = ConsoleParts {
        system: system.clone(),
        issuer,
        pump,
        failures,
        reports: folders.reports.clone(),
        report_every: every,
        pumps: mappings.clone().into(),
        data: options.data.clone(),
    };
    let api = serve_api(api, parts, &options, stopped)?;
    // If the output is closed, there is still an API to serve.
    drop(welcome::print(out, addresses, &folders, demo, &options));
    print_messages(asked_to_stop, answers, lines, out, err).await;
    drop(writeln!(out, "stopping").and_then(|()| out.flush()));
    drop(stop);
    system.end_streams();
    endless.abort_all();
    mappings.iter().for_each(|(_, pump)| pump.stop());
    end(pumps, [api, dynamodb]).await
}

/// Binds the ports of the API and of DynamoDB, and opens the system. If a port is taken, nothing has been created yet.
async fn bind_and_open(
    options: &ServeOptions,
    err: &mut dyn Write,
) -> Result<(TcpListener, TcpListener, LocalIssuer, System)> {
    let api = listen(options.host, options.port, "the API", "--port").await?;
    let dynamodb =
        listen(options.dynamodb_host, options.dynamodb_port, "DynamoDB", "--dynamodb-port").await?;
    let issuer =
        LocalIssuer::new(api.local_addr()?).map_err(Failure::of("the program's issuer of tokens"))?;
    let issuers = Issuers::parse(&options.issuers, Scheme::HttpNearby)?.and(issuer.issuers()?);
    let system = open(options.data.clone(), err).await?.with_issuers(issuers);
    if options.no_literal_tokens {
        literal_tokens::revoke(&system.store)
            .await
            .map_err(Failure::of("the literal tokens cannot be revoked"))?;
    }
    Ok((api, dynamodb, issuer, system))
}

/// Opens the system, and prints the progress if that takes long.
async fn open(data: Option<PathBuf>, err: &mut dyn Write) -> Result<System> {
    let progress = OpenProgress::default();
    let (runtime, counted) = (Handle::current(), progress.clone());
    // It reads files for seconds without a pause, so it has a thread of its own.
    let open = move || runtime.block_on(System::open(data.as_deref(), counted));
    let mut opening = tokio::task::spawn_blocking(open);
    loop {
        match tokio::time::timeout(OPENING, &mut opening).await {
            Ok(opened) => return opened.map_err(io::Error::other)?,
            Err(_) => drop(writeln!(err, "lately: opening the data: {progress}")),
        }
    }
}

async fn create_demo(store: &Store) -> Result<DemoState> {
    demo::create_topics(store).await.map_err(|error| {
        let text = format!("the demo topics cannot be created ({error}); --no-demo starts without them");
        Failure::new(1, text)
    })
}

/// Writes the demo's events and follows.
async fn fill_demo(store: &Store, fan_out: &PumpHandle) -> Result<()> {
    demo::write_events(store).await?;
    // With --stream-faults it may take longer. Then some events may be missing from the feeds, or come later.
    drop(tokio::time::timeout(DEMO_FAN_OUT, fan_out.settled()).await);
    demo::follow(store).await
}

/// A line for the output, or a trouble for the errors.
type Line = Result<&'static str, String>;

/// A stream mapping that runs: the name of the function that the stream invokes, and its handle.
type RunningMapping = (&'static str, PumpHandle);

/// Reports the troubles of a mapping when they begin and when they end.
async fn log_troubles(
    function: &'static str,
    mut troubles: watch::Receiver<Troubles>,
    sender: UnboundedSender<Line>,
) {
    // An error means that the program has ended.
    while troubles.changed().await.is_ok() {
        let line = match &*troubles.borrow_and_update() {
            none if none.is_empty() => format!("the stream's mapping to {function} works again"),
            some => format!("the stream's mapping to {function} has a problem: {some}"),
        };
        drop(sender.send(Err(line)));
    }
}

/// Completes when the program stops. An error means that the sender was dropped, which also means to stop.
async fn wait_for_stop(mut stopped: watch::Receiver<()>) {
    drop(stopped.changed().await);
}

fn serve_api(
    listener: TcpListener,
    parts: ConsoleParts,
    options: &ServeOptions,
    stopped: watch::Receiver<()>,
) -> io::Result<JoinHandle<()>> {
    let guard = from_fn_with_state(Guard::of(listener.local_addr()?, options), guard);
    let router = parts.router().layer(option_layer(cors(options)));
    // `with_state` makes the routes once; a router without it would make them again for each connection.
    let router: Router = router.layer(guard).with_state(());
    let service = TowerToHyperService::new(RequestBodyTimeout::new(router, BODY_PAUSE));
    let stopped = wait_for_stop(stopped);
    Ok(tokio::spawn(connections::serve(listener, service, ConnectionBounds::default(), stopped)))
}

/// Starts the tasks that run for ever and may be aborted anywhere. The reports are made at this interval.
fn start_endless(
    mappings: [RunningMapping; 2],
    demo: DemoState,
    report_function: ReportFunction,
    every: Option<Duration>,
    sender: UnboundedSender<Line>,
) -> JoinSet<()> {
    let System { engine, store, .. } = report_function.system.clone();
    let mut endless = JoinSet::new();
    let [(_, fan_out), _] = mappings.clone();
    endless.spawn(tidy(engine, mappings));
    if demo == DemoState::Absent {
        return endless;
    }
    endless.spawn(async move {
        if demo == DemoState::New {
            let filled = fill_demo(&store, &fan_out).await;
            let line = filled.map(|()| welcome::DEMO_IS_COMPLETE);
            drop(sender.send(line.map_err(|error| format!("the demo data is incomplete: {error}"))));
        }
        // The first report has all events of the demo, because they are complete.
        let reports = every.map(|every| Box::pin(report_function.run(every)));
        join(demo::go_on(store), OptionFuture::from(reports)).await;
    });
    endless
}

/// Prints a line for each report, and the lines of the program's parts, until the process gets a signal to stop. If an
/// output is closed, the API is still served.
async fn print_messages(
    mut asked_to_stop: Pin<&mut impl Future<Output = ()>>,
    mut answers: mpsc::UnboundedReceiver<Answer>,
    mut lines: mpsc::UnboundedReceiver<Line>,
    out: &mut (dyn Write + Send),
    err: &mut (dyn Write + Send),
) {
    loop {
        tokio::select! {
            () = &mut asked_to_stop => return,
            Some(answer) = answers.recv() => drop(print_reports(out, &answer)),
            Some(line) = lines.recv() => match line {
                Ok(line) => drop(writeln!(out, "{line}").and_then(|()| out.flush())),
                Err(trouble) => drop(writeln!(err, "lately: {trouble}")),
            },
        }
    }
}

/// Waits for the parts to end. A client that keeps its connection open does not keep the program running.
async fn end(pumps: [JoinHandle<io::Result<()>>; 2], servers: [JoinHandle<()>; 2]) -> Result<()> {
    let all = join(join_all(pumps), join_all(servers));
    let Ok((pumps, _)) = tokio::time::timeout(LAST_REQUESTS, all).await else { return Ok(()) };
    for pump in pumps {
        pump.map_err(io::Error::other)?.map_err(|error| {
            let text = format!("the stream's checkpoints cannot be written ({error})");
            Failure::new(1, format!("{text}, so the next start repeats some of its work"))
        })?;
    }
    Ok(())
}

/// Prints a line for each finished report.
fn print_reports(out: &mut dyn Write, answer: &Answer) -> io::Result<()> {
    for outcome in &answer.outcomes {
        if let Outcome::Finished { events, late, files: [file, _], .. } = outcome {
            writeln!(out, "report  {events} events, {late} late  {file}")?;
        }
    }
    out.flush()
}

async fn listen(host: Host, port: u16, what: &'static str, option: &'static str) -> Result<TcpListener> {
    TcpListener::bind((host.address()?, port)).await.map_err(|error| {
        let text = format!("port {port} cannot be used for {what} ({error})");
        Failure::new(1, format!("{text}: choose another with {option} PORT"))
    })
}

/// Removes expired items, as DynamoDB's time-to-live does, and drops the stream's records that all functions have done,
/// except the newest, until it is stopped. So neither the memory nor the time of the next start grows with the changes of
/// a day.
async fn tidy(engine: Engine, mappings: [RunningMapping; 2]) {
    let (period, at_once) = EXPIRY;
    loop {
        if let Err(error) = engine.expire(at_once) {
            tracing::error!(%error, "expired items could not be removed");
        }
        if let Some(stream) = engine.stream(TABLE) {
            let settled = mappings.iter().map(|(_, pump)| pump.settled_shards());
            let by_all =
                settled.reduce(|one, other| one.into_iter().zip(other).map(|(a, b)| a.min(b)).collect());
            stream.forget(&by_all.unwrap_or_default(), RECORDS_KEPT);
        }
        tokio::time::sleep(period).await;
    }
}

/// Completes when the process gets a signal to stop. The signal handlers are installed when this function returns.
#[cfg(unix)]
fn asked_to_stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // A handler would undo what `nohup` asks for.
    let mut hangup = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            Some(_) = async { hangup.as_mut()?.recv().await } => {}
        }
    })
}

/// True if the process was started with SIGHUP ignored, as `nohup` does. Known only on Linux.
#[cfg(unix)]
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is signal 1, the lowest bit.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(windows)]
fn asked_to_stop() -> io::Result<impl Future<Output = ()>> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move { drop(interrupt.recv().await) })
}
