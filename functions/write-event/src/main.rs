//! The Lambda function `write-event`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lately_kit::lambda::start(env!("CARGO_BIN_NAME"), lately_write_event::routes()).await
}
