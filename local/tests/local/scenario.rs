//! The scenario passes where all is well, again and again; where it is not, it says what, and goes on.

use crate::program::{Program, command, until};

fn scenario(program: &Program, arguments: &[&str]) -> (bool, String, String) {
    let url = format!("http://{}", program.api());
    command(program, &[&["scenario", "--url", &url], arguments].concat())
}

#[test]
fn the_program_passes_it_twice_and_nothing_is_left_of_it_but_topics_and_issues() {
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
    assert_eq!(sessions.lines().count(), 4, "those that are known to all: {sessions}");
    // Fan-out removes what events leave elsewhere.
    until("the feeds are empty", || !program.partitions().iter().any(|pk| pk.starts_with("FEED#ada-")));
    let partitions = program.partitions();
    let left = ["EVENTS#scenario-", "EVENTS#issues", "SETTINGS#", "CONSUMER#scenario-", "LATE#scenario-"];
    let left: Vec<_> =
        partitions.iter().filter(|pk| left.iter().any(|family| pk.starts_with(family))).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(partitions.iter().any(|pk| pk.starts_with("TOPIC#scenario-")));
    assert!(partitions.iter().any(|pk| pk.starts_with("REPO#octo-")));
}

#[test]
fn what_is_broken_is_named_and_the_rest_is_tried() {
    // Nothing comes through the stream.
    let program = Program::started(&["--no-demo", "--stream-faults", "crash-before=1"]);
    let (passed, out, told) = scenario(&program, &["--patience", "3s"]);
    assert!(!passed && told.contains(" steps failed"), "{told}");
    let failed: Vec<_> = out.lines().filter(|line| line.starts_with("FAIL ")).collect();
    let expected = [
        "FAIL the timelines of their actor and their subject have them: after 3 s: GET /actors/ada-",
        "FAIL who follows gets what was posted last: after 3 s: GET /actors/ada-",
        "FAIL each change is told of in the topic issues, and in feeds: after 3 s: GET /subjects/repo:octo-",
        "FAIL and what lands behind its place, as late: after 3 s: POST /topics/scenario-",
    ];
    assert_eq!(failed.len(), expected.len(), "{out}");
    assert!(failed.iter().zip(expected).all(|(line, start)| line.starts_with(start)), "{out}");
    assert!(
        failed[0].contains(" is answered 200 ")
            && failed[0].ends_with("not all that it did, or that was done to it")
    );
    assert!(out.contains("ok   settings: made") && out.ends_with("ok   what was made is deleted\n"), "{out}");
}

#[test]
fn a_wrong_token_a_wrong_name_and_a_server_that_is_not_there_are_told_of() {
    let program = Program::started(&["--no-demo"]);
    let first = "FAIL sessions are opened for two users: POST /sessions";
    for (arguments, why) in [
        (
            &["--token", "nobody's"][..],
            "is answered 403 invalid-token: The token is unknown, expired or revoked. Send a valid token. (request ",
        ),
        (&["--token", "ada"], "is answered 403 forbidden: This request needs the scope admin. (request "),
        (&["--header", "Host: api.example.org"], "is answered 403 origin-refused: "),
        // The last one counts.
        (&["--url", "http://127.0.0.1:1"], "has no answer: "),
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
