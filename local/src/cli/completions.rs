//! `lately completions`: what a shell needs to complete the commands and options of this program.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::cli::failure::Failure;
use crate::options::Lately;

/// Print the script that completes commands in a shell
#[derive(Clone, Debug, clap::Args)]
pub struct CompletionsOptions {
    /// The shell
    shell: Shell,
}

pub(super) fn run(options: CompletionsOptions, out: &mut dyn Write) -> Result<(), Failure> {
    // At once in memory: what cannot be printed is an error here, and would be a panic there.
    let mut script = Vec::new();
    generate(options.shell, &mut Lately::command(), "lately", &mut script);
    Ok(out.write_all(&script)?)
}
