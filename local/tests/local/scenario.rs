//! `lately scenario`: it passes repeatedly on a working system, and names each broken feature of another.

use crate::program::{Program, command, until};

fn scenario(program: &Program, arguments: &[&str]) -> (bool, String, String) {
    let url = format!("http://{}", program.api());
    command(program, &[&["scenario", "--url", &url], arguments].concat())
}

#[test]
fn it_passes_twice_and_leaves_only_issues() {
    let program = Program::started(&["--report-every", "1s"]);
    for arguments in [&["--report", "billing"][..], &["--skip", "health", "--skip", "feeds"]] {
        let (passed, out, told) = scenario(&program, arguments);
        assert!(passed, "{out}{told}");
        let lines: Vec<_> = out.lines().collect();
        let (last, lines) = lines.split_last().unwrap();
        let (skipped, done): (Vec<&str>, Vec<&str>) =
            lines.iter().partition(|line| line.starts_with("skip "));
        assert!(done.iter().all(|line| line.starts_with("ok   ")), "{out}");
        assert_eq!(*last, format!("{} steps, all ok", done.len()));
        assert_eq!(skipped.len(), arguments.iter().filter(|argument| **argument == "--skip").count());
        assert_eq!(out.contains("reported on a schedule"), arguments.contains(&"billing"));
    }
    let (_, sessions, _) = command(&program, &["token", "list"]);
    assert_eq!(sessions.lines().count(), 4, "only the literal tokens: {sessions}");
    // Fan-out deletes the topic's events and consumers, and the copies of deleted events.
    let gone = [
        "EVENTS#scenario-",
        "EVENTS#issues",
        "SETTINGS#",
        "CONSUMER#scenario-",
        "LATE#scenario-",
        "FEED#ada-",
    ];
    until("the run's data is gone", || {
        !program.partitions().iter().any(|pk| gone.iter().any(|family| pk.starts_with(family)))
    });
    assert!(program.partitions().iter().any(|pk| pk.starts_with("REPO#octo-")));
}

#[test]
fn a_broken_feature_is_named_and_the_others_are_tried() {
    // The stream delivers nothing.
    let program = Program::started(&["--no-demo", "--stream-faults", "crash-before=1"]);
    let (passed, out, told) = scenario(&program, &["--patience", "3s"]);
    assert!(!passed && told.contains(" steps failed"), "{told}");
    let failed: Vec<_> = out.lines().filter(|line| line.starts_with("FAIL ")).collect();
    let expected = [
        "FAIL the timelines of the actor and the subject contain the events: after 3 s: GET /actors/ada-",
        "FAIL a follow adds the latest post to the feed: after 3 s: GET /actors/ada-",
        "FAIL each change appears as an event in the topic issues and in feeds: after 3 s: GET /subjects/repo:octo-",
        "FAIL an event that lands behind the position is returned as late: after 3 s: POST /topics/scenario-",
        "FAIL the topic's events are deleted: after 3 s: GET /topics/scenario-",
    ];
    assert_eq!(failed.len(), expected.len(), "{out}");
    assert!(failed.iter().zip(expected).all(|(line, start)| line.starts_with(start)), "{out}");
    assert!(failed[0].contains(" returned 200 ") && failed[0].ends_with(", expected all of its events"));
    assert!(
        out.contains("ok   settings: created") && out.ends_with("ok   the run's data is deleted\n"),
        "{out}"
    );
}

#[test]
fn a_wrong_token_host_or_url_is_reported() {
    let program = Program::started(&["--no-demo"]);
    let first = "FAIL sessions are opened for two users: POST /sessions";
    for (arguments, why) in [
        (
            &["--token", "nobody's"][..],
            "returned 403 invalid-token: The token is unknown, expired or revoked. Send a valid token. (request ",
        ),
        (&["--token", "ada"], "returned 403 forbidden: This request needs the scope admin. (request "),
        (&["--header", "Host: api.example.org"], "returned 403 origin-refused: "),
        // Nothing listens at this address.
        (&["--url", "http://127.0.0.1:1"], "got no response: "),
    ] {
        let url = format!("http://{}", program.api());
        let mut words = vec!["scenario"];
        if !arguments.contains(&"--url") {
            words.extend(["--url", &url]);
        }
        let (passed, out, told) = command(&program, &[&words, arguments].concat());
        assert!(!passed && told.contains("1 of "), "{told}");
        assert!(out.lines().next().unwrap().starts_with(&format!("{first} {why}")), "{out}");
    }
    for (arguments, word) in [
        (&["--skip", "sessions"][..], "possible values: health, openapi"),
        (&["--header", "Host"], "must be a name, a colon and a value"),
        (&["--patience", "0s"], "must be a number and s, m or h"),
    ] {
        let (passed, out, told) = scenario(&program, arguments);
        assert!(!passed && out.is_empty() && told.contains(word), "{told}");
    }
}
