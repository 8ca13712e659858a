//! The command line: every command, and the text of `lately --help`.
//!
//! The help lists the commands in two groups. The lists are made from the commands themselves, so they name each one.

use clap::Subcommand;

use crate::client::ApiCommand;
use crate::client::consume::ConsumeOptions;
use crate::client::scenario::ScenarioOptions;
use crate::completions::CompletionsOptions;
use crate::operate::dlq::DlqOptions;
use crate::operate::import::ImportOptions;
use crate::operate::migrate::MigrateOptions;
use crate::operate::report::ReportOptions;
use crate::operate::token::TokenOptions;
use crate::serve::options::ServeOptions;

/// Lately: newest first, on DynamoDB. Without a command it starts the whole system in this process.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "lately", version, args_conflicts_with_subcommands = true)]
#[command(help_template = template(), after_help = AFTER)]
pub struct Lately {
    /// What to do instead.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// How to start the system.
    #[command(flatten)]
    pub options: ServeOptions,
}

/// What to do other than to start the system.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// What can be done through the API.
    #[command(flatten)]
    Api(ApiCommand),
    /// Print the script that completes commands in a shell
    ///
    /// As in: lately completions bash > ~/.local/share/bash-completion/completions/lately
    Completions(CompletionsOptions),
    /// Make, list and revoke tokens, with your AWS credentials
    Token(TokenOptions),
    /// List and redrive what fan-out gave up on
    Dlq(DlqOptions),
    /// Upgrade issues of older schemas
    Migrate(MigrateOptions),
    /// Bring a table of a published design over into a topic
    Import(ImportOptions),
    /// Print a topic's events as they come, each line an event, from where one is
    Consume(ConsumeOptions),
    /// Report what is new in a topic, and look at reports
    Report(ReportOptions),
    /// Check a stack from outside: one of everything, each step a line
    Scenario(ScenarioOptions),
}

/// The commands of a stack's operator. All other commands are for users.
const OPERATE: [&str; 6] = ["token", "report", "dlq", "import", "migrate", "scenario"];

/// The text below all options.
const AFTER: &str = "\
Examples:
  lately                                                     start everything, here
  lately topic create posts
  lately post posts --type post.created --actor ada --data '{\"title\":\"Hi\"}'
  lately post posts --file events.ndjson                     a line an event; - is standard input
  lately latest posts -n 5
  lately latest --actor ada --json | jq '.events[].type'
  lately tail posts -f
  lately follow bob actor:ada
  lately feed show bob
  lately issue open octo/hello --title 'It says goodbye' --label critical --token ada
  lately issue list octo/hello --priority high
  lately consume posts printer --url https://… --token … > posts.ndjson

Environment:
  LATELY_URL      where the API is      [default: http://127.0.0.1:3000]
  LATELY_TOKEN    as whom it is asked   [default: dev]
  LATELY_TABLE    the table, for commands that work on it with AWS credentials

Exit codes:
  0  done                          3  refused (4xx)
  1  failed: no answer, or 5xx     4  not found (404)
  2  the command line is wrong     5  in conflict with what is there (409, 412, 428)";

/// The layout of the help.
fn template() -> String {
    let lately = Command::augment_subcommands(clap::Command::new("lately"));
    let is_shown =
        |operate: bool| move |command: &&clap::Command| OPERATE.contains(&command.get_name()) == operate;
    let list = |operate: bool| -> String {
        let commands = lately.get_subcommands().filter(is_shown(operate));
        let line = |command: &clap::Command| {
            format!("  {:<13}{}\n", command.get_name(), command.get_about().cloned().unwrap_or_default())
        };
        commands.map(line).collect()
    };
    let (used, operated) = (list(false), list(true));
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\nUse it:\n{used}\nOperate it:\n{operated}\n\
         Start it:\n{{options}}{{after-help}}"
    )
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_has_a_help_of_its_own() {
        let mut lately = Lately::command();
        let help = lately.render_long_help().to_string();
        lately.build();
        for name in OPERATE {
            assert!(lately.find_subcommand(name).is_some(), "{name}");
        }
        for command in lately.get_subcommands().filter(|command| command.get_name() != "help") {
            let listed = format!(
                "  {:<13}{}\n",
                command.get_name(),
                command.get_about().expect("it says what it does")
            );
            assert_eq!(help.matches(&listed).count(), 1, "{listed}{help}");
            for one in command.get_subcommands().chain([command]) {
                assert!(one.clone().render_help().to_string().contains("Usage: "), "{}", one.get_name());
                assert!(
                    one.get_arguments().all(|argument| argument.get_help().is_some()),
                    "{}",
                    one.get_name()
                );
            }
        }
        assert!(help.contains("--dynamodb-port") && help.contains("Exit codes:"), "{help}");
    }
}
