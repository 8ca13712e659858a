//! A client whose faults are replaced while it is used: for a program that somebody plays with.
//!
//! It goes on for days, so it keeps the latest of what was injected and no calls.

use aws_sdk_dynamodb::Client;

use crate::client;
use crate::fault::{Faults, Injected, Layer};

/// An SDK client to which other things happen whenever that is said. Clones share what happens.
#[derive(Debug, Clone)]
pub struct LiveClient {
    client: Client,
    layer: Layer,
}

impl LiveClient {
    pub(crate) fn new(layer: Layer) -> Self {
        Self { client: client::build(client::shared(layer.clone())), layer }
    }

    /// The SDK's client.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Lets other things go wrong from now on, in place of what did. How tasks interleave is no part of it.
    pub fn set_faults(&self, faults: &Faults) {
        self.layer.set(faults);
    }

    /// The latest faults that were injected, oldest first.
    #[must_use]
    pub fn injected(&self) -> Vec<Injected> {
        self.layer.injected()
    }
}
