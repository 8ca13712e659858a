//! The Lambda function `authorize`.

use lately_authorize::{Authorizer, Issuers, Scheme};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let issuers = Issuers::parse(&std::env::var("ISSUERS").unwrap_or_default(), Scheme::Https)?;
    lately_kit::lambda::start_handling(env!("CARGO_BIN_NAME"), move |store, question, _| {
        let authorizer = Authorizer::new(store, issuers.clone());
        async move { authorizer.answer(question).await.map_err(Into::into) }
    })
    .await
}
