//! `lately completions`: a script with which a shell completes this program's commands and options.

use std::io::Write;

use clap::ValueHint;
use clap_complete::{Shell, generate};

/// The same commands. Shells offer files only for the values that are files: a shell that knows nothing about a value
/// offers files.
fn named_values(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let has_value = argument.get_action().takes_values();
        match argument.get_value_hint() {
            ValueHint::Unknown if has_value => argument.value_hint(ValueHint::Other),
            _ => argument,
        }
    });
    command.mut_subcommands(named_values)
}

/// Prints the script for the commands of `program`.
///
/// # Errors
/// If it cannot be printed.
pub(crate) fn run(shell: Shell, program: clap::Command, out: &mut dyn Write) -> std::io::Result<()> {
    // First into memory: a failing write is an error here, but would be a panic inside `generate`.
    let mut script = Vec::new();
    generate(shell, &mut named_values(program), "lately", &mut script);
    out.write_all(&script)
}
