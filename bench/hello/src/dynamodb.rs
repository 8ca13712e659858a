//! A function that could ask DynamoDB and does not: what every one pays for the SDK before its first poll.
//!
//! The client is made as the SDK makes it, and has no way to the network: those of the functions are their own.

use aws_sdk_dynamodb::config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::{Client, Config};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let config = Config::builder().behavior_version(BehaviorVersion::v2026_01_12());
    let client = Client::from_conf(config.region(Region::from_static("eu-west-1")).build());
    let describe = async |_: LambdaEvent<Value>| {
        let answer = client.describe_endpoints().send().await?;
        Ok::<_, Error>(answer.endpoints().len())
    };
    lambda_runtime::run(service_fn(describe)).await
}
