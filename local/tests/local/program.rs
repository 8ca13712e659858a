//! The real binary as a process: it prints working commands, stops on a signal, and stores its data.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use lately::serve::literal_tokens;
use serde_json::{Value, json};

use crate::support::PATIENCE;

/// A process that does not outlive its test.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The lines of a pipe, as they come.
pub(crate) fn lines_of(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    let pipe = BufReader::new(pipe);
    std::thread::spawn(move || pipe.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    lines
}

/// The program, and what it prints.
pub(crate) struct Program {
    process: Process,
    lines: Receiver<String>,
    printed: Vec<String>,
}

impl Program {
    pub(crate) fn spawn(arguments: &[&str]) -> Self {
        Self::spawn_by(&[], arguments)
    }

    /// Starts the program as the last arguments of another one. Without another, directly.
    fn spawn_by(other: &[&str], arguments: &[&str]) -> Self {
        let words = [other, &[env!("CARGO_BIN_EXE_lately")], arguments].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process(command.spawn().unwrap());
        let lines = lines_of(process.0.stdout.take().unwrap());
        Self { process, lines, printed: Vec::new() }
    }

    /// Starts a program, on free ports unless the arguments name one, and waits until it has printed that it runs and
    /// that its demo data is complete.
    pub(crate) fn started(arguments: &[&str]) -> Self {
        Self::started_by(&[], arguments)
    }

    /// Like [`Program::started`], through another program that runs the rest of its arguments.
    pub(crate) fn started_by(other: &[&str], arguments: &[&str]) -> Self {
        let port: &[&str] = if arguments.contains(&"--port") { &[] } else { &["--port", "0"] };
        let mut program = Self::spawn_by(other, &[port, &["--dynamodb-port", "0"], arguments].concat());
        while program.printed.last().is_none_or(|line| line != "Stop with Ctrl-C.") {
            let line = program.lines.recv_timeout(PATIENCE).expect("the program says that it runs");
            program.printed.push(line);
        }
        if program.printed.iter().any(|line| line.starts_with("  Demo ")) {
            program.line("The demo data is complete.");
        }
        program
    }

    /// The text printed behind a word at the beginning of a line.
    pub(crate) fn value(&self, word: &str) -> &str {
        let line = self.printed.iter().find_map(|line| line.trim_start().strip_prefix(word));
        line.unwrap_or_else(|| panic!("{word}: {:?}", self.printed)).trim_start()
    }

    pub(crate) fn api(&self) -> &str {
        self.value("API").strip_prefix("http://").unwrap()
    }

    /// The partitions of the items of the program's table that do not expire, each once.
    pub(crate) fn lasting_partitions(&self) -> BTreeSet<String> {
        let (mut partitions, mut start) = (BTreeSet::new(), Value::Null);
        loop {
            let mut scan = json!({
                "TableName": "lately",
                "ConsistentRead": true,
                "ProjectionExpression": "pk",
                "FilterExpression": "attribute_not_exists(expires_at)",
            });
            if !start.is_null() {
                scan["ExclusiveStartKey"] = start;
            }
            let page = call_dynamodb(self, "Scan", &scan);
            let items = page["Items"].as_array().unwrap().iter();
            partitions.extend(items.map(|item| item["pk"]["S"].as_str().unwrap().to_owned()));
            start = page["LastEvaluatedKey"].clone();
            if start.is_null() {
                return partitions;
            }
        }
    }

    fn curl_lines(&self) -> Vec<&str> {
        self.printed.iter().filter_map(|line| line.strip_prefix("  curl ")).collect()
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// The pipe of standard error. It can be used once.
    pub(crate) fn stderr(&mut self) -> ChildStderr {
        self.process.0.stderr.take().unwrap()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.process.0.id().to_string();
        // The shell's builtin `kill`: a minimal machine may have no program of that name.
        let sent = Command::new("sh").args(["-c", "kill \"$0\" \"$1\"", signal, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until the program ends.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.process.0.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < PATIENCE, "the program does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Stops the program, and passes if it ends successfully and prints nothing but `stopping` and reports.
    pub(crate) fn stop(self, signal: &str) {
        let mut said = self.stopped(signal);
        said.retain(|line| !line.starts_with("report  "));
        assert_eq!(said, ["stopping"]);
    }

    /// The next line that begins with a word.
    pub(crate) fn line(&self, word: &str) -> String {
        let started = Instant::now();
        loop {
            let line =
                self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no line begins with {word}"));
            if line.starts_with(word) {
                return line;
            }
            assert!(started.elapsed() < PATIENCE * 2, "no line begins with {word}");
        }
    }

    /// Stops the program, and passes if it ends successfully. The result is every line that was not read yet.
    pub(crate) fn stopped(mut self, signal: &str) -> Vec<String> {
        self.signal(signal);
        let status = self.ended();
        assert!(status.success(), "{status}");
        self.lines.iter().collect()
    }
}

/// Sends a request over HTTP/1.1. The result is the response's status and body.
pub(crate) fn http(address: &str, method: &str, target: &str, headers: &[&str], body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n"
    );
    write!(stream, "{head}{headers}\r\n{body}").unwrap();
    let mut answer = String::new();
    let mut reader = BufReader::new(stream);
    while !answer.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut answer).unwrap() > 0, "the answer ends in its head: {answer}");
    }
    // A live stream does not end.
    if answer.contains("content-type: text/event-stream") {
        return (answer.split(' ').nth(1).unwrap().parse().unwrap(), String::new());
    }
    reader.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(!head.to_lowercase().contains("transfer-encoding"), "answers have a length: {head}");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Splits a line into words as a shell does, with single quotes.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.last_mut().unwrap().push_str(part);
            continue;
        }
        let mut pieces = part.split(' ');
        words.last_mut().unwrap().push_str(pieces.next().unwrap());
        words.extend(pieces.map(str::to_owned));
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Sends the request that curl would send.
pub(crate) fn curl(line: &str) -> (u16, String) {
    let (mut method, mut url, mut headers, mut body) = (None, String::new(), Vec::new(), String::new());
    let mut words = words(line).into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-s" | "-si" => {}
            "-X" => method = words.next(),
            "-H" => headers.extend(words.next()),
            "-d" => body = words.next().unwrap(),
            _ => url = word,
        }
    }
    let method = method.unwrap_or_else(|| if body.is_empty() { "GET" } else { "POST" }.to_owned());
    if !body.is_empty() {
        headers.push("content-type: application/x-www-form-urlencoded".to_owned());
    }
    let (address, target) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let headers: Vec<_> = headers.iter().map(String::as_str).collect();
    http(address, &method, &format!("/{target}"), &headers, &body)
}

pub(crate) fn get(api: &str, target: &str) -> (u16, Value) {
    let (status, body) = http(api, "GET", target, &["authorization: Bearer ada"], "");
    (status, serde_json::from_str(&body).unwrap())
}

#[test]
fn the_printed_commands_work_unchanged() {
    let program = Program::started(&[]);
    let (status, page) = http(program.api(), "GET", "/", &[], "");
    assert!(status == 200 && page.contains("<!doctype html>"), "{page}");
    assert_eq!(program.value("Console"), format!("http://{}/", program.api()));
    let tokens = program.value("Tokens");
    assert!(literal_tokens::LITERAL.iter().all(|token| tokens.contains(token)), "{tokens}");
    assert!(program.value("Data").contains("in memory"));
    assert_eq!(program.curl_lines().len(), 9);
    let answers: Vec<_> = program.curl_lines().into_iter().map(curl).collect();
    let json: Vec<Value> = answers.iter().map(|(_, body)| serde_json::from_str(body).unwrap()).collect();
    assert_eq!(
        answers.iter().map(|(status, _)| *status).collect::<Vec<_>>(),
        [201, 201, 200, 200, 200, 201, 200, 201, 200]
    );
    assert_eq!(json[0]["topic"], "hello");
    assert_eq!(json[2]["events"], json!([json[1]]));
    assert_eq!(json[3]["events"].as_array().unwrap().len(), 5);
    let paid = json[4]["events"].as_array().unwrap();
    assert!(paid.len() == 5 && paid.iter().all(|event| event["type"] == "invoice.paid"));
    let feed = json[6]["events"].as_array().unwrap();
    assert!(
        feed.len() == 5
            && feed.iter().all(|event| ["ada", "bob", "carol"].iter().any(|who| event["actor"] == *who))
    );
    let polled = json[8]["events"].as_array().unwrap();
    assert!(
        polled.len() == 3 && json[8]["batch"].is_string() && json[8]["caught_up"] == false,
        "{}",
        json[8]
    );
    let headers = [
        "content-type: application/x-amz-json-1.0",
        "x-amz-target: DynamoDB_20120810.DescribeTable",
        "authorization: AWS4-HMAC-SHA256 Credential=a/20261120/eu-central-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
    ];
    let (status, table) = http(dynamodb(&program), "POST", "/", &headers, r#"{"TableName":"lately"}"#);
    assert!(status == 200 && table.contains(r#""TableName":"lately""#), "{status} {table}");
    program.stop("-TERM");
}

/// The address of the program's DynamoDB.
pub(crate) fn dynamodb(program: &Program) -> &str {
    program.value("DynamoDB").split_whitespace().next().unwrap().strip_prefix("http://").unwrap()
}

#[test]
fn pages_of_other_origins_are_refused() {
    let program = Program::started(&["--no-demo"]);
    let ask = |address: &str, method: &str, headers: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "{method} / HTTP/1.1\r\n{headers}\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
        (answer[9..12].parse::<u16>().unwrap(), answer.contains("origin-refused"))
    };
    let api = program.api();
    let port = api.rsplit_once(':').unwrap().1;
    let (own, local) = (format!("host: {api}"), format!("host: localhost:{port}"));
    assert_eq!(ask(api, "GET", &own), (200, false));
    assert_eq!(ask(api, "GET", &local), (200, false));
    assert_eq!(ask(api, "GET", &format!("{own}\r\norigin: http://{api}")), (200, false));
    for headers in [
        format!("host: rebound.example.org:{port}"),
        format!("{own}\r\norigin: https://example.org"),
        format!("{own}\r\norigin: null"),
    ] {
        assert_eq!(ask(api, "GET", &headers), (403, true), "{headers}");
        assert_eq!(ask(api, "OPTIONS", &headers), (403, true), "{headers}");
    }
    let dynamodb = dynamodb(&program);
    let page = |origin: &str| format!("host: {dynamodb}\r\ncontent-length: 0\r\norigin: {origin}");
    for origin in ["http://rebound.example.org:8000", "null", "http://localhost.example.org"] {
        assert_eq!(ask(dynamodb, "POST", &page(origin)).0, 403, "{origin}");
    }
    assert_eq!(ask(dynamodb, "POST", &page(&format!("http://{dynamodb}"))).0, 400);
    program.stop("-TERM");
}

/// Runs a command. The result is whether it succeeded, and its two outputs.
pub(crate) fn command(program: &Program, arguments: &[&str]) -> (bool, String, String) {
    let done = prepared(program, arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.success(), text(done.stdout), text(done.stderr))
}

/// An operator's command on a program's table.
pub(crate) fn prepared(program: &Program, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lately"));
    let credentials =
        [("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "x"), ("AWS_REGION", "eu-west-1")];
    command.args(arguments).env_clear().envs(credentials);
    command.env("AWS_ENDPOINT_URL", format!("http://{}", dynamodb(program)));
    command
}

/// Sends a request to the program's DynamoDB.
pub(crate) fn call_dynamodb(program: &Program, operation: &str, body: &Value) -> Value {
    let target = format!("x-amz-target: DynamoDB_20120810.{operation}");
    let headers = ["content-type: application/x-amz-json-1.0", &target];
    let (status, answer) = http(dynamodb(program), "POST", "/", &headers, &body.to_string());
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

/// Waits until a condition holds; `what` names it.
pub(crate) fn until(what: &str, mut ok: impl FnMut() -> bool) {
    let started = Instant::now();
    while !ok() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ctrl_c_stops_it_and_a_restart_has_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let first = Program::started(&["--data", data, "--no-demo"]);
    assert_eq!(first.value("Data"), format!("stored in {data}"));
    assert_eq!(first.curl_lines().len(), 3, "without a demo, no command uses its topics");
    for line in first.curl_lines() {
        assert!(curl(line).0 < 300, "{line}");
    }
    let before = get(first.api(), "/topics/hello/events");
    assert_eq!((before.0, before.1["events"].as_array().unwrap().len()), (200, 1));
    assert_eq!(get(first.api(), "/topics/posts").0, 404);
    first.stop("-INT");

    let second = Program::started(&["--data", data]);
    // Only the events: the cursor `newer` differs, because it begins two seconds before the page was read.
    assert_eq!(get(second.api(), "/topics/hello/events").1["events"], before.1["events"]);
    assert_eq!(get(second.api(), "/topics/posts").0, 404, "no demo if topics exist already");
    second.stop("-TERM");
    assert!(Path::new(data).read_dir().unwrap().next().is_some());
}

#[test]
fn open_connections_do_not_keep_the_program_running() {
    let program = Program::started(&["--no-demo"]);
    let mut idle = TcpStream::connect(program.api()).unwrap();
    write!(idle, "GET /health HTTP/1.1\r\nhost: {}\r\n\r\n", program.api()).unwrap();
    idle.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut first = [0; 12];
    idle.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    // A handler waits for the rest of this body.
    let mut halfway = TcpStream::connect(program.api()).unwrap();
    let host = program.api();
    let head = format!(
        "POST /topics/hello/events HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer dev\r\ncontent-length: 9\r\n"
    );
    write!(halfway, "{head}\r\n{{").unwrap();
    program.stop("-TERM");
}

#[test]
fn a_body_beyond_its_cap_is_refused_before_it_is_complete() {
    let program = Program::started(&["--no-demo"]);
    let host = program.api();
    let head = format!(
        "POST /topics/hello/events HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer dev\r\nconnection: close\r\n"
    );
    let answer = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).unwrap();
        String::from_utf8(start.to_vec()).unwrap()
    };
    let mut announced = TcpStream::connect(program.api()).unwrap();
    write!(announced, "{head}content-length: 3145729\r\n\r\n").unwrap();
    assert_eq!(answer(&mut announced), "HTTP/1.1 413");

    let mut chunked = TcpStream::connect(program.api()).unwrap();
    write!(chunked, "{head}transfer-encoding: chunked\r\n\r\n").unwrap();
    let piece = " ".repeat(0x10_0000);
    for _ in 0..3 {
        write!(chunked, "100000\r\n{piece}\r\n").unwrap();
    }
    // The last chunk begins, but does not end.
    write!(chunked, "2\r\n  ").unwrap();
    assert_eq!(answer(&mut chunked), "HTTP/1.1 413");
    program.stop("-TERM");
}

#[test]
fn a_port_in_use_is_reported_with_the_option_for_another() {
    let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = occupied.local_addr().unwrap().port().to_string();
    for (option, other) in [("--port", "--dynamodb-port"), ("--dynamodb-port", "--port")] {
        let mut program = Program::spawn(&[option, &port, other, "0"]);
        let status = program.ended();
        let mut said = String::new();
        program.process.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(status.code(), Some(1), "{said}");
        assert!(said.starts_with(&format!("lately: port {port} cannot be used")), "{said}");
        assert!(said.trim_end().ends_with(&format!("choose another with {option} PORT")), "{said}");
        assert_eq!(said.lines().count(), 1);
        assert_eq!(program.lines.iter().count(), 0, "it does not print that it runs");
    }
}
