//! A network that takes its time, and may stop in the middle of a call and go on hours later.

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

/// A process that stops in the middle of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    /// In which of its calls, counted from 1.
    pub(super) call: u64,
    /// Before the call reaches the table, or after.
    pub(super) before: bool,
    pub(super) time: Duration,
}

/// A client whose calls take a little while, there and back, and one of them long.
pub(super) fn slow(client: &FaultyClient, seed: u64, stall: Option<Stall>) -> Client {
    let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
    let network = Network { http: client.http_client(), random, calls: Arc::default(), stall };
    Client::from_conf(
        client.client().config().to_builder().http_client(SharedHttpClient::new(network)).build(),
    )
}

#[derive(Clone, Debug)]
struct Network<H> {
    http: H,
    random: Arc<Mutex<fastrand::Rng>>,
    calls: Arc<Mutex<u64>>,
    stall: Option<Stall>,
}

impl HttpClient for Network<SharedHttpClient> {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        of: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let Self { random, calls, stall, .. } = self.clone();
        let http = self.http.http_connector(settings, of);
        SharedHttpConnector::new(Network { http, random, calls, stall })
    }
}

impl HttpConnector for Network<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Self { http, random, calls, stall } = self.clone();
        HttpConnectorFuture::new(async move {
            let this = {
                let mut calls = calls.lock().unwrap();
                *calls += 1;
                *calls
            };
            let wait = |before: bool| {
                let stalled = stall.filter(|stall| stall.call == this && stall.before == before);
                let millis = random.lock().unwrap().u64(0..=50);
                tokio::time::sleep(stalled.map_or(Duration::from_millis(millis), |stall| stall.time))
            };
            wait(true).await;
            let answer = http.call(request).await;
            wait(false).await;
            answer
        })
    }
}
