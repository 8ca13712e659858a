//! The whole system in one process: its start, its services and its end.

pub mod console;
mod demo;
mod folders;
mod guard;
pub mod literal_tokens;
pub mod options;
mod report_function;
pub mod system;
mod welcome;

use std::future::Future;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::time::Duration;

use axum::middleware::from_fn_with_state;
use lately_engine::Engine;
use lately_keys::table::ConsumerKey;
use lately_kit::log;
use lately_pump::{Destination, PumpHandle};
use lately_report::{Answer, OpenError as ReportsError, Outcome, Output};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::MissedTickBehavior;

use crate::serve::console::{Console, ConsoleParts};
use crate::serve::folders::Folders;
use crate::serve::guard::{Guard, guard};
use crate::serve::options::{ReportInterval, ServeOptions};
use crate::serve::report_function::ReportFunction;
use crate::serve::system::{OpenError, System};

/// The time between two removals of expired items, and the most items that one removal deletes.
const EXPIRY: (Duration, usize) = (Duration::from_secs(1), 1_000);

/// The longest wait for fan-out to handle the demo's events before the demo's users follow each other.
const DEMO_FAN_OUT: Duration = Duration::from_secs(10);

/// The time that requests under way have to finish when the program stops.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// Why the program could not start or keep running.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A port is taken, or cannot be used.
    #[error("port {port} cannot be used for {what} ({source}): choose another with {option} PORT")]
    Port {
        /// The port.
        port: u16,
        /// The service for the port.
        what: &'static str,
        /// The option that chooses another port.
        option: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The system could not be created.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The demo topics could not be written.
    #[error("the demo topics cannot be written ({0}); --no-demo starts without them")]
    Demo(#[from] demo::DemoError),
    /// Reports cannot be written.
    #[error(transparent)]
    Reports(#[from] ReportsError),
    /// Serving ended, or nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs the whole system until the process gets Ctrl-C or SIGTERM.
///
/// # Errors
/// See [`ServeError`].
pub async fn run(options: ServeOptions, out: &mut impl Write) -> Result<(), ServeError> {
    if options.log {
        log::start(tracing::Level::INFO).map_err(std::io::Error::other)?;
    }
    // Bind the ports first: if one is taken, nothing has been created yet.
    let api = listen(Ipv4Addr::LOCALHOST.into(), options.port, "the API", "--port").await?;
    let dynamodb =
        listen(options.dynamodb_host, options.dynamodb_port, "DynamoDB", "--dynamodb-port").await?;
    let data = options.data.as_deref();
    let system = System::open(data).await?;
    let folders = Folders::open(data)?;
    let failures = Destination::folder(folders.failures.path());
    let output = Output::folder(folders.reports.path())?;
    let (told, answers) = mpsc::unbounded_channel();
    let report_function = ReportFunction::new(&system, output, told);
    let pumps = Pumps::start(&system, &report_function, failures.clone(), &options)?;
    if !options.no_demo && demo::create(&system.store).await? {
        // With --stream-faults it may take longer. Then some events may be missing from the feeds, or come later.
        drop(tokio::time::timeout(DEMO_FAN_OUT, pumps.fan_out.settled()).await);
        demo::follow(&system.store).await?;
    }
    // Before the program prints that it runs, because from then on it may get a signal.
    let asked_to_stop = asked_to_stop()?;
    welcome::print(out, api.local_addr()?, dynamodb.local_addr()?, &folders, &options)?;

    let (stop, stopped) = watch::channel(());
    let dynamodb = serve_dynamodb(system.engine.clone(), dynamodb, stopped.clone());
    let (mut endless, report) = start_endless(&system, report_function, &options).await?;
    let api = serve_api(
        api,
        ConsoleParts {
            system,
            pump: pumps.fan_out.clone(),
            failures,
            reports: folders.reports.path().to_owned(),
            report,
            stopped,
        },
    )?;
    tell_reports(asked_to_stop, answers, out).await;
    writeln!(out, "stopping")?;
    drop(stop);
    endless.abort_all();
    let [fan_out, report] = pumps.stop();
    end([api, dynamodb, fan_out, report]).await
}

/// A part of the program that runs concurrently with the others until it is told to stop.
type RunningPart = JoinHandle<std::io::Result<()>>;

/// The template's two stream mappings, running.
struct Pumps {
    fan_out: PumpHandle,
    reports: PumpHandle,
    running: [RunningPart; 2],
}

impl Pumps {
    fn start(
        system: &System,
        report_function: &ReportFunction,
        failures: Destination,
        options: &ServeOptions,
    ) -> Result<Self, OpenError> {
        let (data, faults) = (options.data.as_deref(), &options.stream_faults);
        let fan_out = system.pump(failures, faults.clone(), data)?;
        let reports = system.report_pump(report_function.clone().handler(), faults.clone(), data)?;
        Ok(Self {
            fan_out: fan_out.handle(),
            reports: reports.handle(),
            running: [tokio::spawn(fan_out.run()), tokio::spawn(reports.run())],
        })
    }

    fn stop(self) -> [RunningPart; 2] {
        self.fan_out.stop();
        self.reports.stop();
        self.running
    }
}

/// Completes when the program stops. An error means that the sender was dropped, which also means to stop.
async fn told_to_stop(mut stopped: watch::Receiver<()>) {
    drop(stopped.changed().await);
}

fn serve_dynamodb(engine: Engine, listener: TcpListener, stopped: watch::Receiver<()>) -> RunningPart {
    tokio::spawn(async move { engine.serve(listener, told_to_stop(stopped)).await })
}

fn serve_api(listener: TcpListener, parts: ConsoleParts) -> std::io::Result<RunningPart> {
    let guard = from_fn_with_state(Guard::of(listener.local_addr()?), guard);
    let stopped = told_to_stop(parts.stopped.clone());
    let router = Console::new(parts).router().layer(guard);
    Ok(tokio::spawn(async move { axum::serve(listener, router).with_graceful_shutdown(stopped).await }))
}

/// Starts the tasks that run for ever and may be aborted anywhere. The result also has the consumer and the interval of
/// the scheduled reports, if there is a schedule.
async fn start_endless(
    system: &System,
    report_function: ReportFunction,
    options: &ServeOptions,
) -> Result<(JoinSet<()>, Option<(ConsumerKey, Duration)>), ServeError> {
    let mut endless = JoinSet::new();
    endless.spawn(expire(system.engine.clone()));
    if options.no_demo || !demo::has_billing(&system.store).await? {
        return Ok((endless, None));
    }
    endless.spawn(demo::go_on(system.store.clone()));
    let ReportInterval(Some(every)) = options.report_every else {
        return Ok((endless, None));
    };
    endless.spawn(report_function.run(every, system.report_input()?));
    Ok((endless, Some((system.reported()?, every))))
}

/// Prints a line for each report until the process gets a signal to stop.
async fn tell_reports(
    asked_to_stop: impl Future<Output = ()>,
    mut answers: mpsc::UnboundedReceiver<Answer>,
    out: &mut impl Write,
) {
    let mut asked_to_stop = pin!(asked_to_stop);
    loop {
        tokio::select! {
            () = &mut asked_to_stop => return,
            // If the output is closed, the API is still served.
            Some(answer) = answers.recv() => drop(print_reports(out, &answer)),
        }
    }
}

/// Waits for the parts to end. A client that keeps its connection open does not keep the program running.
async fn end(parts: [RunningPart; 4]) -> Result<(), ServeError> {
    let ended = tokio::time::timeout(LAST_REQUESTS, futures_util::future::join_all(parts)).await;
    for part in ended.into_iter().flatten() {
        part.map_err(std::io::Error::other)??;
    }
    Ok(())
}

/// Prints a line for each finished report.
fn print_reports(out: &mut impl Write, answer: &Answer) -> std::io::Result<()> {
    for outcome in &answer.outcomes {
        if let Outcome::Finished { events, late, files: [file, _], .. } = outcome {
            writeln!(out, "report  {events} events, {late} late  {file}")?;
        }
    }
    out.flush()
}

async fn listen(
    host: IpAddr,
    port: u16,
    what: &'static str,
    option: &'static str,
) -> Result<TcpListener, ServeError> {
    TcpListener::bind((host, port)).await.map_err(|source| ServeError::Port { port, what, option, source })
}

/// Removes expired items, as DynamoDB's time-to-live does, until it is stopped.
async fn expire(engine: Engine) {
    let (period, at_once) = EXPIRY;
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = engine.expire(at_once) {
            tracing::error!(%error, "expired items could not be removed");
        }
    }
}

/// Completes when the process gets a signal to stop. The signal handlers are installed when this function returns.
#[cfg(unix)]
fn asked_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(windows)]
fn asked_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = tokio::signal::windows::ctrl_c()?;
    Ok(async move { drop(interrupt.recv().await) })
}
