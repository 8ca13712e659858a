//! The binary `lately`: parses the command line and runs one command, or the whole system.

use std::process::ExitCode;

use lately::command_line::Lately;
use lately::{Terminal, serve};

/// The engine is faster with mimalloc: `lab/bench/benches/engine.rs` says why.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let (Lately { command, options }, name) = Lately::of_process();
    let (mut stdout, mut stderr) = (std::io::stdout(), std::io::stderr());
    let terminal = Terminal::new(&mut stdout, &mut stderr);
    let done = match command {
        None => serve::run(options, terminal).await,
        Some(command) => command.run(terminal).await,
    };
    done.map_or_else(|failure| failure.end(&name, &mut stderr), |()| ExitCode::SUCCESS)
}
