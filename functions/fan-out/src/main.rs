//! The Lambda function `fan-out`.

use serde_json::value::RawValue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lately_kit::lambda::start_handling(env!("CARGO_BIN_NAME"), async |store, event: Box<RawValue>, time| {
        Ok(lately_fan_out::handle(&store, event.get().as_bytes(), time).await?)
    })
    .await
}
