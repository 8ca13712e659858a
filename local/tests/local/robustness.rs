//! The program holds: under many connections, when a part fails, and however it is stopped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::program::{Process, Program, command, get, http, lines_of, until};
use crate::support::PATIENCE;

const DEV: &str = "authorization: Bearer dev";

/// The memory of a process, in bytes.
#[cfg(target_os = "linux")]
fn memory(program: &Program) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.id())).unwrap();
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.strip_suffix("kB"));
    kilobytes.unwrap().trim().parse::<u64>().unwrap() * 1024
}

#[cfg(target_os = "linux")]
#[test]
fn a_silent_connection_costs_less_than_100_kilobytes() {
    const SILENT: usize = 300;
    let program = Program::started(&["--no-demo"]);
    let ask = || assert_eq!(get(program.api(), "/health").0, 200);
    ask();
    let before = memory(&program);
    let silent: Vec<_> = (0..SILENT).map(|_| TcpStream::connect(program.api()).unwrap()).collect();
    // Connections are accepted in order, so all of them are open when this request is answered.
    ask();
    let each = memory(&program).saturating_sub(before) / SILENT as u64;
    assert!(each < 100_000, "{each} bytes a connection");
    drop(silent);
    program.stop("-TERM");
}

#[test]
fn checkpoints_that_cannot_be_written_are_reported_at_once_and_stop_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // The checkpoints are first written to a file of this name.
    let obstacle = folder.path().join("checkpoints.unfinished");
    std::fs::create_dir(&obstacle).unwrap();
    let mut program = Program::started(&["--no-demo", "--data", folder.path().to_str().unwrap()]);
    let troubles = lines_of(program.stderr());
    let line = troubles.recv_timeout(PATIENCE).unwrap();
    let expected =
        "lately: the stream's mapping to fan-out has a problem: its checkpoints cannot be written (";
    assert!(line.starts_with(expected), "{line}");
    let (status, body) = http(program.api(), "GET", "/health", &[], "");
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &problem["code"]), (503, &"unavailable".into()));
    assert!(problem["detail"].as_str().unwrap().contains("fan-out"), "{problem}");
    assert_eq!(get(program.api(), "/health/live").0, 200);
    assert_eq!(get(program.api(), "/health/live?x=1").0, 400);

    let ask = |method: &str, target: &str, body: &str| http(program.api(), method, target, &[DEV], body).0;
    assert_eq!(ask("PUT", "/topics/posts", "{}"), 201);
    assert_eq!(ask("POST", "/topics/posts/events", r#"{"type":"a","actor":"ada"}"#), 201);
    until("fan-out goes on", || {
        let (_, page) = get(program.api(), "/actors/ada/events");
        page["events"].as_array().is_some_and(|events| events.len() == 1)
    });
    std::fs::remove_dir(&obstacle).unwrap();
    let line = troubles.recv_timeout(PATIENCE).unwrap();
    assert_eq!(line, "lately: the stream's mapping to fan-out works again");
    assert_eq!(get(program.api(), "/health").0, 200);
    program.stop("-TERM");
}

#[test]
fn health_names_a_folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program::started(&["--no-demo", "--data", folder.path().to_str().unwrap()]);
    assert_eq!(get(program.api(), "/health").0, 200);
    // The check writes a file of this name.
    std::fs::create_dir(folder.path().join(".health")).unwrap();
    let (status, problem) = get(program.api(), "/health");
    assert_eq!(status, 503);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.starts_with("The folder of the data cannot be written ("), "{detail}");
    program.stop("-TERM");
}

/// True if this process ignores SIGHUP. The processes that it starts then ignore SIGHUP as well.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|ignored| u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 == 1)
}

#[test]
fn every_signal_to_stop_ends_the_program_in_order() {
    // The program inherits an ignored hangup, for example of tests that run under nohup.
    let signals: &[_] = if ignores_hangups() { &["-INT", "-TERM"] } else { &["-INT", "-TERM", "-HUP"] };
    for signal in signals {
        let program = Program::started(&["--no-demo"]);
        let failures = program.value("Failures").split_whitespace().next().unwrap().to_owned();
        assert!(Path::new(&failures).exists());
        program.stop(signal);
        assert!(!Path::new(&failures).exists(), "{signal} leaves no temporary folder");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_under_nohup_ignores_a_hangup() {
    let program = Program::started_by(&["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""], &["--no-demo"]);
    program.signal("-HUP");
    assert_eq!(get(program.api(), "/health").0, 200);
    program.stop("-TERM");
}

#[test]
fn a_closed_output_neither_stops_the_program_nor_fails_its_end() {
    for reads_welcome in [true, false] {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lately"));
        command.args(["--no-demo", "--dynamodb-port", "0", "--port", &port.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process(command.spawn().unwrap());
        let out = BufReader::new(process.0.stdout.take().unwrap());
        if reads_welcome {
            // The iterator is dropped with the pipe.
            out.lines().map(Result::unwrap).find(|line| line == "Stop with Ctrl-C.").unwrap();
        } else {
            drop(out);
        }
        let api = format!("127.0.0.1:{port}");
        until("the program serves its API", || TcpStream::connect(&api).is_ok());
        assert_eq!(get(&api, "/health").0, 200);
        let kill = format!("kill -INT {}", process.0.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let status = process.0.wait().unwrap();
        let mut said = String::new();
        process.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(status.success() && said.is_empty(), "{status} {said}");
    }
}

/// The whole response to a request from a page.
fn from_page(api: &str, method: &str, origin: &str, more: &str) -> String {
    let mut stream = TcpStream::connect(api).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head =
        format!("{method} /topics HTTP/1.1\r\nhost: {api}\r\norigin: {origin}\r\nconnection: close\r\n");
    write!(stream, "{head}{DEV}\r\n{more}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.to_lowercase()
}

#[test]
fn pages_of_allowed_origins_may_call_the_api() {
    let origins = ["http://localhost:5173", "https://app.example.org"];
    let program =
        Program::started(&["--no-demo", "--allow-origin", origins[0], "--allow-origin", origins[1]]);
    let preflight = "access-control-request-method: PUT\r\naccess-control-request-headers: authorization\r\n";
    for origin in origins {
        let allowed = format!("access-control-allow-origin: {origin}\r\n");
        let answer = from_page(program.api(), "OPTIONS", origin, preflight);
        assert!(answer.starts_with("http/1.1 200") && answer.contains(&allowed), "{answer}");
        assert!(
            answer.contains("access-control-allow-methods: get,head,post,put,patch,delete\r\n"),
            "{answer}"
        );
        assert!(answer.contains("access-control-allow-headers: authorization,"), "{answer}");
        let answer = from_page(program.api(), "GET", origin, "");
        assert!(answer.starts_with("http/1.1 200") && answer.contains(&allowed), "{answer}");
        assert!(answer.contains("access-control-expose-headers: "), "{answer}");
    }
    let answer = from_page(program.api(), "GET", "http://localhost:5174", "");
    assert!(answer.starts_with("http/1.1 403") && !answer.contains("access-control"), "{answer}");
    assert!(answer.contains("http://localhost:5174") && answer.contains("--allow-origin"), "{answer}");
    program.stop("-TERM");
}

#[test]
fn other_machines_reach_the_api_only_without_literal_tokens() {
    let mut refused = Program::spawn(&["--host", "0.0.0.0", "--port", "0", "--dynamodb-port", "0"]);
    assert_eq!(refused.ended().code(), Some(1));
    let mut said = String::new();
    refused.stderr().read_to_string(&mut said).unwrap();
    assert!(said.starts_with("lately: other machines can reach 0.0.0.0,"), "{said}");
    assert!(said.contains("add --no-literal-tokens"), "{said}");

    // The environment of a container's image does the same, and does not matter to the other commands.
    let by_environment = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lately"));
        let done = command.args(arguments).env("LATELY_HOST", "0.0.0.0").output().unwrap();
        (done.status.success(), String::from_utf8(done.stderr).unwrap())
    };
    assert_eq!(by_environment(&["--port", "0", "--dynamodb-port", "0"]), (false, said));
    assert!(by_environment(&["completions", "bash"]).0);

    let folder = tempfile::tempdir().unwrap();
    let data = ["--data", folder.path().to_str().unwrap(), "--no-demo"];
    let ask = |program: &Program, token: &str| {
        let port = program.api().rsplit_once(':').unwrap().1;
        http(&format!("127.0.0.1:{port}"), "GET", "/topics", &[&format!("authorization: Bearer {token}")], "")
            .0
    };
    let before = Program::started(&data);
    assert_eq!(ask(&before, "dev"), 200);
    before.stop("-TERM");
    let open = Program::started(&[&data[..], &["--host", "0.0.0.0", "--no-literal-tokens"]].concat());
    assert_eq!(ask(&open, "dev"), 403);
    assert_eq!(open.value("Tokens"), "none");
    let arguments: Vec<_> = ["token"].into_iter().chain(open.value("lately token").split(' ')).collect();
    let (created, token, said) = command(&open, &arguments);
    assert!(created, "{said}");
    assert_eq!(ask(&open, token.trim()), 200);
    open.stop("-TERM");
}
