//! The table that a command works on: the local program, unless something names a stack.

use std::process::{Command, Stdio};

use crate::cli::{CommandOutput, run};
use crate::program::{Program, dynamodb};

/// A command with these variables and no others.
fn with(variables: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lately"));
    command.args(arguments).env_clear().envs(variables.iter().copied()).stdin(Stdio::null());
    let done = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandOutput { code: done.status.code().unwrap(), out: text(done.stdout), err: text(done.stderr) }
}

#[test]
fn operators_commands_use_the_local_program_without_aws_variables() {
    let program = Program::started(&["--no-demo"]);
    let local = format!("--local=http://{}", dynamodb(&program));
    let tokens = with(&[], &["token", "list", &local]).fine();
    assert_eq!(tokens.lines().count(), 4, "{tokens}");
    // The option counts, whatever the environment names.
    let stack =
        [("LATELY_TABLE", "a-stack"), ("LATELY_URL", "https://api.example.org"), ("AWS_PROFILE", "prod")];
    assert_eq!(with(&stack, &["token", "list", &local]).fine(), tokens);
    assert_eq!(with(&stack, &["token", "list", "--user", "ada", &local]).fine().lines().count(), 1);
    with(&[], &["feed", "verify", "ada", &local]).fine();
    with(&[], &["migrate", "--dry-run", &local]).fine();
    // Without a scheme.
    with(&[], &["token", "list", &format!("--local={}", dynamodb(&program))]).fine();

    with(&[], &["token", "list", "--local=http://127.0.0.1:1"])
        .failed(1, &["lately token list: no program answers at http://127.0.0.1:1/", "--local=URL"]);
}

#[test]
fn a_stack_is_used_only_if_its_table_is_named() {
    for variable in
        [("LATELY_URL", "https://api.example.org"), ("AWS_PROFILE", "prod"), ("AWS_ACCESS_KEY_ID", "x")]
    {
        let said = format!("{} is set, so the table could be a stack's", variable.0);
        with(&[variable], &["feed", "rebuild", "ada"])
            .failed(1, &[&said, "--table (or LATELY_TABLE)", "--local"]);
    }
    // A command that reads the table takes no options of the API.
    with(&[], &["erase", "verify", "receipt.json", "--json"]).failed(2, &["unexpected argument '--json'"]);
    for (variables, arguments) in [
        (&[][..], &["feed", "verify", "ada", "--table", ""][..]),
        (&[("LATELY_TABLE", "")], &["feed", "verify", "ada"]),
        (&[], &["token", "list", "--table", "a#b"]),
    ] {
        let refused = with(variables, arguments);
        assert!(!refused.err.contains("TABLE_NAME"), "{refused:?}");
        refused.failed(2, &["--table <NAME>", "must be 3 to 255 of"]);
    }
}

#[test]
fn a_url_is_named_without_a_scheme_and_dynamodbs_port_is_recognised() {
    let program = Program::started(&["--no-demo"]);
    let port = program.api().rsplit_once(':').unwrap().1;
    run("127.0.0.1:1", &["topic", "list", "--url", &format!("localhost:{port}")]).fine();
    run("127.0.0.1:1", &["topic", "list", "--url", "api.example.org"])
        .failed(2, &["must be a URL that begins with http:// or https://"]);
    // The workspace has no Unicode tables for host names (docs/adr/0013-libraries.md).
    run("127.0.0.1:1", &["topic", "list", "--url", "http://münchen.example"])
        .failed(2, &["must be a valid URL: invalid international domain name"]);
    for command in [&["topic", "list"][..], &["topic", "create", "x"], &["consume", "posts", "printer"]] {
        run(dynamodb(&program), command).failed(1, &[" is DynamoDB and not Lately's API"]);
    }
}

#[test]
fn an_error_asks_for_no_option_that_the_environment_sets() {
    let refused = run("127.0.0.1:3000", &["post", "posts"]);
    assert!(refused.err.contains("--type <TYPE>") && !refused.err.contains("--url"), "{refused:?}");
}
