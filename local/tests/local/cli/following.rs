//! `lately tail` and `lately feed tail`, on a topic and a feed that grow.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command};
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
    process: Process,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Running {
    fn of(mut command: Command) -> Self {
        let mut process = Process(command.spawn().unwrap());
        let out = lines_of(process.0.stdout.take().unwrap());
        let err = lines_of(process.0.stderr.take().unwrap());
        Self { process, out, err }
    }

    fn next(&self) -> String {
        self.out.recv_timeout(PATIENCE).expect("there is another line")
    }

    /// The number in the data of the next event.
    fn number(&self) -> u64 {
        serde_json::from_str::<Value>(&self.next()).unwrap()["data"].as_u64().unwrap()
    }
}

/// Passes if a process ends by itself, with success.
fn ends(process: &mut Child) {
    until("the command ends", || process.try_wait().unwrap().is_some());
    assert!(process.wait().unwrap().success());
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
    assert_eq!((0..5).map(|_| tail.number()).collect::<Vec<_>>(), [26, 27, 28, 29, 30]);
    until("the other tail has its position and reads from there", || proxy.asked.load(Ordering::SeqCst) >= 2);
    run_with(&api, &["post", "posts", "--file", "-"], &lines(31..=35)).fine();
    assert_eq!((0..5).map(|_| tail.number()).collect::<Vec<_>>(), [31, 32, 33, 34, 35]);
    assert!(none.next().starts_with("time "));
    assert!((31..=35).all(|number| none.next().ends_with(&format!("  {number}"))));

    program.stopped("-TERM");
    let err = tail.err.recv_timeout(PATIENCE).expect("it says that it retries");
    assert!(err.ends_with("; retrying"), "{err}");
    let program = Program::started(&["--no-demo", "--data", data, "--port", &port]);
    run_with(&api, &["post", "posts", "--file", "-"], &lines(36..=240)).fine();
    assert_eq!((0..205).map(|_| tail.number()).collect::<Vec<_>>(), (36..=240).collect::<Vec<_>>());
    assert_eq!(tail.err.recv_timeout(PATIENCE).as_deref(), Ok("reading again"));
    assert!((36..=240).all(|number| none.next().ends_with(&format!("  {number}"))));
    std::thread::sleep(Duration::from_secs(3));
    assert!(tail.out.try_recv().is_err() && none.out.try_recv().is_err(), "each event once");
    program.stopped("-TERM");
}

#[test]
fn a_feed_is_followed_until_the_user_or_the_reader_ends_it() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    run(api, &["follow", "bob", "actor:ada"]).fine();
    run_with(api, &["post", "posts", "--file", "-"], &lines(1..=3)).fine();
    until("the feed shows the posts", || run(api, &["feed", "tail", "bob"]).fine().lines().count() == 4);
    let last = run(api, &["feed", "tail", "bob", "-n", "1", "--ids", "--token", "bob"]).fine();
    let last = cells(&last);
    assert_eq!(last[0], ["id", "time", "topic", "type", "actor", "subject", "data"]);
    assert_eq!((last.len(), last[1][6]), (2, "3"));
    run(api, &["feed", "tail", "bob", "-f", "--token", "ada"]).failed(3, &["403", "forbidden"]);

    let mut tail = Running::of(lately(api, &["feed", "tail", "bob", "-n", "2", "-f", "--json"]));
    assert_eq!([tail.number(), tail.number()], [2, 3]);
    run_with(api, &["post", "posts", "--file", "-"], &lines(4..=5)).fine();
    // Fan-out writes them one by one, and new events are shown as they arrive.
    let mut new = [tail.number(), tail.number()];
    new.sort_unstable();
    assert_eq!(new, [4, 5]);
    let interrupt = ["-INT", &tail.process.0.id().to_string()];
    assert!(Command::new("kill").args(interrupt).status().unwrap().success());
    ends(&mut tail.process.0);
    assert!(tail.err.recv_timeout(PATIENCE).is_err(), "it says nothing");

    // Nothing is posted any more, so only the closed pipe can end the command.
    if cfg!(target_os = "linux") {
        let mut tail = Process(lately(api, &["tail", "posts", "-n", "1", "-f"]).spawn().unwrap());
        let mut out = BufReader::new(tail.0.stdout.take().unwrap());
        out.read_line(&mut String::new()).unwrap();
        drop(out);
        ends(&mut tail.0);
    }
}

#[test]
fn a_tail_begins_at_a_time_and_filters_by_type() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--data", "0", "--at", "2h"]).fine();
    run_with(api, &["post", "posts", "--file", "-"], &lines(1..=250)).fine();
    run(api, &["post", "posts", "--type", "b", "--actor", "ada", "--data", "251"]).fine();
    let tail = |arguments: &[&str]| run(api, &[&["tail", "posts", "--json"], arguments].concat());
    assert_eq!(tail(&["--from", "1h"]).fine().lines().count(), 251, "all of them, on several pages");
    assert_eq!(tail(&["--from", "3h", "--type", "a"]).fine().lines().count(), 251);
    assert_eq!(tail(&["--type", "b"]).fine().lines().count(), 1);
    tail(&["--from", "1h", "-n", "3"]).failed(2, &["cannot be used with"]);
    assert!(tail(&["-n", "1", "--cost"]).err.starts_with("read_units="));

    let tail = Running::of(lately(api, &["tail", "posts", "--from", "1h", "--type", "b", "-f", "--json"]));
    assert_eq!(tail.number(), 251);
    run_with(api, &["post", "posts", "--file", "-"], &lines(252..=253)).fine();
    run(api, &["post", "posts", "--type", "b", "--actor", "ada", "--data", "254"]).fine();
    assert_eq!(tail.number(), 254, "each once, and none of another type");

    let (proxy, host) = (Proxy::before(api, &[]), format!("Host: {api}"));
    let live = ["--live-url", &format!("http://{}", proxy.address), "--header", &host];
    let tail = Running::of(lately(api, &[&["tail", "posts", "-n", "0", "-f", "--json"], &live[..]].concat()));
    until("the other address is asked for the stream", || proxy.asked.load(Ordering::SeqCst) == 1);
    run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--data", "255"]).fine();
    assert_eq!(tail.number(), 255);
}
