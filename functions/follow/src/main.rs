//! The Lambda function `follow`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lately_kit::lambda::start(env!("CARGO_BIN_NAME"), lately_follow::routes()).await
}
