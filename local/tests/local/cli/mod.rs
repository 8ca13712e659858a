//! The commands of the API, run as a user runs them: their output, their exit codes, and what they write.

mod covering;
mod ends;
mod following;
mod posting;
mod proxy;
mod targets;

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::cli::proxy::Proxy;
use crate::program::{Program, http, until, words};

/// The end of a command: its exit code and its two outputs.
#[derive(Debug)]
struct CommandOutput {
    code: i32,
    out: String,
    err: String,
}

/// The real binary, with an empty environment but for the API's URL.
fn lately(api: &str, arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lately"));
    command.args(arguments).env_clear().env("LATELY_URL", format!("http://{api}"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run_with(api: &str, arguments: &[impl AsRef<OsStr>], input: &str) -> CommandOutput {
    let mut child = lately(api, arguments).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // A command that fails early does not read its whole input.
    let writing = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let done = child.wait_with_output().unwrap();
    writing.join().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandOutput { code: done.status.code().unwrap(), out: text(done.stdout), err: text(done.stderr) }
}

fn run(api: &str, arguments: &[impl AsRef<OsStr>]) -> CommandOutput {
    run_with(api, arguments, "")
}

impl CommandOutput {
    /// The last line of standard error.
    fn last(&self) -> &str {
        self.err.lines().last().unwrap_or_default()
    }

    /// Passes if the command succeeded. The result is its standard output.
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

    /// Passes if the command had this exit code, no standard output, and these words in standard error.
    #[track_caller]
    fn failed(self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{self:?}");
        assert!(words.iter().all(|word| self.err.contains(word)), "{words:?}: {}", self.err);
    }
}

/// The cells of a table, row by row. Two blanks separate cells.
fn cells(table: &str) -> Vec<Vec<&str>> {
    let cells = |line| -> Vec<&str> {
        str::split(line, "  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
    };
    table.lines().map(cells).collect()
}

/// All events of a topic, oldest first.
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

/// The numbers in the data of events of [`lines`].
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
    let settings = words("topic create posts --bucket hour --retention-days 30 --views actor,subject,type");
    let out = run(api, &settings).fine();
    assert!(out.starts_with("topic       posts\nbucket      hour\nretention   30 days\n"), "{out}");
    run(api, &settings).failed(5, &["the topic posts exists already"]);
    let shown = run(api, &["topic", "show", "posts", "--json"]).json();
    assert_eq!((&shown["bucket"], &shown["views"]), (&json!("hour"), &json!(["actor", "subject", "type"])));
    let set = "--retention-days forever --min-shards 2 --max-shards 8 --fan-out false --views= --json";
    let set = run(api, &words(&format!("topic set posts {set}"))).json();
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
    // The API's options may come before the subcommand.
    run(api, &["topic", "--token", "nobody", "list"]).failed(3, &["invalid-token"]);
    let first = run(api, &["topic", "list", "-n", "1"]);
    let cursor = first.err.strip_prefix("more: --cursor ").unwrap().trim_end().to_owned();
    assert_eq!(first.out.lines().count(), 2);
    let rest = run(api, &["topic", "list", "--json", "--cursor", &cursor]).json();
    assert_eq!(rest["topics"][0]["topic"], "posts");

    run(api, &["topic", "set", "nowhere", "--max-shards", "8"])
        .failed(4, &["404", "topic-not-found", "`lately topic create nowhere` creates it"]);
    run(api, &["topic", "set", "posts"]).failed(2, &["name at least one setting"]);
    run(api, &["topic", "set", "posts", "--max-shards", "3"])
        .failed(3, &["422", "invalid-topic", "\n  /max_shards: "]);
    run(api, &["topic", "create", "a#b"]).failed(2, &["character 2 is not one of"]);
    run(api, &["topic", "create", "x", "--bucket", "week"])
        .failed(2, &["[possible values: quarter-hour, hour, day, month]"]);
    run(api, &["topic", "set", "posts", "--bucket", "day"]).failed(2, &["unexpected argument '--bucket'"]);
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
    assert_eq!(row.fine(), again.fine(), "one event");

    let latest = run(api, &["latest", "posts", "--ids", "--cost"]);
    assert!(latest.err.starts_with("read_units="), "{latest:?}");
    let latest = latest.fine();
    let rows = cells(&latest);
    assert_eq!(rows[0], ["id", "time", "type", "actor", "subject", "data"]);
    let (id, at) = (sent["id"].as_str().unwrap(), sent["at"].as_str().unwrap());
    assert_eq!(rows[1], [id, at, "post.created", "ada", "repo:octo:hello", r#"{"price":1.10}"#]);
    assert_eq!(rows[2][1..], ["2026-01-02T03:04:05.000Z", "post.created", "bob", "-"]);
    assert_eq!(rows.len(), 3);
    let page = run(api, &["latest", "posts", "-n", "1"]);
    let cursor = page.err.strip_prefix("more: --cursor ").unwrap().trim_end().to_owned();
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
    until("the timelines contain the event", || {
        narrowed(&["--actor", "ada"]) == 1 && narrowed(&["posts", "--subject", "repo:octo:hello"]) == 1
    });
    let of_ada = run(api, &["latest", "--actor", "ada"]).fine();
    assert_eq!(cells(&of_ada)[0], ["time", "topic", "type", "actor", "subject", "data"]);

    run(api, &["latest", "nowhere"]).failed(
        4,
        &["lately latest: 404 Not Found topic-not-found: the topic nowhere does not exist", "(request "],
    );
    run(api, &["latest"]).failed(2, &["required"]);
    run(api, &["latest", "posts", "-n", "0"]).failed(2, &["from 1 to 200"]);
    run(api, &["latest", "posts", "--cursor", "x y"]).failed(3, &["400", "invalid-cursor"]);
    run(api, &["post", "posts", "--type", "a"]).failed(2, &["--actor"]);
    run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--data", "{"]).failed(2, &["must be JSON"]);
    run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--token", "bob"])
        .failed(3, &["403", "forbidden"]);
    run(api, &["latest", "posts", "--url", "http://127.0.0.1:1"])
        .failed(1, &["lately latest: no response from http://127.0.0.1:1 (", "the URL of --url"]);
    assert_eq!(
        run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--data", "{"])
            .err
            .lines()
            .next()
            .map(|line| line.starts_with("error: ")),
        Some(true)
    );
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
    until("the feed contains the event", || shown().out.lines().count() == 2);
    let done = shown();
    assert_eq!(done.err, "1 unread\n");
    let out = done.fine();
    let rows = cells(&out);
    assert_eq!(rows[0], ["id", "time", "topic", "type", "actor", "subject", "data"]);
    assert_eq!(rows[1], [id, posted["at"].as_str().unwrap(), "posts", "a", "ada", "-"]);
    assert_eq!(run(api, &["feed", "unread", "bob"]).fine(), "1\n");
    assert_eq!(run(api, &["feed", "seen", "bob", id]).err, format!("seen up to {id}\n"));
    assert_eq!(run(api, &["feed", "unread", "bob", "--json"]).json(), json!({"unread": 0, "more": false}));
    let following = run(api, &["following", "bob"]).fine();
    let following = cells(&following);
    assert_eq!((&following[0][..], following[1][0]), (&["source", "since"][..], "actor:ada"));
    let followers = run(api, &["followers", "actor:ada", "--json"]).json();
    assert_eq!(followers["followers"][0]["user"], "bob");
    let gone = run(api, &["unfollow", "bob", "actor:ada"]);
    assert_eq!((gone.code, &*gone.out, &*gone.err), (0, "", "bob unfollowed actor:ada\n"));
    assert_eq!(run(api, &["following", "bob"]).fine(), "");
    until("the event leaves the feed", || {
        run(api, &["feed", "show", "bob", "--json"]).json()["events"] == json!([])
    });

    run(api, &["feed", "show", "bob", "--token", "ada"]).failed(3, &["403", "forbidden"]);
    run(api, &["feed", "show"]).failed(2, &["<USER>"]);
    run(api, &["follow", "bob", "ada"]).failed(2, &["actor:"]);
    run(api, &["follow", "bob", "actor:ada", "--backfill", "201"]).failed(2, &["--backfill"]);
}

#[test]
fn issues_are_opened_edited_and_closed_without_lost_updates() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    let open = "issue open octo/hello --title 'It says goodbye' --body 'Hello?\nYes.' --label critical";
    let out = run(api, &words(&format!("{open} --token ada"))).fine();
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
    until("the index contains the closed issue", || {
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
fn control_characters_reach_the_terminal_as_escapes() {
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
        "as JSON it equals the sent text"
    );
    let title = "\u{1b}]0;owned\u{7}";
    let issue = ["issue", "open", "octo/hello", "--title", "fine", "--body", "a\u{202e}b"];
    let out = run(api, &issue).fine();
    assert!(out.ends_with("\n\na\\u202eb\n"), "{out:?}");
    run(api, &["issue", "edit", "octo/hello", "1", "--title", title]).failed(2, &["--title"]);
}

#[test]
fn a_closed_pipe_ends_a_read_quietly_and_a_post_with_an_error() {
    let program = Program::started(&[]);
    for arguments in [&["latest", "posts", "-n", "200", "--pages", "2"][..], &["tail", "posts", "-n", "200"]]
    {
        let mut child = lately(program.api(), arguments).spawn().unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!((done.status.code(), String::from_utf8(done.stderr).unwrap().as_str()), (Some(0), ""));
    }
    // A post is different: lines remain to be sent.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.ndjson");
    std::fs::write(&file, lines(1..=1_500)).unwrap();
    let mut child = lately(program.api(), &["post", "posts", "--json", "--file", file.to_str().unwrap()])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    let err = String::from_utf8(done.stderr).unwrap();
    assert!(
        done.status.code() == Some(1)
            && err.contains("500 events accepted; to continue, run again with --from-line 501 "),
        "{err}"
    );
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run("127.0.0.1:1", &["completions", shell]).fine();
        assert!(
            ["lately", "followers", "idempotency-key"].iter().all(|word| script.contains(word)),
            "{shell}"
        );
    }
    // The scripts of the other shells offer no values.
    for shell in ["bash", "zsh", "fish"] {
        let script = run("127.0.0.1:1", &["completions", shell]).fine();
        assert!(script.contains("quarter-hour") && script.contains("act-as"), "{shell}");
    }
    // Files are offered only for values that are files.
    let bash = run("127.0.0.1:1", &["completions", "bash"]).fine();
    let offered = |option: &str| {
        let cases: Vec<_> = bash.split(&format!("\n                {option})\n")).skip(1).collect();
        assert!(!cases.is_empty(), "{option}");
        cases.into_iter().map(|case| case.trim_start().lines().next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(
        offered("--scope")[0].contains("read write import consume act-as admin"),
        "{:?}",
        offered("--scope")
    );
    assert!(offered("--status").iter().all(|values| values.contains("open closed")));
    assert!(offered("--order").iter().all(|values| values.contains("desc asc")));
    assert!(offered("--actor").iter().all(|values| !values.contains("compgen -f")));
    assert!(offered("--file")[0].contains("compgen -f"));
    run("127.0.0.1:1", &["completions", "cmd"]).failed(2, &["bash", "powershell"]);
}

#[test]
fn consume_has_the_same_exit_codes() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["consume", "nowhere", "printer"]).failed(4, &["topic-not-found"]);
    run(api, &["consume", "nowhere", "printer", "--token", "ada"]).failed(3, &["403 Forbidden forbidden: "]);
    run(api, &["consume", "nowhere"]).failed(2, &["<NAME>"]);
}

/// They call the API as any program does: through the client for Rust.
#[test]
fn the_commands_of_the_api_import_no_crate_of_the_server() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/client")];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let imported = text.split("lately_").skip(1).map(|rest| rest.split("::").next().unwrap());
            for name in ["kit", "engine", "items", "store", "table", "pump", "records", "live", "authorize"] {
                assert!(!imported.clone().any(|imported| imported == name), "{}: {name}", path.display());
            }
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}

#[test]
fn a_proxy_is_used_for_other_hosts_and_not_for_loopback() {
    let program = Program::started(&["--no-demo"]);
    let proxy = Proxy::before(program.api(), &[]);
    let list = |url: &str| {
        let mut command = lately(program.api(), &["topic", "list", "--url", url]);
        command.env("HTTP_PROXY", format!("http://{}", proxy.address)).output().unwrap()
    };
    for host in ["127.0.0.1", "localhost"] {
        let port = program.api().rsplit_once(':').unwrap().1;
        assert!(list(&format!("http://{host}:{port}")).status.success(), "{host}");
    }
    assert_eq!(proxy.asked.load(Ordering::SeqCst), 0);
    // The API refuses the other host name, but the request went through the proxy.
    assert!(!list("http://lately.example").status.success());
    assert_eq!(proxy.asked.load(Ordering::SeqCst), 1);
}
