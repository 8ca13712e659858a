//! A function that does nothing. Its start is the least that any Lambda function in Rust costs.
//!
//! It has the same runtime with the same features as the other functions, and is built with the same profile.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| Ok::<_, Error>(event.payload))).await
}
