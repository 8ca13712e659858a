//! The commands of `README.md` and `docs/quickstart.md`, run as they stand, and the links between the documents.
//!
//! A reader pastes the commands into a shell. So each line of the pages' `sh` blocks must be a `curl` or a `lately` command
//! that works on a program that has just started, or be in [`NOT_RUN`]. The program here serves on a free port, which
//! replaces port 3000.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Parser;
use lately::command_line::Lately;

use crate::program::{Program, curl, until, words};

const README: &str = include_str!("../../../README.md");
const QUICKSTART: &str = include_str!("../../../docs/quickstart.md");

/// The most lines of the README. It introduces the project; the documents explain it.
const README_LINES: usize = 180;

/// Commands that start, test, install or deploy. `.ci/run` runs the tests and `scripts/deploy`.
const NOT_RUN: [&str; 6] = [
    "cargo run",
    "cargo test --workspace",
    "cargo install --path local",
    "scripts/deploy",
    "echo 'AlarmEmail: you@example.org' > parameters.yaml",
    "sam build && sam deploy",
];

/// The commands of a page's `sh` blocks that are run, in their order.
fn commands(page: &str) -> Vec<&str> {
    let blocks = page.split("\n```sh\n").skip(1);
    let blocks = blocks.map(|block| block.split_once("\n```").expect("a block ends").0);
    let lines = blocks.flat_map(str::lines).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter(|line| !NOT_RUN.contains(line)).collect()
}

/// Runs a command against a program, and passes if it succeeds. Returns its output.
#[track_caller]
fn run(program: &Program, line: &str) -> String {
    // No shell runs here, so outside of single quotes no character may have a meaning for one.
    let unquoted: String = line.split('\'').step_by(2).collect();
    assert!(
        !unquoted.contains(['"', '$', '`', '\\', '|', '&', ';', '<', '>', '(', ')', '*', '?', '~', '#']),
        "{line}"
    );
    if let Some(request) = line.strip_prefix("curl ") {
        let (status, body) = curl(&request.replace("127.0.0.1:3000", program.api()));
        assert!((200..300).contains(&status), "{line}: {status} {body}");
        return body;
    }
    let arguments = line.strip_prefix("lately ").unwrap_or_else(|| panic!("neither curl nor lately: {line}"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_lately"));
    command.args(words(arguments)).env_clear().env("LATELY_URL", format!("http://{}", program.api()));
    let done = command.stdin(Stdio::null()).output().unwrap();
    assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_readmes_session_delivers_a_post_to_a_feed() {
    let program = Program::started(&[]);
    let commands = commands(README);
    for line in &commands {
        run(&program, line);
    }
    let [create, .., read_topic, read_feed] = &commands[..] else { panic!("{commands:?}") };
    assert!(create.contains("PUT") && read_topic.contains("/topics/") && read_feed.contains("/feeds/"));
    let post = r#""data":{"text":"hi"}"#;
    assert!(run(&program, read_topic).contains(post));
    until("the feed shows the post", || run(&program, read_feed).contains(post));
    program.stop("-TERM");
}

#[test]
fn every_command_of_the_quickstart_succeeds() {
    let program = Program::started(&[]);
    let commands = commands(QUICKSTART);
    let outputs: Vec<_> = commands.iter().map(|line| run(&program, line)).collect();
    let with_key = commands.iter().zip(&outputs).filter(|(line, _)| line.contains("Idempotency-Key"));
    let with_key: Vec<_> = with_key.map(|(_, output)| output).collect();
    assert!(
        with_key.len() == 2 && with_key[0] == with_key[1],
        "the second response is the first: {with_key:?}"
    );
    let read_feed = commands.iter().rfind(|line| line.starts_with("lately feed show"));
    let read_feed = read_feed.expect("the quickstart shows a feed");
    until("the feed shows the closed issue", || run(&program, read_feed).contains("issue.closed"));
    program.stop("-TERM");
}

#[test]
fn the_readme_is_short_and_has_the_test_command() {
    let count = README.lines().count();
    assert!(count <= README_LINES, "{count} lines: move details to a document in docs/");
    for command in NOT_RUN {
        let is_in = |page: &&str| page.contains(&format!("\n{command}\n"));
        assert!([README, QUICKSTART].iter().any(is_in), "no page has `{command}`");
    }
    assert_eq!(
        README.lines().find(|line| line.starts_with("cargo test")),
        Some("cargo test --workspace"),
        "`.ci/run` runs this line"
    );
}

/// The project's documents.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = [root.clone(), root.join("docs"), root.join("docs/adr")];
    let files =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

#[test]
fn every_lately_command_of_the_documents_is_valid() {
    let mut count = 0;
    for path in documents() {
        let page = fs::read_to_string(&path).unwrap();
        for line in commands(&page).into_iter().filter(|line| line.starts_with("lately ")) {
            let command = line.split("  #").next().unwrap().split(" > ").next().unwrap();
            let command = command.replace("\"$(output ", "").replace(")\"", "");
            let values = |word: String| match word.as_str() {
                "ID" | "RUN" => "0190868b-57e7-7000-80c0-0dd011ec70b5".to_owned(),
                "ApiUrl" | "LiveUrl" => "https://api.example.org".to_owned(),
                _ => word,
            };
            let parsed = Lately::try_parse_from(words(&command).into_iter().map(values));
            parsed.unwrap_or_else(|error| panic!("{}: {line}: {error}", path.display()));
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}

/// A page without its code blocks.
fn prose(path: &Path) -> String {
    fs::read_to_string(path).unwrap().split("\n```").step_by(2).collect::<Vec<_>>().join("\n")
}

/// The anchor of a heading: lower case, a hyphen for each space, no other punctuation.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    text.chars().filter(|character| character.is_alphanumeric() || ['-', '_'].contains(character)).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let documents = documents();
    assert!(documents.len() > 20, "{documents:?}");
    for path in documents {
        let page = prose(&path);
        let links = page.split("](").skip(1).map(|rest| rest.split_once(')').expect("a link ends").0);
        for link in links.filter(|link| !link.starts_with("http")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            assert!(target.exists(), "{}: {link}", path.display());
            let is_in =
                |page: String| page.lines().any(|line| line.starts_with('#') && anchor(line) == heading);
            assert!(heading.is_empty() || is_in(prose(&target)), "{}: {link}", path.display());
        }
    }
}
