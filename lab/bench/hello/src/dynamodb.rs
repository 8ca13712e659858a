//! A function that has the SDK and does nothing else. Its start is the cost that the SDK adds to every function.
//!
//! It has the same SDK client, HTTP client and trusted roots as the other functions, and no code of this project.

use aws_sdk_dynamodb::config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::{Client, Config};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::Value;

const ROOTS: &[u8] = include_bytes!("../../../../shared/kit/data/amazon-roots.pem");

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let roots = TrustStore::empty().with_pem_certificate(ROOTS);
    let https = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring));
    let https = https.tls_context(TlsContext::builder().with_trust_store(roots).build()?).build_https();
    let config = Config::builder().behavior_version(BehaviorVersion::v2026_01_12()).http_client(https);
    let client = Client::from_conf(config.region(Region::from_static("eu-west-1")).build());
    let describe = async |_: LambdaEvent<Value>| {
        let answer = client.describe_endpoints().send().await?;
        Ok::<_, Error>(answer.endpoints().len())
    };
    lambda_runtime::run(service_fn(describe)).await
}
