//! The client with faults.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;

use crate::client;
use crate::fault::layer::Layer;
use crate::fault::network::{DistantConnector, Network};
use crate::fault::plan::Plan;
use crate::fault::rules::{Fault, Faults};
use crate::operation::Operation;

/// A fault that was injected.
#[derive(Debug, Clone, PartialEq)]
pub struct Injected {
    /// The number of the call among the client's calls, counted from 1.
    pub call: u64,
    /// The call's operation.
    pub operation: Operation,
    /// The injected fault.
    pub fault: Fault,
    /// The time of the injection, by the engine's clock.
    pub at: Duration,
    /// The first partition that the call touches and the rule's target covers, if there is any.
    pub partition: Option<String>,
}

/// An SDK client with faults, and the record of its calls. Clones share both.
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
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// An SDK client that reaches the engine over a network. It shares the faults and their record.
    pub fn over(&self, network: Network) -> Client {
        let (layer, calls) = (self.layer.clone(), Arc::default());
        client::build(client::shared(DistantConnector { network, calls, layer }))
    }

    /// Replaces the faults. The interleaving of tasks stays the same.
    pub fn set_faults(&self, faults: &Faults) {
        self.layer.0.progress().plan = Plan::new(faults);
    }

    /// Every call made so far, in order. A live client records none.
    pub fn calls(&self) -> Vec<Operation> {
        self.layer.0.progress().calls.clone()
    }

    /// Every fault injected so far, in order. A live client records only the latest.
    pub fn injected(&self) -> Vec<Injected> {
        self.layer.0.progress().injected.iter().cloned().collect()
    }

    /// Returns when a call has crashed.
    pub async fn crashed(&self) {
        let mut crashed = self.layer.0.crashed.subscribe();
        // The sender is part of the layer, which outlives this borrow.
        let waited = crashed.wait_for(|crashed| *crashed).await;
        waited.expect("the layer holds the sender");
    }

    /// Runs `work` until it ends or a call crashes. After a crash `work` is dropped at once, as if its process had
    /// died, and the result is `None`.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            result = work => Some(result),
            () = self.crashed() => None,
        }
    }
}
