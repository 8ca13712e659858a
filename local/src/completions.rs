//! `lately completions`: what a shell needs to complete the commands and options of this program.

use std::io::Write;

use clap_complete::{Shell, generate};

/// Print the script that completes commands in a shell
#[derive(Clone, Debug, clap::Args)]
pub struct CompletionsOptions {
    /// The shell
    shell: Shell,
}

/// Prints the script for the commands of `program`.
///
/// # Errors
/// If it cannot be printed.
pub fn run(
    options: CompletionsOptions,
    mut program: clap::Command,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    // At once in memory: what cannot be printed is an error here, and would be a panic there.
    let mut script = Vec::new();
    generate(options.shell, &mut program, "lately", &mut script);
    out.write_all(&script)
}
