//! The Lambda function `follow`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lately_kit::lambda::start(lately_follow::routes).await
}
