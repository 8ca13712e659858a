//! `lately`: the whole system in one process.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use lately::options::Options;

/// For the engine's sake: see the opening of `bench/benches/engine.rs`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    match lately::run(options, &mut std::io::stdout()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where nothing can be written any more, there is nobody to tell.
            drop(writeln!(std::io::stderr(), "lately: {error}"));
            ExitCode::FAILURE
        }
    }
}
