//! The whole system in one process: starting, serving and stopping.

pub mod console;
mod demo;
mod guard;
pub mod literal_tokens;
pub mod options;
mod reporter;
pub mod system;
mod welcome;

use std::future::Future;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use axum::middleware::from_fn_with_state;
use lately_engine::Engine;
use lately_kit::log;
use lately_pump::{Destination, PumpHandle};
use lately_report::{Answer, OpenError as ReportsError, Outcome, Output};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::serve::console::{Console, Parts};
use crate::serve::guard::{Guard, guard};
use crate::serve::options::{ReportInterval, ServeOptions};
use crate::serve::reporter::Reporter;
use crate::serve::system::{OpenError, System};

/// How often items whose time is over are removed, and how many at once.
const EXPIRY: (Duration, usize) = (Duration::from_secs(1), 1_000);

/// How long fan-out may take for the demo's events before their followers come.
const DEMO_FAN_OUT: Duration = Duration::from_secs(10);

/// How long requests under way may take when the program is asked to stop.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// Why the program could not start, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A port is taken, or may not be used.
    #[error("port {port} cannot be used for {what} ({source}): choose another with {option} PORT")]
    Port {
        /// The port.
        port: u16,
        /// What would have been served there.
        what: &'static str,
        /// How to choose another.
        option: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// The system could not be put together.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The demo topics could not be written.
    #[error("the demo topics cannot be written: {0}")]
    Demo(#[from] demo::DemoError),
    /// Reports cannot be written.
    #[error(transparent)]
    Reports(#[from] ReportsError),
    /// Serving ended, or nothing could be printed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs the whole system until the process is asked to stop (Ctrl-C, or SIGTERM).
///
/// # Errors
/// See [`ServeError`].
pub async fn run(options: ServeOptions, out: &mut impl Write) -> Result<(), ServeError> {
    if options.log {
        log::start(tracing::Level::INFO).map_err(std::io::Error::other)?;
    }
    // The ports first: nothing is created for a program that cannot serve.
    let api = listen(Ipv4Addr::LOCALHOST.into(), options.port, "the API", "--port").await?;
    let dynamodb =
        listen(options.dynamodb_host, options.dynamodb_port, "DynamoDB", "--dynamodb-port").await?;
    let data = options.data.as_deref();
    let system = System::open(data).await?;
    let failures = Folder::of(data, "failures")?;
    let reports = Folder::of(data, "reports")?;
    let destination = Destination::folder(failures.path());
    let pump = system.pump(destination.clone(), options.stream_faults.clone(), data)?;
    let output = Output::folder(reports.path())?;
    let (told, mut answers) = mpsc::unbounded_channel();
    let reporter = Reporter::new(&system, output, told);
    let report_pump = system.report_pump(reporter.clone().handler(), options.stream_faults.clone(), data)?;
    let pumping = [pump.handle(), report_pump.handle()];
    let (pump, report_pump) = (tokio::spawn(pump.run()), tokio::spawn(report_pump.run()));
    if !options.no_demo && demo::create(&system.store).await? {
        // With faults on request it may take long: then what is missing of the feeds is backfilled later, or never.
        drop(tokio::time::timeout(DEMO_FAN_OUT, pumping[0].settled()).await);
        demo::follow(&system.store).await?;
    }
    // Before anything says that it runs: from then on, it may be asked to stop.
    let asked_to_stop = asked_to_stop()?;
    let folders = welcome::Folders { failures: failures.path(), reports: reports.path() };
    welcome::print(out, api.local_addr()?, dynamodb.local_addr()?, &folders, &options)?;

    let (stop, stopped) = watch::channel(());
    let asked = |mut stopped: watch::Receiver<()>| async move {
        // An error means that the sender is gone: then too it is time to stop.
        drop(stopped.changed().await);
    };
    let engine = system.engine.clone();
    let dynamodb = tokio::spawn({
        let asked = asked(stopped.clone());
        async move { engine.serve(dynamodb, asked).await }
    });
    // What has no end of its own, and may end anywhere.
    let mut endless = JoinSet::new();
    endless.spawn(expire(system.engine.clone()));
    let mut report = None;
    if !options.no_demo && demo::has_billing(&system.store).await? {
        endless.spawn(demo::go_on(system.store.clone()));
        if let ReportInterval(Some(every)) = options.report_every {
            endless.spawn(reporter.run(every, system.report_input()?));
            report = Some((system.reported()?, every));
        }
    }
    let api = tokio::spawn({
        let guard = from_fn_with_state(Guard::of(api.local_addr()?), guard);
        let console = Console::new(Parts {
            system,
            pump: pumping[0].clone(),
            failures: destination,
            reports: reports.path().to_owned(),
            report,
            stopped: stopped.clone(),
        });
        let (router, asked) = (console.router().layer(guard), asked(stopped));
        async move { axum::serve(api, router).with_graceful_shutdown(asked).await }
    });

    let mut asked_to_stop = pin!(asked_to_stop);
    loop {
        tokio::select! {
            () = &mut asked_to_stop => break,
            // Where nobody reads any more what is said, there is still an API to serve.
            Some(answer) = answers.recv() => drop(print_reports(out, &answer)),
        }
    }
    writeln!(out, "stopping")?;
    drop(stop);
    endless.abort_all();
    pumping.iter().for_each(PumpHandle::stop);
    let served = async { (api.await, dynamodb.await, pump.await, report_pump.await) };
    // A client that keeps its connection open does not keep the program.
    if let Ok((api, dynamodb, pump, report_pump)) = tokio::time::timeout(LAST_REQUESTS, served).await {
        api.map_err(std::io::Error::other)??;
        dynamodb.map_err(std::io::Error::other)??;
        pump.map_err(std::io::Error::other)??;
        report_pump.map_err(std::io::Error::other)??;
    }
    Ok(())
}

/// Tells of a report, when there is one.
fn print_reports(out: &mut impl Write, answer: &Answer) -> std::io::Result<()> {
    for outcome in &answer.outcomes {
        if let Outcome::Finished { events, late, files: [file, _], .. } = outcome {
            writeln!(out, "report  {events} events, {late} late  {file}")?;
        }
    }
    out.flush()
}

/// A folder of the program's: with the data, or for as long as it runs.
enum Folder {
    Kept(PathBuf),
    Passing(TempDir),
}

impl Folder {
    fn of(data: Option<&Path>, name: &str) -> std::io::Result<Self> {
        let Some(data) = data else { return Ok(Self::Passing(tempfile::tempdir()?)) };
        let folder = data.join(name);
        // There from the start, so that it can be listed.
        std::fs::create_dir_all(&folder)?;
        Ok(Self::Kept(folder))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(folder) => folder,
            Self::Passing(folder) => folder.path(),
        }
    }
}

async fn listen(
    host: IpAddr,
    port: u16,
    what: &'static str,
    option: &'static str,
) -> Result<TcpListener, ServeError> {
    TcpListener::bind((host, port)).await.map_err(|source| ServeError::Port { port, what, option, source })
}

/// Removes items whose time is over, as DynamoDB's own service does, until it is stopped.
async fn expire(engine: Engine) {
    let (period, at_once) = EXPIRY;
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = engine.expire(at_once) {
            tracing::error!(%error, "items whose time is over could not be removed");
        }
    }
}

/// Ready when the process is asked to stop; it listens from when this returns.
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
