//! The command line: every command, and the text of `lately --help`.
//!
//! The help lists the commands in two groups. The lists are made from the commands themselves, so they are complete.

use clap::builder::Resettable;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Subcommand};
use clap_complete::Shell;

use crate::client::check::{self, CheckOptions};
use crate::client::command::{EventsCommand, FeedCommand, RecordsCommand};
use crate::client::consume::{self, ConsumeOptions};
use crate::client::erase::{self, EraseOptions};
use crate::client::load::{self, LoadOptions};
use crate::completions;
use crate::failure::Result;
use crate::operate::dlq::DlqCommand;
use crate::operate::migrate::{self, MigrateOptions};
use crate::operate::report::ReportCommand;
use crate::operate::token::TokenCommand;
use crate::operate::work::WorkCommand;
use crate::plan::{self, PlanOptions};
use crate::serve::options::ServeOptions;
use crate::terminal::Terminal;

/// Lately: events on DynamoDB, newest first. Without a command, it starts the whole system in this process.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "lately", version, args_conflicts_with_subcommands = true)]
#[command(help_template = template(), after_help = AFTER)]
pub struct Lately {
    /// The command; without one, the program starts the system.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// The options for starting the system.
    #[command(flatten)]
    pub options: ServeOptions,
}

/// Every command.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// The API's commands on topics and their events.
    #[command(flatten)]
    Events(EventsCommand),
    /// Show a user's feed, mark it as seen, verify and rebuild it
    #[command(subcommand)]
    Feed(FeedCommand),
    /// The API's commands on follows, records, consumers and sessions.
    #[command(flatten)]
    Records(RecordsCommand),
    /// Erase an actor, a user, or both, and print the receipt (scope admin)
    ///
    /// An actor's events are erased in all topics, with their copies in timelines and feeds. A user's profile, sessions,
    /// feed and follows are erased. The receipt counts what was erased; it names the data that an erasure
    /// cannot reach. Keep the receipt: --json prints it in the form that lately erase verify reads.
    // `lately erase verify` reads the table, so it takes no options of the API.
    #[command(mut_args(|argument| argument.global(false)))]
    Erase(Box<EraseOptions>),
    /// Test a stack through its API, after a deployment for example (scope admin)
    ///
    /// It creates topics, events, follows, records and a consumer with new names, checks the responses, and deletes what it
    /// created, except issues. It prints the time and the price of each case, and the bound that the documents state. The
    /// exit code is 1 if a case fails, and 2 if the URL is not Lately's API or the token lacks the scope.
    Check(Box<CheckOptions>),
    /// Send a steady load to a stack, and measure how the stack takes it (scope admin)
    ///
    /// It posts events to new topics, at most a hundred posts a second: at higher rates, each post is a batch. Meanwhile
    /// readers read the latest 50 events, one live stream follows a topic, and one feed shows when fan-out has copied an
    /// event. Delays begin with the response to the post. No request is repeated. At the end, and after Ctrl-C, it deletes
    /// what it created. It asks before it sends to another machine, and names the price first.
    Load(Box<LoadOptions>),
    /// Print a shell's completion script
    ///
    /// Example: lately completions bash > ~/.local/share/bash-completion/completions/lately
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Create, list and revoke tokens in the table, also before there is a first token
    #[command(subcommand)]
    Token(TokenCommand),
    /// List and redrive the batches that fan-out gave up on
    #[command(subcommand)]
    Dlq(DlqCommand),
    /// List the steps of background work that wait, and resume them
    #[command(subcommand)]
    Work(WorkCommand),
    /// Upgrade issues that are stored with an older schema
    Migrate(MigrateOptions),
    /// Print a topic's events, one per line, from a consumer's position on (scope consume)
    Consume(ConsumeOptions),
    /// Report a topic's new events, and list and show reports
    #[command(subcommand)]
    Report(ReportCommand),
    /// Print the bill of a workload on AWS for a month, by line
    ///
    /// It sends nothing. The units are those that Lately's measurements publish, and each line names its price and its
    /// assumption.
    Plan(PlanOptions),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// If the command cannot do its work.
    pub async fn run(self, mut terminal: Terminal<'_>) -> Result<()> {
        match self {
            Self::Events(command) => Box::pin(command.run(terminal)).await,
            Self::Feed(FeedCommand::Read(command)) => Box::pin(command.run(terminal)).await,
            Self::Feed(FeedCommand::Repair(command)) => Box::pin(command.run(terminal)).await,
            Self::Records(command) => Box::pin(command.run(terminal)).await,
            Self::Erase(options) => Box::pin(erase::run(*options, terminal)).await,
            Self::Check(options) => Box::pin(check::run(*options, terminal)).await,
            Self::Load(options) => Box::pin(load::run(*options, terminal)).await,
            Self::Completions { shell } => Ok(completions::run(shell, Lately::command(), terminal.stdout)?),
            Self::Token(command) => Box::pin(command.run(&mut terminal)).await,
            Self::Dlq(command) => Box::pin(command.run(&mut terminal)).await,
            Self::Work(command) => Box::pin(command.run(&mut terminal)).await,
            Self::Migrate(options) => Box::pin(migrate::run(options, terminal)).await,
            Self::Consume(options) => consume::run(options, terminal).await,
            Self::Report(command) => Box::pin(command.run(&mut terminal)).await,
            Self::Plan(options) => plan::run(options, terminal),
        }
    }
}

/// The commands for a stack's operator. All other commands are for users.
const OPERATE: [&str; 8] = ["token", "report", "dlq", "work", "migrate", "check", "load", "plan"];

/// The text below the options.
const AFTER: &str = "\
Examples:
  lately                                                     start the whole system
  lately topic create posts
  lately post posts --type post.created --actor ada --data '{\"title\":\"Hi\"}'
  lately post posts --file events.ndjson                     one event per line; - is standard input
  lately latest posts -n 5
  lately latest --actor ada --json | jq '.events[].type'
  lately tail posts -f
  lately follow bob actor:ada
  lately feed show bob
  lately issue open octo/hello --title 'It says goodbye' --label critical --token ada
  lately issue list octo/hello --priority high
  lately latest posts --from 1h --order asc                  a time may be given as the time since then
  lately consume posts printer --url https://… --token … > posts.ndjson
  lately topic delete posts --wait                           asks you to confirm the topic's name
  lately erase --actor eve --user eve --wait --json > receipt.json
  lately check https://… --live-url https://… --token …      after a deployment
  lately load https://… --rate 2000 --for 60s --token …      figures of a load; asks first, and names the price
  lately plan --events 100/s --followers 50                  the bill of a month on AWS
  lately feed rebuild bob                                    the local program's table; --table names a stack's

Environment:
  LATELY_URL      the API's URL         [default: http://127.0.0.1:3000]
  LATELY_TOKEN    the token to send     [default: dev]
  LATELY_TABLE    a stack's table, for operators' commands, with your AWS credentials [default: the local program's]

Exit codes:
  0  success                       3  rejected (4xx)
  1  no response, or 5xx           4  not found (404)
  2  invalid command line          5  conflict (409, 412, 428)";

impl Lately {
    /// The process's command line, and the name of its command, such as `lately topic show`. Ends the process if the
    /// command line is invalid or asks for help.
    pub fn of_process() -> (Self, String) {
        let matches = Self::command().try_get_matches().unwrap_or_else(|error| explained(error).exit());
        let lately = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        (lately, name_of(&matches))
    }
}

/// The error without the options that the environment has set. clap shows such an option in the usage as if the user
/// had to give it.
fn explained(error: clap::Error) -> clap::Error {
    fn without_environment(command: clap::Command) -> clap::Command {
        let command = command.mut_args(|argument| match argument.get_default_values() {
            [] => argument,
            _ => argument.env(Resettable::Reset),
        });
        command.mut_subcommands(without_environment)
    }
    let again = without_environment(Lately::command()).try_get_matches().err();
    again.filter(|again| again.kind() == error.kind()).unwrap_or(error)
}

/// The names of a command and its subcommands.
fn name_of(matches: &ArgMatches) -> String {
    let (mut name, mut matches) = ("lately".to_owned(), matches);
    while let Some((subcommand, inner)) = matches.subcommand() {
        name.extend([" ", subcommand]);
        matches = inner;
    }
    name
}

/// The layout of the help.
fn template() -> String {
    let lately = Command::augment_subcommands(clap::Command::new("lately"));
    let (mut used, mut operated) = (String::new(), String::new());
    for command in lately.get_subcommands() {
        let (name, about) = (command.get_name(), command.get_about().cloned().unwrap_or_default());
        let list = if OPERATE.contains(&name) { &mut operated } else { &mut used };
        list.push_str(&format!("  {name:<13}{about}\n"));
    }
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\nCommands for users:\n{used}\nCommands for operators:\n{operated}\n\
         Options for starting the system:\n{{options}}{{after-help}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_with_its_subcommands() {
        let name =
            |line: &str| name_of(&Lately::command().try_get_matches_from(line.split(' ')).expect(line));
        assert_eq!(name("lately"), "lately");
        assert_eq!(name("lately latest posts"), "lately latest");
        assert_eq!(name("lately topic show posts"), "lately topic show");
    }

    #[test]
    fn every_command_is_in_one_group_and_has_help() {
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
                command.get_about().expect("each command has a description")
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
