//! The Lambda function `live`.

use lately_authorize::{Authorizer, Issuers, Scheme};
use lately_live::Live;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let issuers = Issuers::parse(&std::env::var("ISSUERS").unwrap_or_default(), Scheme::Https)?;
    lately_kit::lambda::start_streaming(env!("CARGO_BIN_NAME"), |store| {
        let authorizer = Authorizer::new(store.clone(), issuers);
        lately_live::router(Live::new(store, authorizer))
    })
    .await
}
