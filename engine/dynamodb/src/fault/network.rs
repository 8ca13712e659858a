//! A network that takes its time: calls of different processes overlap in every way, and one may stop half-way and go on
//! hours later.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;

use crate::clock::micros;
use crate::fault::layer::Layer;
use crate::fault::rules::Moment;
use crate::seed;

/// The time that calls travel, there and back. Time is tokio's: while it is paused, nobody waits.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    /// Decides each way's time.
    pub seed: u64,
    /// The longest that a way takes.
    pub longest: Duration,
    /// The one way that takes as long as it says.
    pub stall: Option<Stall>,
}

/// A process that stops in the middle of a call.
#[derive(Debug, Clone, Copy)]
pub struct Stall {
    /// In which of its calls, counted from 1.
    pub call: u64,
    /// Before the call reaches the table, or after.
    pub moment: Moment,
    /// How long.
    pub time: Duration,
}

/// A client's faults, at the end of a network.
#[derive(Debug, Clone)]
pub(super) struct DistantConnector {
    network: Network,
    calls: Arc<AtomicU64>,
    layer: Layer,
}

impl Network {
    fn way(&self, call: u64, moment: Moment) -> Duration {
        let stall = self.stall.filter(|stall| stall.call == call && stall.moment == moment);
        let drawn = seed::up_to(micros(self.longest), self.seed, moment as u64, call);
        stall.map_or(Duration::from_micros(drawn), |stall| stall.time)
    }
}

impl DistantConnector {
    pub(super) fn new(layer: Layer, network: Network) -> Self {
        Self { network, calls: Arc::default(), layer }
    }
}

impl HttpConnector for DistantConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Self { network, calls, layer } = self.clone();
        HttpConnectorFuture::new(async move {
            let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
            tokio::time::sleep(network.way(call, Moment::Before)).await;
            let answer = layer.call(request).await;
            tokio::time::sleep(network.way(call, Moment::After)).await;
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_stalls_and_the_others_take_their_time() {
        let hour = Duration::from_secs(3600);
        let stall = Stall { call: 3, moment: Moment::After, time: hour };
        let network = Network { seed: 7, longest: Duration::from_millis(50), stall: Some(stall) };
        assert_eq!(network.way(3, Moment::After), hour);
        let ways = (1..100)
            .flat_map(|call| [network.way(call, Moment::Before), network.way(call + 3, Moment::After)]);
        let ways: Vec<_> = ways.collect();
        assert!(ways.iter().all(|way| *way <= network.longest));
        assert!(ways.windows(2).any(|two| two[0] != two[1]));
    }
}
