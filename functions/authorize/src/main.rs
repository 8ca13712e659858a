//! The Lambda function `authorize`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    lately_kit::lambda::start_handling(env!("CARGO_BIN_NAME"), async |store, question, _| {
        lately_authorize::handle(store, question).await.map_err(Into::into)
    })
    .await
}
