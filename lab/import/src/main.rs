//! The binary `lately-import`: finds both tables as the AWS command line would, and imports one into the other.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use lately_import::ImportOptions;
use lately_kit::aws::{self, Environment};
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::trust::TrustRoots;
use lately_kit::world::World;
use lately_store::Store;
use lately_table::Connection;

#[tokio::main]
async fn main() -> ExitCode {
    let options = ImportOptions::parse();
    let roots = TrustRoots::Native;
    let chain = aws_config::defaults(aws::behavior()).http_client(aws::https(roots));
    // Boxed, because the futures are large.
    let environment = Environment { sdk: Box::pin(chain.load()).await, roots };
    let client = environment.client();
    let table = |name: &str| Connection::new(client.clone(), name, World::new(), OPERATION_BUDGET);
    let (source, target) = (table(&options.table), Store::new(table(&options.into)));
    let (mut out, mut messages) = (std::io::stdout(), std::io::stderr());
    match Box::pin(lately_import::run(&source, &target, options, &mut out, &mut messages)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, nobody reads the message.
            drop(writeln!(messages, "lately-import: {error}"));
            ExitCode::FAILURE
        }
    }
}
