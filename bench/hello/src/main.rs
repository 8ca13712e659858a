//! A function that does nothing: what every one pays for being a Lambda function in Rust.
//!
//! It has the runtime that the others have, with the same features, and is built with the same profile.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| Ok::<_, Error>(event.payload))).await
}
