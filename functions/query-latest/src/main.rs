//! The Lambda function `query-latest`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lately_kit::lambda::start(env!("CARGO_BIN_NAME"), lately_query_latest::routes()).await
}
