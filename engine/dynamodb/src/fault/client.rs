//! A client to which things happen, and the account of what did.

use std::future::Future;

use aws_sdk_dynamodb::Client;

use crate::client;
use crate::fault::account::Injected;
use crate::fault::layer::Layer;
use crate::fault::network::{DistantConnector, Network};
use crate::operation::Operation;

/// An SDK client with faults, and what has happened to it. Clones share both.
#[derive(Debug, Clone)]
pub struct FaultyClient {
    client: Client,
    layer: Layer,
}

impl FaultyClient {
    pub(crate) fn new(layer: Layer) -> Self {
        Self { client: client::build(client::shared(layer.clone())), layer }
    }

    /// The SDK's client.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The SDK's client at the far end of a network: with the same faults, and the same account of them.
    #[must_use]
    pub fn over(&self, network: Network) -> Client {
        client::build(client::shared(DistantConnector::new(self.layer.clone(), network)))
    }

    /// Every call made so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Operation> {
        self.layer.calls()
    }

    /// Every fault injected so far, in order.
    #[must_use]
    pub fn injected(&self) -> Vec<Injected> {
        self.layer.injected()
    }

    /// Returns once a call has crashed.
    pub async fn crashed(&self) {
        let mut crashed = self.layer.crashed();
        // The sender is part of the layer, which outlives this borrow.
        let waited = crashed.wait_for(|crashed| *crashed).await;
        waited.expect("the layer holds the sender");
    }

    /// Runs `work` until it ends, or until a call crashes: then it is dropped where it stands, as by the
    /// death of the process, and there is no result.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            result = work => Some(result),
            () = self.crashed() => None,
        }
    }
}
