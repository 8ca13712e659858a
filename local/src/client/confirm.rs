//! The confirmation of a command that cannot be undone, or that costs money: on a terminal, the user types the name once more.

use std::io::{self, IsTerminal, Write};

use crate::failure::{Failure, Result};

/// Fails with a hint if there is no terminal on which the user could be asked.
pub(super) fn needs_terminal(hint: impl FnOnce() -> String) -> Result<()> {
    match io::stdin().is_terminal() && io::stderr().is_terminal() {
        true => Ok(()),
        false => Err(Failure::usage(hint())),
    }
}

/// Asks for a name, and fails with `otherwise` if the user types another one.
pub(super) fn ask(stderr: &mut dyn Write, name: &str, question: &str, otherwise: &str) -> Result<()> {
    write!(stderr, "{question}: ")?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    match line.trim() == name {
        true => Ok(()),
        false => Err(Failure::usage(format!("this is not {name}: {otherwise}"))),
    }
}
