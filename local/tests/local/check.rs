//! `lately check`: it passes on a working system, also beside another check, names each broken feature of another, and
//! rejects bad input.

use std::process::Stdio;

use clap::Parser;
use lately::Terminal;
use lately::command_line::Lately;

use crate::program::{Program, command, dynamodb, prepared, until};

fn check(program: &Program, arguments: &[&str]) -> (bool, String, String) {
    let url = format!("http://{}", program.api());
    command(program, &[&["check", &url], arguments].concat())
}

#[test]
fn two_at_once_pass_and_leave_only_issues() {
    let program = Program::started(&["--report-every", "1s"]);
    let live = format!("http://localhost:{}", program.api().rsplit_once(':').unwrap().1);
    let url = format!("http://{}", program.api());
    let start = |arguments: &[&str]| {
        prepared(&program, &[&["check", &url], arguments].concat()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let reporting = (start(&["--report", "billing"]), 0);
    let live = (start(&["--live-url", &live]), 1);
    for (check, skips) in [reporting, live] {
        let done = check.wait_with_output().unwrap();
        let out = String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success(), "{out}");
        let (lines, table) = out.split_once("\n\n").unwrap();
        let (skipped, done): (Vec<_>, Vec<_>) = lines.lines().partition(|line| line.starts_with("skip "));
        let is_measured =
            |line: &&str| line.starts_with("ok   ") && line.contains(" ms") && line.contains("; bound: ");
        assert!(skipped.len() == skips && done.iter().all(is_measured), "{out}");
        assert!(
            table.trim_start().starts_with("CASE ") && table.lines().count() == lines.lines().count() + 1,
            "{out}"
        );
    }
    let (_, sessions, _) = command(&program, &["token", "list"]);
    assert_eq!(sessions.lines().count(), 4, "only the literal tokens: {sessions}");
    // Fan-out deletes the topics' events and consumers, and their copies. All other items expire, but for the issues and
    // the count of an actor's followers.
    let remains = |pk: &String| {
        pk.starts_with("EVENTS#issues#") || (pk.contains("-check-") && !pk.starts_with("FOLLOWERS#"))
    };
    until("only issues remain", || {
        let remaining: Vec<_> = program.lasting_partitions().into_iter().filter(remains).collect();
        !remaining.is_empty() && remaining.iter().all(|pk| pk.starts_with("REPO#user-"))
    });
}

#[test]
fn a_broken_feature_is_named_and_the_others_are_tried() {
    // The stream delivers nothing.
    let program = Program::started(&["--no-demo", "--stream-faults", "crash-before=1"]);
    let (passed, out, err) = check(&program, &["--patience", "4s"]);
    let names = "lately check: 6 of 15 cases failed: the stream mapping runs, and an event is in its actor's timeline; ";
    assert!(!passed && err.starts_with(names) && err.matches("; ").count() == 5, "{out}{err}");
    let lines = out.lines().take_while(|line| !line.is_empty());
    let failed: Vec<_> = lines.filter_map(|line| line.strip_prefix("FAIL ")).collect();
    let expected = [
        "the stream mapping runs, and an event is in its actor's timeline: step 2: after 4 s, actor.page [\"user-check-",
        "a follow fills a feed, and an unfollow empties it: step 2: after 4 s, actor.page [\"other-check-",
        "a subject with a colon is followed live: step 4: there was no answer for 4 s",
        "an issue changes under its revision, and each change has its event: step 5: after 4 s, subject.page [\"repo:",
        "a consumer gets a batch until it is committed, and late events: step 2: after 4 s, actor.page [\"user-check-",
        "a deleted topic is hidden, and its events are deleted: step 2: after 4 s, actor.page [\"user-check-",
    ];
    assert!(failed.iter().zip(expected).all(|(line, start)| line.starts_with(start)), "{out}");
    assert!(failed[0].contains(": value.events is [] instead of [{"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_gets_one_sentence_and_the_exit_code_2() {
    let program = Program::started(&["--no-demo"]);
    let [api, dynamodb] = [program.api(), dynamodb(&program)].map(|address| format!("http://{address}"));
    for (arguments, why) in [
        (&[&*api, "--token", "nobody's"][..], "rejects the request; check the token (403 invalid-token: "),
        (&[&api, "--token", "ada"], "the token has the scopes read write; the check needs the scope admin"),
        (&[&api, "--live-url", &dynamodb], "does not serve Lately's live streams ("),
        (&[&dynamodb], "is not Lately's API ("),
        (&["http://127.0.0.1:1"], "no response from http://127.0.0.1:1/ ("),
    ] {
        let arguments = [&["lately", "check"], arguments].concat();
        let command = Lately::parse_from(arguments).command.unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let failure = command.run(Terminal::new(&mut out, &mut err)).await.unwrap_err();
        assert!(failure.code() == 2 && failure.to_string().contains(why), "{failure}");
        assert!(out.is_empty() && !failure.to_string().contains('\n'), "{failure}");
    }
}
