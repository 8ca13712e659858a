//! `lately post --file`: every line is written once and in order, whatever is lost on the way.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cli::proxy::{Fault, Proxy};
use crate::cli::{events, lately, lines, numbers, run, run_with};
use crate::program::{Program, until};

#[test]
fn thousands_of_lines_are_posted_once_and_in_order() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    let proxy = Proxy::before(api, &[]);
    let host = format!("Host: {api}");
    let input = format!("\n{}\r\n", lines(1..=1_500).replace("}\n{", "} \r\n{"));
    // With a given key each batch is full, even if the lines arrive slowly.
    let arguments = ["post", "posts", "--file", "-", "--header", &host, "--idempotency-key", "k"];
    let done = run_with(&proxy.address, &arguments, &input);
    assert!(done.code == 0 && done.out.is_empty(), "{done:?}");
    assert!(
        done.last().starts_with("1500 events in 3 requests, ") && done.err.ends_with(" a second\n"),
        "{done:?}"
    );
    assert_eq!(proxy.asked.load(Ordering::SeqCst), 3);
    assert_eq!(numbers(&events(api, "posts")), (1..=1_500).collect::<Vec<_>>());

    // --json prints the written events and --quiet no progress. Here a part of a file is sent.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.ndjson");
    std::fs::write(&file, lines(1..=2_000)).unwrap();
    run(api, &["topic", "create", "some"]).fine();
    let file = file.to_str().unwrap();
    let arguments =
        ["post", "some", "--file", file, "--from-line", "101", "--to-line", "1900", "--quiet", "--json"];
    let done = run(api, &arguments);
    assert_eq!(done.err, "");
    let out = done.fine();
    let written: BTreeSet<_> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(written.len(), 1_800);
    assert_eq!(numbers(&events(api, "some")), (101..=1_900).collect::<Vec<_>>());
    run(api, &["post", "some", "--file", "/nowhere"]).failed(2, &["/nowhere cannot be read"]);
    run(api, &["post", "some", "--file", folder.path().to_str().unwrap()])
        .failed(2, &[" cannot be read: is a directory"]);
    let empty = run_with(api, &["post", "some", "--file", "-"], "");
    assert!(empty.code == 0 && empty.err.ends_with("there was no line to post\n"), "{empty:?}");
    run(api, &["post", "some", "--from-line", "2"]).failed(2, &["--file"]);
    run(api, &["post", "nowhere", "--file", file])
        .failed(4, &["topic-not-found", "0 events accepted; to continue, run again with --from-line 1 "]);
}

#[test]
fn lines_are_written_once_when_requests_or_responses_are_lost() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    let host = format!("Host: {api}");
    run(api, &["topic", "create", "one"]).fine();
    let faults = [
        // After a first response, the command retries for a minute.
        Fault::Busy(503),
        Fault::AnswerLost,
        Fault::Lost,
        Fault::None,
        Fault::AnswerLost,
        Fault::AnswerLost,
        Fault::None,
        Fault::Lost,
    ];
    let proxy = Proxy::before(api, &faults);
    let arguments = ["post", "one", "--file", "-", "--header", &host, "--idempotency-key", "k"];
    let done = run_with(&proxy.address, &arguments, &lines(1..=2_000));
    assert!(done.code == 0 && done.last().starts_with("2000 events in 4 requests, "), "{done:?}");
    assert_eq!(proxy.asked.load(Ordering::SeqCst), 4 + 6, "one request for each fault and each batch");
    assert_eq!(numbers(&events(api, "one")), (1..=2_000).collect::<Vec<_>>());
    // A single event without a key is not retried if it could be written twice.
    let event = ["post", "one", "--type", "a", "--actor", "ada", "--data", "0", "--header", &host];
    let proxy = Proxy::before(api, &[Fault::AnswerLost]);
    run(&proxy.address, &event).failed(1, &["lately post: no response from "]);
    assert_eq!(proxy.asked.load(Ordering::SeqCst), 1);
    let under_key = [&event[..], &["--idempotency-key", "k"]].concat();
    run(&Proxy::before(api, &[Fault::Lost]).address, &under_key).fine();
    let begun = Instant::now();
    run(&Proxy::before(api, &[Fault::Busy(503)]).address, &under_key).fine();
    assert!(begun.elapsed() > Duration::from_secs(1), "it waits as long as Retry-After says");
    // It is retried after a 429, which says that nothing was written, but not after a 503.
    run(&Proxy::before(api, &[Fault::Busy(429)]).address, &event).fine();
    run(&Proxy::before(api, &[Fault::Busy(503)]).address, &event).failed(1, &["503"]);
    assert_eq!(numbers(&events(api, "one")).iter().filter(|number| **number == 0).count(), 3);
}

#[test]
fn a_faulty_line_is_named_and_the_post_can_be_continued() {
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
        (
            "json",
            r#"{"type":"a","actor":"ada""#,
            &["malformed-json", "\n  line 703: invalid JSON at column 25"],
        ),
    ] {
        run(api, &["topic", "create", topic]).fine();
        let mut input: Vec<_> = lines(1..=1_500).lines().map(str::to_owned).collect();
        // Blank lines count as lines.
        input.insert(0, String::new());
        input.insert(1, "  ".to_owned());
        let fine = std::mem::replace(&mut input[702], faulty.to_owned());
        let done = post(topic, &input.join("\n"), &[]);
        let stderr = done.err.clone();
        done.failed(3, words);
        let hint = stderr.split_once("500 events accepted; to continue, run again with ").expect(&stderr).1;
        let hint: Vec<_> =
            hint.split_whitespace().take(4).map(|word| word.trim_matches([',', '\''])).collect();
        assert_eq!(hint[..3], ["--from-line", "503", "--idempotency-key"], "{stderr}");
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
    post("fields", &endless, &[]).failed(
        3,
        &["line 4 is longer than 3 MiB", "3 events accepted; to continue, run again with --from-line 4 "],
    );

    // A second run with the same key writes nothing twice; other lines with that key are refused.
    run(api, &["topic", "create", "again"]).fine();
    for end in [" a second\n", "; an earlier run wrote 1200 of them\n"] {
        let again = ["post", "again", "--file", "-", "--idempotency-key", "night"];
        let done = run_with(api, &again, &lines(1..=1_200));
        assert!(done.code == 0 && done.err.ends_with(end), "{done:?}");
    }
    assert_eq!(events(api, "again").len(), 1_200);
    post("again", &lines(2..=900), &["--idempotency-key", "night"]).failed(
        3,
        &["idempotency-key-reused", "0 events accepted; the lines have changed since the run with this key"],
    );
}

#[test]
fn a_pause_of_slow_input_posts_the_lines_so_far() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    let mut posting = lately(api, &["post", "posts", "--file", "-", "--quiet"]).spawn().unwrap();
    let mut stdin = posting.stdin.take().unwrap();
    for range in [1..=2, 3..=4] {
        let end = *range.end();
        stdin.write_all(lines(range).as_bytes()).unwrap();
        until("the lines are posted before the input ends", || {
            numbers(&events(api, "posts")).last() == Some(&end)
        });
    }
    drop(stdin);
    assert!(posting.wait().unwrap().success());
    assert_eq!(numbers(&events(api, "posts")), [1, 2, 3, 4]);
    // A refusal is reported, although the input has not ended.
    let arguments = ["post", "nowhere", "--file", "-", "--quiet"];
    let mut posting = lately(api, &arguments).spawn().unwrap();
    let mut stdin = posting.stdin.take().unwrap();
    stdin.write_all(lines(1..=500).as_bytes()).unwrap();
    until("the command ends", || posting.try_wait().unwrap().is_some_and(|status| status.code() == Some(4)));
}
