//! The commands of the API, run as a user runs them: what they print, how they end, and what is written then.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{Program, http, until};

/// How a command ended: its code, and what it printed on its two outputs.
#[derive(Debug)]
struct Done {
    code: i32,
    out: String,
    told: String,
}

/// The real binary, with nothing in its environment but where the API is.
fn lately(api: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lately"));
    command.args(arguments).env_clear().env("LATELY_URL", format!("http://{api}"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run_with(api: &str, arguments: &[&str], input: &str) -> Done {
    let mut child = lately(api, arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // What fails early reads no further.
    let writing = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let done = child.wait_with_output().unwrap();
    writing.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Done { code: done.status.code().unwrap(), out: text(done.stdout), told: text(done.stderr) }
}

fn run(api: &str, arguments: &[&str]) -> Done {
    run_with(api, arguments, "")
}

impl Done {
    /// What was told last.
    fn last(&self) -> &str {
        self.told.lines().last().unwrap_or_default()
    }

    /// Passes if it did what it should: what it printed.
    #[track_caller]
    fn fine(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    #[track_caller]
    fn json(self) -> Value {
        let out = self.fine();
        assert_eq!(out.lines().count(), 1, "{out}");
        serde_json::from_str(&out).unwrap()
    }

    /// Passes if it ended with this code, printed no data, and told these words.
    #[track_caller]
    fn failed(self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{self:?}");
        assert!(words.iter().all(|word| self.told.contains(word)), "{words:?}: {}", self.told);
    }
}

/// The cells of a table, row by row; what is apart by two blanks is two cells.
fn cells(table: &str) -> Vec<Vec<&str>> {
    let cells = |line| -> Vec<&str> {
        str::split(line, "  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
    };
    table.lines().map(cells).collect()
}

/// All of a topic, oldest first, as it is given.
fn events(api: &str, topic: &str) -> Vec<Value> {
    let mut cursor = String::new();
    let mut events = Vec::new();
    loop {
        let target = format!("/topics/{topic}/events?limit=200&consistent=true{cursor}");
        let (status, page) = http(api, "GET", &target, &["authorization: Bearer dev"], "");
        assert_eq!(status, 200, "{page}");
        let page: Value = serde_json::from_str(&page).unwrap();
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    events.reverse();
    events
}

/// The numbers that events of [`lines`] carry.
fn numbers(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["data"].as_u64().unwrap()).collect()
}

fn lines(numbers: std::ops::RangeInclusive<u64>) -> String {
    numbers.map(|number| format!("{{\"type\":\"a\",\"actor\":\"ada\",\"data\":{number}}}\n")).collect()
}

#[test]
fn topics_are_created_changed_shown_and_listed() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    let settings = [
        "topic",
        "create",
        "posts",
        "--bucket",
        "hour",
        "--retention-days",
        "30",
        "--views",
        "actor,subject,type",
    ];
    let out = run(api, &settings).fine();
    assert!(out.starts_with("topic       posts\nbucket      hour\nkept        30 days\n"), "{out}");
    run(api, &settings).failed(5, &["there is a topic posts already"]);
    let shown = run(api, &["topic", "show", "posts", "--json"]).json();
    assert_eq!((&shown["bucket"], &shown["views"]), (&json!("hour"), &json!(["actor", "subject", "type"])));
    let set = [
        "--retention-days",
        "forever",
        "--min-shards",
        "2",
        "--max-shards",
        "8",
        "--fan-out",
        "false",
        "--views",
        "",
    ];
    let set = run(api, &[&["topic", "set", "posts"], &set[..], &["--json"]].concat()).json();
    assert_eq!(
        (&set["retention_days"], &set["min_shards"], &set["max_shards"], &set["fan_out"], &set["views"]),
        (&Value::Null, &json!(2), &json!(8), &json!(false), &json!([]))
    );
    run(api, &["topic", "create", "billing"]).fine();
    let listed = run(api, &["topic", "list"]).fine();
    let listed = cells(&listed);
    assert_eq!(listed[0], ["topic", "bucket", "days", "shards", "fan-out", "views"]);
    assert_eq!(listed[1], ["billing", "day", "-", "1 to 64", "true", "actor,subject"]);
    assert_eq!(listed[2], ["posts", "hour", "-", "2 to 8", "false"]);
    let first = run(api, &["topic", "list", "-n", "1"]);
    let cursor = first.told.strip_prefix("more: --cursor ").unwrap().trim_end().to_owned();
    assert_eq!(first.out.lines().count(), 2);
    let rest = run(api, &["topic", "list", "--json", "--cursor", &cursor]).json();
    assert_eq!(rest["topics"][0]["topic"], "posts");

    run(api, &["topic", "set", "nowhere", "--max-shards", "8"]).failed(4, &["404", "topic-not-found"]);
    run(api, &["topic", "set", "posts"]).failed(2, &["name at least one setting"]);
    run(api, &["topic", "set", "posts", "--max-shards", "3"])
        .failed(3, &["422", "invalid-topic", "\n  /max_shards: "]);
    run(api, &["topic", "create", "a#b"]).failed(2, &["character 1 is not one of"]);
    run(api, &["topic", "create", "x", "--token", "ada"]).failed(3, &["403", "forbidden", "(request "]);
}

#[test]
fn an_event_is_posted_and_read_back_as_it_was_sent() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts", "--views", "actor,subject,type"]).fine();
    let post = ["post", "posts", "--type", "post.created", "--actor", "ada", "--subject", "repo:octo:hello"];
    let sent = run(api, &[&post[..], &["--data", r#"{"price":1.10}"#, "--json"]].concat());
    assert!(sent.out.contains(r#""data":{"price":1.10}"#), "{sent:?}");
    let sent = sent.json();
    let row = run(
        api,
        &[&post[..4], &["--actor", "bob", "--at", "2026-01-02T03:04:05Z", "--idempotency-key", "k"]].concat(),
    );
    let again = run(
        api,
        &[&post[..4], &["--actor", "bob", "--at", "2026-01-02T03:04:05Z", "--idempotency-key", "k"]].concat(),
    );
    assert_eq!(row.fine(), again.fine(), "it is one event");

    let latest = run(api, &["latest", "posts", "--ids", "--cost"]);
    assert!(latest.told.starts_with("read_units="), "{latest:?}");
    let latest = latest.fine();
    let rows = cells(&latest);
    assert_eq!(rows[0], ["id", "time", "type", "actor", "subject", "data"]);
    let (id, at) = (sent["id"].as_str().unwrap(), sent["at"].as_str().unwrap());
    assert_eq!(rows[1], [id, at, "post.created", "ada", "repo:octo:hello", r#"{"price":1.10}"#]);
    assert_eq!(rows[2][1..], ["2026-01-02T03:04:05.000Z", "post.created", "bob", "-"]);
    assert_eq!(rows.len(), 3);
    let page = run(api, &["latest", "posts", "-n", "1"]);
    let cursor = page.told.strip_prefix("more: --cursor ").unwrap().trim_end().to_owned();
    let next = run(api, &["latest", "posts", "--json", "--cursor", &cursor]).json();
    assert_eq!((&next["events"][0]["actor"], &next["next"]), (&json!("bob"), &Value::Null));
    let pages = run(api, &["latest", "posts", "-n", "1", "--pages", "9", "--order", "asc", "--json"]).fine();
    let pages: Vec<Value> = pages.lines().map(|page| serde_json::from_str(page).unwrap()).collect();
    assert_eq!(pages[0]["events"][0]["actor"], "bob");
    let narrowed = |arguments: &[&str]| {
        run(api, &[&["latest"], arguments, &["--json"]].concat()).json()["events"].as_array().unwrap().len()
    };
    assert_eq!(narrowed(&["posts", "--from", "2026-06-01T00:00:00Z"]), 1);
    assert_eq!(narrowed(&["posts", "--to", "2026-06-01T00:00:00Z", "--consistent"]), 1);
    assert_eq!(narrowed(&["posts", "--type", "post.deleted"]), 0);
    until("the timelines show it", || {
        narrowed(&["--actor", "ada"]) == 1 && narrowed(&["posts", "--subject", "repo:octo:hello"]) == 1
    });
    let of_ada = run(api, &["latest", "--actor", "ada"]).fine();
    assert_eq!(cells(&of_ada)[0], ["time", "topic", "type", "actor", "subject", "data"]);

    run(api, &["latest", "nowhere"]).failed(4, &["404", "topic-not-found", "(request "]);
    run(api, &["latest"]).failed(2, &["required"]);
    run(api, &["latest", "posts", "-n", "0"]).failed(2, &["from 1 to 200"]);
    run(api, &["latest", "posts", "--cursor", "x y"]).failed(3, &["400", "invalid-cursor"]);
    run(api, &["post", "posts", "--type", "a"]).failed(2, &["--actor"]);
    run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--data", "{"]).failed(2, &["must be JSON"]);
    run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--token", "bob"])
        .failed(3, &["403", "forbidden"]);
    run(api, &["latest", "posts", "--url", "http://127.0.0.1:1"])
        .failed(1, &["GET /topics/posts/events", "--url says where it is"]);
    assert_eq!(
        run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--data", "{"])
            .told
            .lines()
            .next()
            .map(|line| line.starts_with("error: ")),
        Some(true)
    );
}

/// What a proxy does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Hands it on, and its answer back.
    None,
    /// Closes the connection before anyone has seen it.
    Lost,
    /// Hands it on, and closes the connection instead of answering.
    AnswerLost,
    /// Answers with this status itself, to be asked again in a second.
    Busy(u16),
}

/// A proxy in front of an API that does to the first requests what it is told.
struct Proxy {
    address: String,
    asked: Arc<AtomicUsize>,
}

impl Proxy {
    fn before(api: &str, faults: &[Fault]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let (api, faults, counter) = (api.to_owned(), faults.to_vec(), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (api, faults, counter) = (api.clone(), faults.clone(), counter.clone());
                std::thread::spawn(move || hand_on(stream, &api, &faults, &counter));
            }
        });
        Self { address, asked }
    }
}

fn hand_on(mut stream: TcpStream, api: &str, faults: &[Fault], asked: &AtomicUsize) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let begin = head.len();
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
        let line = head[begin..].to_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        if begin == 0 {
            head += "connection: close\r\n";
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let fault = faults.get(asked.fetch_add(1, Ordering::SeqCst)).copied().unwrap_or(Fault::None);
    if fault == Fault::Lost {
        return Ok(());
    }
    if let Fault::Busy(status) = fault {
        let head = format!("HTTP/1.1 {status} Busy\r\nretry-after: 1\r\nconnection: close\r\n");
        return write!(stream, "{head}content-length: 0\r\n\r\n");
    }
    let mut onward = TcpStream::connect(api)?;
    onward.write_all(head.as_bytes())?;
    onward.write_all(&body)?;
    let mut answer = Vec::new();
    onward.read_to_end(&mut answer)?;
    if fault == Fault::AnswerLost { Ok(()) } else { stream.write_all(&answer) }
}

#[test]
fn thousands_of_lines_are_posted_in_their_order_each_once() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    let proxy = Proxy::before(api, &[]);
    let host = format!("Host: {api}");
    let input = format!("\n{}\r\n", lines(1..=5_000).replace("}\n{", "} \r\n{"));
    let done = run_with(&proxy.address, &["post", "posts", "--file", "-", "--header", &host], &input);
    assert!(done.code == 0 && done.out.is_empty(), "{done:?}");
    assert!(
        done.last().starts_with("5000 events in 10 requests, ") && done.told.ends_with(" a second\n"),
        "{done:?}"
    );
    assert_eq!(proxy.asked.load(Ordering::SeqCst), 10);
    assert_eq!(numbers(&events(api, "posts")), (1..=5_000).collect::<Vec<_>>());

    // With --json, what was written; quietly; and only some lines of a file, several requests at a time.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.ndjson");
    std::fs::write(&file, lines(1..=3_000)).unwrap();
    run(api, &["topic", "create", "some"]).fine();
    let file = file.to_str().unwrap();
    let arguments = [
        "post",
        "some",
        "--file",
        file,
        "--from-line",
        "101",
        "--to-line",
        "2900",
        "--parallel",
        "4",
        "--quiet",
        "--json",
    ];
    let done = run(api, &arguments);
    assert_eq!(done.told, "");
    let out = done.fine();
    let written: BTreeSet<_> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(written.len(), 2_800);
    let mut posted = numbers(&events(api, "some"));
    posted.sort_unstable();
    assert_eq!(posted, (101..=2_900).collect::<Vec<_>>());
    run(api, &["post", "some", "--file", "/nowhere"]).failed(2, &["/nowhere cannot be read"]);
    run(api, &["post", "some", "--file", file, "--parallel", "5"]).failed(2, &["--parallel"]);
    run(api, &["post", "some", "--from-line", "2"]).failed(2, &["--file"]);
    run(api, &["post", "nowhere", "--file", file])
        .failed(4, &["topic-not-found", "0 events accepted; go on with --from-line 1 "]);
}

#[test]
fn lines_are_written_once_whatever_is_lost_on_the_way() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    let host = format!("Host: {api}");
    for (topic, parallel) in [("one", "1"), ("four", "4")] {
        run(api, &["topic", "create", topic]).fine();
        let faults = [
            Fault::AnswerLost,
            Fault::Lost,
            Fault::None,
            Fault::Busy(503),
            Fault::AnswerLost,
            Fault::AnswerLost,
            Fault::None,
            Fault::Lost,
        ];
        let proxy = Proxy::before(api, &faults);
        let arguments = ["post", topic, "--file", "-", "--parallel", parallel, "--header", &host];
        let done = run_with(&proxy.address, &arguments, &lines(1..=2_000));
        assert!(done.code == 0 && done.last().starts_with("2000 events in 4 requests, "), "{done:?}");
        assert_eq!(proxy.asked.load(Ordering::SeqCst), 4 + 6, "each fault, and then each batch");
        let mut posted = numbers(&events(api, topic));
        if parallel == "4" {
            posted.sort_unstable();
        }
        assert_eq!(posted, (1..=2_000).collect::<Vec<_>>());
    }
    // A single event is not repeated where it might be written twice, unless it has a key.
    let event = ["post", "one", "--type", "a", "--actor", "ada", "--data", "0", "--header", &host];
    let proxy = Proxy::before(api, &[Fault::AnswerLost]);
    run(&proxy.address, &event).failed(1, &["POST /topics/one/events: "]);
    assert_eq!(proxy.asked.load(Ordering::SeqCst), 1);
    let proxy = Proxy::before(api, &[Fault::AnswerLost, Fault::Busy(503)]);
    let begun = Instant::now();
    run(&proxy.address, &[&event[..], &["--idempotency-key", "k"]].concat()).fine();
    assert!(begun.elapsed() > Duration::from_secs(1), "it was told to wait for a second");
    // Where it is certain that nothing was done, it is.
    run(&Proxy::before(api, &[Fault::Busy(429)]).address, &event).fine();
    run(&Proxy::before(api, &[Fault::Busy(503)]).address, &event).failed(1, &["503"]);
    assert_eq!(numbers(&events(api, "one")).iter().filter(|number| **number == 0).count(), 3);
}

#[test]
fn a_faulty_line_is_named_and_posting_goes_on_behind_it() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    let post = |topic: &str, input: &str, more: &[&str]| {
        run_with(api, &[&["post", topic, "--file", "-", "--quiet"], more].concat(), input)
    };
    for (topic, faulty, words) in [
        (
            "fields",
            r#"{"type":"A","actor":"ada","x":1}"#,
            &["invalid-event", "\n  line 703 /type: ", "\n  line 703 /x: "][..],
        ),
        ("json", r#"{"type":"a","actor":"ada""#, &["malformed-json", "\n  line 703: not JSON at column 25"]),
    ] {
        run(api, &["topic", "create", topic]).fine();
        let mut input: Vec<_> = lines(1..=1_500).lines().map(str::to_owned).collect();
        // Blank lines are lines.
        input.insert(0, String::new());
        input.insert(1, "  ".to_owned());
        let fine = std::mem::replace(&mut input[702], faulty.to_owned());
        let done = post(topic, &input.join("\n"), &[]);
        let told = done.told.clone();
        done.failed(3, words);
        let hint = told.split_once("500 events accepted; go on with ").expect(&told).1;
        let hint: Vec<_> =
            hint.split_whitespace().take(4).map(|word| word.trim_matches([',', '\''])).collect();
        assert_eq!(hint[..3], ["--from-line", "503", "--idempotency-key"], "{told}");
        assert_eq!(events(api, topic).len(), 500);
        input[702] = fine;
        post(topic, &input.join("\n"), &hint).fine();
        assert_eq!(numbers(&events(api, topic)), (1..=1_500).collect::<Vec<_>>());
    }
    let large = format!(
        "{}{{\"type\":\"a\",\"actor\":\"ada\",\"data\":\"{}\"}}\n",
        lines(1..=3),
        "x".repeat(300_000)
    );
    post("json", &large, &[]).failed(3, &["too-large", "\n  line 4: too large"]);
    let endless = format!("{}{}", lines(1..=3), "x".repeat(4_000_000));
    post("fields", &endless, &[])
        .failed(3, &["line 4 is longer than 3 MiB", "3 events accepted; go on with --from-line 4 "]);

    // A repetition of all of it under its key writes nothing twice; something else under it is refused.
    run(api, &["topic", "create", "again"]).fine();
    for _ in 0..2 {
        post("again", &lines(1..=1_200), &["--idempotency-key", "night"]).fine();
    }
    assert_eq!(events(api, "again").len(), 1_200);
    post("again", &lines(2..=900), &["--idempotency-key", "night"])
        .failed(3, &["idempotency-key-reused", "0 events accepted"]);
}

/// A command that goes on, and its lines as they come.
struct Running {
    child: Child,
    out: Receiver<String>,
    told: Receiver<String>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Running {
    fn of(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = |pipe: Box<dyn Read + Send>| {
            let (sender, lines) = channel();
            let pipe = BufReader::new(pipe);
            std::thread::spawn(move || {
                pipe.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
            });
            lines
        };
        let out = lines(Box::new(child.stdout.take().unwrap()));
        let told = lines(Box::new(child.stderr.take().unwrap()));
        Self { child, out, told }
    }

    fn next(&self) -> String {
        self.out.recv_timeout(Duration::from_secs(40)).expect("there is another line")
    }
}

#[test]
fn a_topic_is_followed_across_a_restart_of_its_server_and_each_event_shows_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let program = Program::started(&["--no-demo", "--data", data]);
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
    let none = Running::of(lately(&api, &["tail", "posts", "-n", "0", "-f"]));
    let number =
        |tail: &Running| serde_json::from_str::<Value>(&tail.next()).unwrap()["data"].as_u64().unwrap();
    assert_eq!((0..5).map(|_| number(&tail)).collect::<Vec<_>>(), [26, 27, 28, 29, 30]);
    // It has asked where it goes on, once there was nothing.
    std::thread::sleep(Duration::from_secs(1));
    run_with(&api, &["post", "posts", "--file", "-"], &lines(31..=35)).fine();
    assert_eq!((0..5).map(|_| number(&tail)).collect::<Vec<_>>(), [31, 32, 33, 34, 35]);
    assert!(none.next().starts_with("time "));
    assert!((31..=35).all(|number| none.next().ends_with(&format!("  {number}"))));

    program.stopped("-TERM");
    let told = tail.told.recv_timeout(Duration::from_secs(20)).expect("it says that it asks again");
    assert!(told.ends_with(": asking again"), "{told}");
    let port = api.rsplit_once(':').unwrap().1;
    let program = Program::started(&["--no-demo", "--data", data, "--port", port]);
    run_with(&api, &["post", "posts", "--file", "-"], &lines(36..=240)).fine();
    assert_eq!((0..205).map(|_| number(&tail)).collect::<Vec<_>>(), (36..=240).collect::<Vec<_>>());
    assert_eq!(tail.told.recv_timeout(Duration::from_secs(5)).as_deref(), Ok("going on"));
    assert!((36..=240).all(|number| none.next().ends_with(&format!("  {number}"))));
    std::thread::sleep(Duration::from_secs(3));
    assert!(tail.out.try_recv().is_err() && none.out.try_recv().is_err(), "each once");
    program.stopped("-TERM");
}

#[test]
fn what_comes_slowly_is_posted_when_it_pauses() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    let mut posting = lately(api, &["post", "posts", "--file", "-", "--quiet"]).spawn().unwrap();
    let mut stdin = posting.stdin.take().unwrap();
    for range in [1..=2, 3..=4] {
        let end = *range.end();
        stdin.write_all(lines(range).as_bytes()).unwrap();
        until("it is posted while there may be more", || numbers(&events(api, "posts")).last() == Some(&end));
    }
    drop(stdin);
    assert!(posting.wait().unwrap().success());
    assert_eq!(numbers(&events(api, "posts")), [1, 2, 3, 4]);
    // What is refused is said, although there may be more to come.
    let arguments = ["post", "nowhere", "--file", "-", "--quiet", "--parallel", "2"];
    let mut posting = lately(api, &arguments).spawn().unwrap();
    let mut stdin = posting.stdin.take().unwrap();
    stdin.write_all(lines(1..=500).as_bytes()).unwrap();
    until("it ends", || posting.try_wait().unwrap().is_some_and(|status| status.code() == Some(4)));
}

#[test]
fn sources_are_followed_and_feeds_are_shown_and_seen() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    let posted = run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--json"]).json();
    let id = posted["id"].as_str().unwrap();
    let out = run(api, &["follow", "bob", "actor:ada", "--backfill", "10", "--token", "bob"]).fine();
    assert!(out.starts_with("following  actor:ada\nsince      2"), "{out}");
    let again = run(api, &["follow", "bob", "actor:ada", "--json"]).json();
    assert_eq!(again["source"], "actor:ada");
    let shown = || run(api, &["feed", "show", "bob", "--ids", "--token", "bob"]);
    until("the feed has it", || shown().out.lines().count() == 2);
    let done = shown();
    assert_eq!(done.told, "1 unread\n");
    let out = done.fine();
    let rows = cells(&out);
    assert_eq!(rows[0], ["id", "time", "topic", "type", "actor", "subject", "data"]);
    assert_eq!(rows[1], [id, posted["at"].as_str().unwrap(), "posts", "a", "ada", "-"]);
    assert_eq!(run(api, &["feed", "unread", "bob"]).fine(), "1\n");
    assert_eq!(run(api, &["feed", "seen", "bob", id]).told, format!("seen up to {id}\n"));
    assert_eq!(run(api, &["feed", "unread", "bob", "--json"]).json(), json!({"unread": 0}));
    let following = run(api, &["following", "bob"]).fine();
    let following = cells(&following);
    assert_eq!((&following[0][..], following[1][0]), (&["source", "since"][..], "actor:ada"));
    let followers = run(api, &["followers", "actor:ada", "--json"]).json();
    assert_eq!(followers["followers"][0]["user"], "bob");
    let gone = run(api, &["unfollow", "bob", "actor:ada"]);
    assert_eq!((gone.code, &*gone.out, &*gone.told), (0, "", "bob does not follow actor:ada\n"));
    assert_eq!(run(api, &["following", "bob"]).fine(), "");
    until("what was followed leaves", || {
        run(api, &["feed", "show", "bob", "--json"]).json()["events"] == json!([])
    });

    run(api, &["feed", "show", "bob", "--token", "ada"]).failed(3, &["403", "forbidden"]);
    run(api, &["feed", "show"]).failed(2, &["<USER>"]);
    run(api, &["follow", "bob", "ada"]).failed(2, &["actor:"]);
    run(api, &["follow", "bob", "actor:ada", "--backfill", "201"]).failed(2, &["--backfill"]);
}

#[test]
fn issues_are_opened_edited_closed_and_nobody_is_overwritten() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    let open = [
        "issue",
        "open",
        "octo/hello",
        "--title",
        "It says goodbye",
        "--body",
        "Hello?\nYes.",
        "--label",
        "critical",
    ];
    let out = run(api, &[&open[..], &["--token", "ada"]].concat()).fine();
    assert!(
        out.starts_with(
            "number    1\ntitle     It says goodbye\nstatus    open\npriority  high\nlabels    critical\n"
        ),
        "{out}"
    );
    assert!(out.ends_with("\n\nHello?\nYes.\n") && out.contains(" by ada\n"), "{out}");
    let issue = run(api, &["issue", "show", "octo/hello", "1", "--json"]).json();
    let first = issue["revision"].to_string();
    let edited = ["issue", "edit", "octo/hello", "1", "--title", "It says hello", "--no-labels", "--json"];
    let edited = run(api, &edited).json();
    assert_eq!(
        (&edited["title"], &edited["labels"], &edited["priority"]),
        (&json!("It says hello"), &json!([]), &json!("medium"))
    );
    run(api, &["issue", "edit", "octo/hello", "1", "--priority", "low", "--revision", &first]).failed(
        5,
        &[
            "412",
            "revision-mismatch",
            "now: #1 open, medium: It says hello (revision ",
            &edited["revision"].to_string(),
        ],
    );
    let closed = run(api, &["issue", "close", "octo/hello", "1", "--json"]).json();
    run(api, &["issue", "close", "octo/hello", "1", "--revision", &first]).failed(5, &["now: #1 closed"]);
    assert_eq!(closed["status"], "closed");
    until("the index shows it", || {
        run(api, &["issue", "list", "octo/hello", "--status", "closed"]).out.lines().count() == 2
    });
    let reopened =
        ["issue", "reopen", "octo/hello", "1", "--revision", &closed["revision"].to_string(), "--json"];
    assert_eq!(run(api, &reopened).json()["status"], "open");
    let list = run(api, &["issue", "list", "octo/hello"]).fine();
    let list = cells(&list);
    assert_eq!(list[0], ["number", "status", "priority", "changed", "by", "labels", "title"]);
    assert_eq!((&list[1][..3], *list[1].last().unwrap()), (&["1", "open", "medium"][..], "It says hello"));
    assert_eq!(
        run(api, &["issue", "list", "octo/hello", "--json"]).json()["issues"].as_array().unwrap().len(),
        1
    );

    run(api, &["issue", "show", "octo/hello", "9"]).failed(4, &["404", "not-found"]);
    run(api, &["issue", "edit", "octo/hello", "1"]).failed(2, &["required"]);
    run(api, &["issue", "list", "octo"]).failed(2, &["must be an owner, a slash and a repository"]);
    run(api, &["issue", "list", "octo/hello", "--status", "open", "--priority", "low"])
        .failed(2, &["cannot be used with"]);
}

#[test]
fn what_is_hostile_reaches_the_terminal_as_its_escape() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    let data = "\"\u{9b}2J\\u001b[31m\u{202e}gnp\u{7f}\"";
    run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--data", data]).fine();
    let escaped = r#""\u009b2J\u001b[31m\u202egnp\u007f""#;
    for arguments in [
        &["latest", "posts"][..],
        &["latest", "posts", "--json"],
        &["tail", "posts"],
        &["tail", "posts", "--json"],
    ] {
        let out = run(api, arguments).fine();
        assert!(out.contains(escaped), "{out:?}");
    }
    let consumer = run(api, &["consume", "posts", "printer"]);
    assert!(consumer.code == 0 && !consumer.out.contains(['\u{9b}', '\u{202e}']), "{consumer:?}");
    let shown = run(api, &["latest", "posts", "--json"]).json();
    assert_eq!(
        shown["events"][0]["data"], "\u{9b}2J\u{1b}[31m\u{202e}gnp\u{7f}",
        "as JSON it is what was sent"
    );
    let title = "\u{1b}]0;owned\u{7}";
    let issue = ["issue", "open", "octo/hello", "--title", "fine", "--body", "a\u{202e}b"];
    let out = run(api, &issue).fine();
    assert!(out.ends_with("\n\na\\u202eb\n"), "{out:?}");
    run(api, &["issue", "edit", "octo/hello", "1", "--title", title]).failed(2, &["--title"]);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let program = Program::started(&[]);
    for arguments in [&["latest", "posts", "-n", "200", "--pages", "2"][..], &["tail", "posts", "-n", "200"]]
    {
        let mut child = lately(program.api(), arguments).spawn().unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!((done.status.code(), String::from_utf8(done.stderr).unwrap().as_str()), (Some(0), ""));
    }
    // Not so where something is left undone.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.ndjson");
    std::fs::write(&file, lines(1..=1_500)).unwrap();
    let mut child = lately(program.api(), &["post", "posts", "--json", "--file", file.to_str().unwrap()])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(
        done.status.code() == Some(1) && told.contains("500 events accepted; go on with --from-line 501 "),
        "{told}"
    );
}

#[test]
fn completions_are_printed_for_each_shell_and_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run("127.0.0.1:1", &["completions", shell]).fine();
        assert!(
            ["lately", "followers", "idempotency-key"].iter().all(|word| script.contains(word)),
            "{shell}"
        );
    }
    run("127.0.0.1:1", &["completions", "cmd"]).failed(2, &["bash", "powershell"]);
}

#[test]
fn consuming_ends_with_the_same_codes() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["consume", "nowhere", "printer"]).failed(4, &["topic-not-found"]);
    run(api, &["consume", "nowhere", "printer", "--token", "ada"]).failed(3, &["403 Forbidden forbidden: "]);
    run(api, &["consume", "nowhere"]).failed(2, &["<NAME>"]);
}
