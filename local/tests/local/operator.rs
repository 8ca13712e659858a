//! The operator's commands, run against a running program.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use clap::Parser;
use lately::Terminal;
use lately::command_line::Lately;
use serde_json::{Value, json};

use crate::program::{Program, call_dynamodb, command, get, http, prepared, until};
use crate::support::old_issue;

/// An id that no run has.
const ID: &str = "019aa0b7-9a40-7000-8000-5f3c9e1d2a77";

fn token(program: &Program, arguments: &[&str]) -> (bool, String, String) {
    command(program, &[&["token"], arguments].concat())
}

#[test]
fn an_operator_creates_lists_and_revokes_tokens() {
    let program = Program::started(&[]);
    let arguments = [
        "create", "--table", "lately", "--scope", "read", "--user", "ada", "--topic", "posts", "--ttl", "2h",
    ];
    let (made, out, err) = token(&program, &arguments);
    assert!(made, "{err}");
    let secret = out.trim_end();
    assert!(secret.starts_with("lately_") && secret.len() == 50, "{secret}");
    assert!(!err.contains(secret), "the token is printed once");
    let id = err.strip_prefix("session ").unwrap().split(',').next().unwrap();

    let authorization = format!("authorization: Bearer {secret}");
    let read =
        |topic: &str| http(program.api(), "GET", &format!("/topics/{topic}/events"), &[&authorization], "").0;
    assert_eq!((read("posts"), read("billing")), (200, 403));
    let list = || token(&program, &["list", "--table", "lately"]).1;
    let listed = list();
    assert_eq!(listed.lines().count(), 5, "the new token and the four literal ones: {listed}");
    assert!(listed.starts_with(id) && listed.contains("  ada ") && listed.contains("  posts "), "{listed}");
    assert!(!listed.contains(secret));

    for _ in 0..2 {
        let (revoked, out, err) = token(&program, &["revoke", "--table", "lately", id]);
        assert_eq!((revoked, out.as_str(), err), (true, "", format!("revoked {id}\n")));
        assert_eq!(read("posts"), 403);
    }
    assert_eq!(list().lines().count(), 4);
    for (arguments, word) in [
        (&["create"][..], "--scope"),
        (&["create", "--scope", "root"], "[possible values: read, write, import, consume, act-as, admin]"),
        (&["create", "--scope", "read", "--ttl", "2y"], "must be a number and s, m, h or d"),
        (&["create", "--scope", "read", "--user", "a#b"], "user"),
        (&["revoke", "42"], "UUID"),
        (&["list", "--table", "nowhere"], "Check the table's name"),
    ] {
        let (done, out, err) = token(&program, arguments);
        assert!(!done && out.is_empty() && err.contains(word), "{arguments:?}: {err}");
    }
    program.stop("-TERM");
}

#[test]
fn a_damaged_feed_is_found_and_rebuilt() {
    let program = Program::started(&[]);
    let feed = || get(program.api(), "/feeds/ada?limit=100").1["events"].as_array().unwrap().clone();
    let whole = || !feed().is_empty() && command(&program, &["feed", "verify", "ada"]).0;
    until("the demo's feed is complete", whole);
    let before = feed();
    let victim: lately_keys::EventId = before[0]["id"].as_str().unwrap().parse().unwrap();
    let key = json!({"pk": {"S": "FEED#ada"}, "sk": {"S": victim.sort_key().to_string()}});
    call_dynamodb(&program, "DeleteItem", &json!({"TableName": "lately", "Key": key}));
    let event = json!({"t": {"S": "a"}, "a": {"S": "stranger"}, "o": {"S": "posts"}, "v": {"S": "a"}});
    let mut stray = event.as_object().unwrap().clone();
    stray.insert("pk".to_owned(), json!({"S": "FEED#ada"}));
    stray.insert("sk".to_owned(), json!({"S": "fe65604e-82bf-8fff-7fff-a0c361e2d588"}));
    call_dynamodb(&program, "PutItem", &json!({"TableName": "lately", "Item": stray}));

    let (fine, out, err) = command(&program, &["feed", "verify", "--table", "lately", "ada"]);
    assert!(!fine && err.contains("`lately feed rebuild` repairs the feed"), "{err}");
    assert!(out.contains("extra    event 019a9fb1-7d40-7000-8000-5f3c9e1d2a77"), "{out}");
    assert!(command(&program, &["feed", "rebuild", "ada"]).0);
    assert!(command(&program, &["feed", "verify", "ada"]).0);
    // A backfilled event from before the follow may be missing or not; the stray event is removed.
    assert!(feed().iter().all(|event| event["actor"] != "stranger"));
    program.stop("-TERM");
}

#[test]
fn an_operator_lists_and_resumes_background_work() {
    let program = Program::started(&["--no-demo"]);
    // Fan-out cannot read this step, so the step waits.
    let step = json!({
        "pk": {"S": "JOB#RETENTION#posts"}, "sk": {"S": "STEP"},
        "begun": {"N": "1700000000000"}, "step": {"N": "7"},
    });
    call_dynamodb(&program, "PutItem", &json!({"TableName": "lately", "Item": step}));
    let shown = "retention  posts  step 7  began 2023-11-14T22:13:20.000Z\n";
    let (fine, out, err) = command(&program, &["work", "list"]);
    assert_eq!((fine, out.as_str()), (true, shown), "{err}");
    let (fine, out, err) = command(&program, &["work", "resume", "--table", "lately", "retention", "posts"]);
    assert_eq!((fine, out.as_str()), (true, shown), "{err}");
    let job = "JOB#PUSH#0190a4cd-d3e7-7222-9f99-fdb74feee752#actor:ada#0";
    let corrupt = json!({"pk": {"S": job}, "sk": {"S": "00000000"}});
    call_dynamodb(&program, "PutItem", &json!({"TableName": "lately", "Item": corrupt}));
    let (fine, out, err) = command(&program, &["work", "list"]);
    assert_eq!((fine, out.as_str()), (false, shown), "{err}");
    assert!(err.contains(&format!("the item under {job} / 00000000 is corrupt")), "{err}");
    let (fine, _, err) = command(&program, &["work", "resume", "deletion", "posts"]);
    assert!(!fine && err.contains("no step of the deletion posts waits"), "{err}");
    program.stop("-TERM");
}

#[test]
fn an_operator_counts_and_upgrades_issues_of_older_schemas() {
    let program = Program::started(&["--no-demo"]);
    let put = |number: u32, item: &Value| {
        let mut item = item.clone();
        item["sk"] = json!({"S": format!("ISSUE#{number:08}")});
        item["gsi1sk"] = json!({"S": format!("ISSUE#OPEN#{number:08}")});
        call_dynamodb(&program, "PutItem", &json!({"TableName": "lately", "Item": item}));
    };
    for number in 1..=30 {
        put(number, &old_issue());
    }
    let mut newer = old_issue();
    newer["schema"] = json!({"N": "99"});
    newer["revision"] = json!({"N": "7"});
    newer["updated_at"] = json!({"N": "7"});
    newer["priority"] = json!({"S": "low"});
    put(31, &newer);
    let list =
        |query: &str| get(program.api(), &format!("/repos/octo/hello/issues?{query}")).1["issues"].clone();
    let of_high = || list("priority=high&limit=200").as_array().unwrap().len();
    let migrate = |arguments: &[&str]| command(&program, &[&["migrate"], arguments].concat());
    let counted = |out: &str, name: &str| -> u64 {
        let line =
            out.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {out}"));
        line.trim().parse().unwrap()
    };

    let (fine, out, err) = migrate(&["--dry-run", "--rate", "1000"]);
    assert!(fine, "{err}");
    assert_eq!(
        (counted(&out, "to upgrade"), counted(&out, "upgraded"), counted(&out, "newer than this")),
        (30, 0, 1)
    );
    assert_eq!((counted(&out, "of schema 1"), counted(&out, "of schema 99"), of_high()), (30, 1, 0));
    let (fine, out, err) = migrate(&["--run", "--rate", "1000"]);
    assert!(fine, "{err}");
    assert_eq!((counted(&out, "to upgrade"), counted(&out, "upgraded"), of_high()), (30, 30, 30));
    let (_, again, _) = migrate(&["--run", "--rate", "1000"]);
    assert_eq!((counted(&again, "to upgrade"), counted(&again, "current")), (0, 30));
    assert_eq!(counted(&again, "items read"), counted(&out, "items read"));

    put(32, &json!({"pk": {"S": "REPO#octo#hello"}, "title": {"S": "damaged"}}));
    let (fine, out, err) = migrate(&["--run", "--rate", "1000"]);
    assert!(!fine && err.contains("1 issue could not be read or upgraded"), "{err}");
    assert_eq!((counted(&out, "failed"), counted(&out, "current")), (1, 30));
    for (arguments, word) in [
        (&[][..], "--dry-run"),
        (&["--run", "--dry-run"], "cannot be used with"),
        (&["--run", "--rate", "0"], "--rate"),
        (&["--run", "--rate", "x"], "--rate"),
        (&["--dry-run", "--table", "nowhere"], "Check the table's name"),
    ] {
        let (done, out, err) = migrate(arguments);
        assert!(!done && out.is_empty() && err.contains(word), "{arguments:?}: {err}");
    }
    program.stop("-TERM");
}

#[test]
fn a_batch_that_fan_out_gave_up_on_is_listed_and_redriven() {
    let program = Program::started(&["--no-demo"]);
    // A job that fan-out cannot parse.
    let job = json!({"pk": {"S": "JOB#PUSH#019a9fb1-7d40-7000-8000-5f3c9e1d2a77#actor:ada#0"}, "sk": {"S": "00000000"}, "t": {"N": "1"}});
    call_dynamodb(&program, "PutItem", &json!({"TableName": "lately", "Item": job}));
    let folder = program.value("Failures").split("   ").next().unwrap().to_owned();
    let list = || command(&program, &["dlq", "list", "--folder", &folder]);
    until("the record is given up", || !list().1.is_empty());
    let (_, listed, _) = list();
    assert!(listed.contains("  1 record  RetryAttemptsExhausted  "), "{listed}");
    let name = listed.split("  ").next().unwrap();
    let redrive = || command(&program, &["dlq", "redrive", "--folder", &folder, name]);
    let (fine, _, err) = redrive();
    assert!(!fine && err.contains("failed again or expired, not removed: 1 batch"), "{err}");
    // The file holds whole records, so a redrive uses a corrected file.
    let file = Path::new(&folder).join(name);
    let stored = std::fs::read_to_string(&file).unwrap();
    assert!(stored.contains("JOB#PUSH"));
    // A page of a job from 2023, which is gone by now.
    let mut expired: Value = serde_json::from_str(&stored).unwrap();
    let mut payload: Value = serde_json::from_str(expired["payload"].as_str().unwrap()).unwrap();
    let change = &mut payload["Records"][0]["dynamodb"];
    change["ApproximateCreationDateTime"] = json!(1_700_000_000);
    change["Keys"]["sk"]["S"] = json!("00000001");
    expired["payload"] = json!(payload.to_string());
    std::fs::write(&file, expired.to_string()).unwrap();
    let (fine, _, err) = redrive();
    assert!(!fine && err.starts_with(&format!("expired {name}\n")), "{err}");
    assert!(list().1.contains(name));
    std::fs::write(&file, stored.replace("JOB#PUSH", "NONE#PUSH")).unwrap();
    let (fine, _, err) = redrive();
    assert!(fine && err.starts_with("done "), "{err}");
    assert_eq!(list().1, "");
    program.stop("-TERM");
}

/// An output that accepts all bytes, and fails when it is flushed, like a full disk.
struct Full;

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::StorageFull.into())
    }
}

/// The ids of events, one event per line.
fn ids(lines: &str) -> Vec<String> {
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
    lines.lines().map(id).collect()
}

#[test]
fn new_billing_events_are_reported_on_a_schedule() {
    let program = Program::started(&["--report-every", "1s"]);
    let folder = Path::new(program.value("Reports").split("   ").next().unwrap()).to_owned();
    let file = |line: &str| line.rsplit("  ").next().unwrap().to_owned();
    // First the demo's initial events, then new events, which are reported after they have settled for ten seconds.
    let first = program.line("report  480 events, 0 late");
    let mut lines = std::fs::read_to_string(folder.join(file(&first))).unwrap();
    let mut later = (0..60).map(|_| program.line("report  "));
    let next = later.find(|line| !line.starts_with("report  0 events")).expect("the demo adds events");
    lines += &std::fs::read_to_string(folder.join(file(&next))).unwrap();
    let reported = ids(&lines);
    assert!(reported.len() > 480 && reported.is_sorted(), "oldest first, each event once");

    let (listed, out, err) = command(&program, &["report", "list", "--topic", "billing"]);
    assert!(listed && out.lines().count() >= 2, "{err}");
    let mut closed = prepared(&program, &["report", "list", "--topic", "billing"]);
    let mut closed = closed.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(closed.stdout.take());
    let closed = closed.wait_with_output().unwrap();
    assert_eq!((closed.status.code(), closed.stderr), (Some(0), Vec::new()), "nobody reads its output");
    let run = out.lines().find(|line| line.contains("  480 events  0 late  ")).expect(&out);
    assert!(run.ends_with(&file(&first)), "{run}");
    let (run, output) = (run.split("  ").next().unwrap(), folder.to_str().unwrap());
    let show = ["report", "show", "--topic", "billing", "--output", output, run];
    let (shown, out, err) = command(&program, &show);
    assert!(shown, "{err}");
    let rows: Vec<Vec<_>> = out.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["actor", "events", "amount"]);
    let actors: Vec<_> = rows[1..].iter().map(|row| row[0]).collect();
    assert_eq!(actors, ["acme", "globex", "initech", "umbrella"]);
    assert_eq!(rows[1..].iter().map(|row| row[1].parse::<u64>().unwrap()).sum::<u64>(), 480);
    assert!(
        rows[1..].iter().all(|row| row[2].split_once('.').unwrap().1.len() == 2),
        "exact to the cent: {out}"
    );

    let by_hand = ["report", "run", "--topic", "billing", "--consumer", "by-hand", "--output", output];
    let (done, out, err) = command(&program, &by_hand);
    assert!(done && err.contains(" events, 0 of them late"), "{err}");
    let events = std::fs::read_to_string(folder.join(out.lines().next().unwrap())).unwrap();
    assert!(ids(&events).starts_with(&reported[..480]), "another consumer reports all events again");
    for (arguments, word) in [
        (&["report", "list", "--topic", "nowhere"][..], "there is no topic nowhere"),
        (
            &["report", "list", "--topic", "billing", "--consumer", "nobody"],
            "the topic billing has no consumer nobody",
        ),
        (&["report", "run", "--topic", "nowhere", "--output", output], "there is no topic nowhere"),
        (&["report", "run", "--topic", "billing", "--output", "gs://x"], "must be s3://bucket/prefix"),
        (&["report", "show", "--topic", "billing", "--output", output, "42"], "UUID"),
        (&["report", "show", "--topic", "billing", "--output", output, ID], "there is no run"),
    ] {
        let (done, out, err) = command(&program, arguments);
        assert!(!done && out.is_empty() && err.contains(word), "{arguments:?}: {err}");
    }
    program.stop("-TERM");
}

#[test]
fn a_topic_is_consumed_line_by_line_each_event_once() {
    let program = Program::started(&["--no-demo"]);
    let (url, dev) = (format!("http://{}", program.api()), "authorization: Bearer dev");
    let ask = |method: &str, target: &str, body: &str| http(program.api(), method, target, &[dev], body);
    assert_eq!(ask("PUT", "/topics/posts", "").0, 201);
    assert_eq!(
        ask("PUT", "/topics/posts/consumers/printer", r#"{"start":"earliest","settle_seconds":0}"#).0,
        201
    );
    let post = |numbers: std::ops::Range<u64>| -> Vec<String> {
        let event = |number| json!({"type": "a", "actor": "ada", "data": {"n": number}});
        let body = Value::from(numbers.map(event).collect::<Vec<_>>()).to_string();
        let (status, accepted) = ask("POST", "/topics/posts/events", &body);
        assert_eq!(status, 201, "{accepted}");
        let accepted: Value = serde_json::from_str(&accepted).unwrap();
        let events = accepted["events"].as_array().unwrap().iter();
        events.map(|event| event["id"].as_str().unwrap().to_owned()).collect()
    };
    let consume = |arguments: &[&str]| {
        command(&program, &[&["consume", "posts", "printer", "--url", &url], arguments].concat())
    };
    // An event that fan-out processes after a poll has passed it is returned again, as late.
    let is_heard = || {
        let state: Value = serde_json::from_str(&ask("GET", "/local/state", "").1).unwrap();
        let shards = state["stream"].as_array().unwrap();
        let count = |name: &str| shards.iter().map(|shard| shard[name].as_u64().unwrap()).sum::<u64>();
        count("in_flight") == 0 && Some(count("delivered") + count("filtered")) == state["records"].as_u64()
    };
    let heard = || until("fan-out has processed all records", is_heard);
    let posted = post(0..7);
    heard();
    let (done, out, err) = consume(&[]);
    assert!(done, "{err}");
    assert_eq!(
        (ids(&out), &*err),
        (posted, "7 events, 0 late; the next run of printer continues after them\n")
    );
    let (_, out, err) = consume(&[]);
    assert_eq!((&*out, &*err), ("", "0 events, 0 late; the next run of printer continues after them\n"));
    // By default events settle for ten seconds.
    assert_eq!(ask("PUT", "/topics/quiet", "").0, 201);
    let (_, _, err) = command(&program, &["consume", "quiet", "printer", "--url", &url]);
    assert!(
        err.ends_with("\n0 events, 0 late; events younger than 10 s wait for the next run of printer\n"),
        "{err}"
    );
    // Events that could not be printed are printed again.
    let posted = post(7..9);
    heard();
    let arguments = ["lately", "consume", "posts", "printer", "--url", &url, "--token", "dev"];
    let consume_again = Lately::parse_from(arguments).command.unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut errors = Vec::new();
    let printed = runtime.block_on(consume_again.run(Terminal::new(&mut Full, &mut errors)));
    assert_eq!(printed.unwrap_err().to_string(), "no storage space");
    assert_eq!(ids(&consume(&[]).1), posted);
    // Data that was sent on several lines is printed on one line.
    let sent = "{\"type\":\"a\",\"actor\":\"ada\",\"data\":{\n  \"n\": 1.50\r\n}}";
    assert_eq!(ask("POST", "/topics/posts/events", sent).0, 201);
    heard();
    let (_, out, _) = consume(&["--token", "dev"]);
    assert!(out.lines().count() == 1 && out.contains("\"n\": 1.50"), "{out}");
    for (arguments, word) in [
        (&["--token", "ada"][..], "403 Forbidden forbidden: This request needs the scope consume."),
        (&["--token", "nobody"], "invalid-token"),
        (&["--from", "yesterday"], "must be earliest, latest, or a time"),
    ] {
        let (done, out, err) = consume(arguments);
        assert!(!done && out.is_empty() && err.contains(word), "{arguments:?}: {err}");
    }
    let elsewhere = ["consume", "posts", "printer", "--url", "localhost:1"];
    let (done, out, err) = command(&program, &elsewhere);
    assert!(!done && out.is_empty() && err.contains("the URL of --url"), "{err}");
    program.stop("-TERM");
}

#[test]
fn a_profile_may_get_its_credentials_from_a_program() {
    let program = Program::started(&["--no-demo"]);
    let folder = tempfile::tempdir().unwrap();
    let credentials = json!({"Version": 1, "AccessKeyId": "x", "SecretAccessKey": "x"});
    let (printed, config) = (folder.path().join("credentials"), folder.path().join("config"));
    std::fs::write(&printed, credentials.to_string()).unwrap();
    let profile =
        format!("[profile work]\nregion = eu-west-1\ncredential_process = cat {}\n", printed.display());
    std::fs::write(&config, profile).unwrap();
    let mut command = prepared(&program, &["token", "list", "--table", "lately"]);
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY").env_remove("AWS_REGION");
    command.env("AWS_PROFILE", "work").env("AWS_CONFIG_FILE", config);
    command.env("PATH", std::env::var("PATH").unwrap());
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program.stop("-TERM");
}
