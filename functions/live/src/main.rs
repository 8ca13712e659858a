//! The Lambda function `live`.

use std::time::Duration;

use lately_authorize::{Authorizer, Issuers, Scheme};
use lately_live::Live;
use lately_live::limits::STREAM_TIME;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    let issuers = Issuers::parse(&std::env::var("ISSUERS").unwrap_or_default(), Scheme::Https)?;
    let seconds = std::env::var("LIVE_SECONDS").unwrap_or_default();
    let time = seconds.parse().map_or(STREAM_TIME, Duration::from_secs).min(STREAM_TIME);
    lately_kit::lambda::start_streaming(env!("CARGO_BIN_NAME"), |store| {
        let authorizer = Authorizer::new(store.clone(), issuers);
        lately_live::router(Live::new(store, authorizer).lasting(time))
    })
    .await
}
