//! The Lambda function `report`.

use std::future::ready;

use lately_kit::aws;
use lately_report::{Output, OutputUrl};
use serde_json::value::RawValue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let url: OutputUrl = std::env::var("OUTPUT").unwrap_or_default().parse()?;
    let output = Output::open(&url, ready(aws::environment()?)).await?;
    lately_kit::lambda::start_handling(env!("CARGO_BIN_NAME"), async |store, event: Box<RawValue>, time| {
        Ok(lately_report::handle(&store, &output, event.get().as_bytes(), time).await?)
    })
    .await
}
