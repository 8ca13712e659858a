//! A network that takes its time: calls of different processes overlap in every way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use lately_engine::fault::FaultyClient;

/// A client whose calls take up to so long, there and back.
pub(super) fn slow(client: &FaultyClient, seed: u64, longest_millis: u64) -> Client {
    let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
    let network = Network { http: client.http_client(), random, longest_millis };
    Client::from_conf(
        client.client().config().to_builder().http_client(SharedHttpClient::new(network)).build(),
    )
}

#[derive(Clone, Debug)]
struct Network<H> {
    http: H,
    random: Arc<Mutex<fastrand::Rng>>,
    longest_millis: u64,
}

impl HttpClient for Network<SharedHttpClient> {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        of: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let Self { random, longest_millis, .. } = self.clone();
        let http = self.http.http_connector(settings, of);
        SharedHttpConnector::new(Network { http, random, longest_millis })
    }
}

impl HttpConnector for Network<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Self { http, random, longest_millis } = self.clone();
        let wait = move || {
            let millis = random.lock().unwrap().u64(0..=longest_millis);
            tokio::time::sleep(Duration::from_millis(millis))
        };
        HttpConnectorFuture::new(async move {
            wait().await;
            let answer = http.call(request).await;
            wait().await;
            answer
        })
    }
}
