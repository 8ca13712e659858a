//! `lately completions`: a script with which a shell completes this program's commands and options.

use std::io::Write;

use clap_complete::{Shell, generate};

/// Print a shell's completion script
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
    // First into memory: a failing write is an error here, but would be a panic inside `generate`.
    let mut script = Vec::new();
    generate(options.shell, &mut program, "lately", &mut script);
    out.write_all(&script)
}
