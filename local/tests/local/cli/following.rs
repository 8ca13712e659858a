//! `lately tail -f`, on a topic that grows.

use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde_json::Value;

use crate::cli::proxy::Proxy;
use crate::cli::{cells, lately, lines, run, run_with};
use crate::program::{Process, Program, lines_of, until};
use crate::support::PATIENCE;

/// A running command, and its lines as they arrive.
struct Running {
    _process: Process,
    out: Receiver<String>,
    told: Receiver<String>,
}

impl Running {
    fn of(mut command: Command) -> Self {
        let mut process = Process(command.spawn().unwrap());
        let out = lines_of(process.0.stdout.take().unwrap());
        let told = lines_of(process.0.stderr.take().unwrap());
        Self { _process: process, out, told }
    }

    fn next(&self) -> String {
        self.out.recv_timeout(PATIENCE).expect("there is another line")
    }
}

/// A port below the ephemeral ports, so that no other process gets it while the program is down.
fn port_of_its_own() -> u16 {
    let mut ports = std::iter::repeat_with(|| fastrand::u16(20_000..32_000));
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

#[test]
fn a_tail_survives_a_restart_and_prints_each_event_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let port = port_of_its_own().to_string();
    let program = Program::started(&["--no-demo", "--data", data, "--port", &port]);
    let api = program.api().to_owned();
    run(&api, &["topic", "create", "posts"]).fine();
    run_with(&api, &["post", "posts", "--file", "-"], &lines(1..=30)).fine();
    let last = run(&api, &["tail", "posts", "-n", "3", "--ids"]).fine();
    let last = cells(&last);
    assert_eq!(last[0], ["id", "time", "type", "actor", "subject", "data"]);
    assert_eq!(last[1..].iter().map(|row| row[5]).collect::<Vec<_>>(), ["28", "29", "30"]);
    assert_eq!(run(&api, &["tail", "posts", "-n", "0"]).fine(), "");
    run(&api, &["tail", "nowhere", "-f"]).failed(4, &["topic-not-found"]);

    let tail = Running::of(lately(&api, &["tail", "posts", "-n", "5", "-f", "--json"]));
    let proxy = Proxy::before(&api, &[]);
    let host = format!("Host: {api}");
    let none = Running::of(lately(&proxy.address, &["tail", "posts", "-n", "0", "-f", "--header", &host]));
    let number =
        |tail: &Running| serde_json::from_str::<Value>(&tail.next()).unwrap()["data"].as_u64().unwrap();
    assert_eq!((0..5).map(|_| number(&tail)).collect::<Vec<_>>(), [26, 27, 28, 29, 30]);
    until("the other tail has its position and reads from there", || proxy.asked.load(Ordering::SeqCst) >= 2);
    run_with(&api, &["post", "posts", "--file", "-"], &lines(31..=35)).fine();
    assert_eq!((0..5).map(|_| number(&tail)).collect::<Vec<_>>(), [31, 32, 33, 34, 35]);
    assert!(none.next().starts_with("time "));
    assert!((31..=35).all(|number| none.next().ends_with(&format!("  {number}"))));

    program.stopped("-TERM");
    let told = tail.told.recv_timeout(PATIENCE).expect("it says that it retries");
    assert!(told.ends_with("; retrying"), "{told}");
    let program = Program::started(&["--no-demo", "--data", data, "--port", &port]);
    run_with(&api, &["post", "posts", "--file", "-"], &lines(36..=240)).fine();
    assert_eq!((0..205).map(|_| number(&tail)).collect::<Vec<_>>(), (36..=240).collect::<Vec<_>>());
    assert_eq!(tail.told.recv_timeout(PATIENCE).as_deref(), Ok("reading again"));
    assert!((36..=240).all(|number| none.next().ends_with(&format!("  {number}"))));
    std::thread::sleep(Duration::from_secs(3));
    assert!(tail.out.try_recv().is_err() && none.out.try_recv().is_err(), "each event once");
    program.stopped("-TERM");
}
