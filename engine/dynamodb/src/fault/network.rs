//! A network with delays. Calls of different processes overlap in every order, and a process can stop in the middle of
//! a call and continue hours later.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;

use crate::clock::micros;
use crate::fault::layer::Layer;
use crate::fault::rules::Moment;
use crate::seed;

/// The delays of calls on their way to the table and back. They are tokio's time: in a test with paused time they cost
/// nothing.
#[derive(Debug, Clone, Copy)]
pub struct Network {
    /// The seed of the delays.
    pub seed: u64,
    /// The longest delay of one way.
    pub longest: Duration,
    /// The one way whose delay is given rather than drawn.
    pub stall: Option<Stall>,
}

/// A process that stops in the middle of a call.
#[derive(Debug, Clone, Copy)]
pub struct Stall {
    /// The number of the call among the process's calls, counted from 1.
    pub call: u64,
    /// The way that stalls: to the table, or back.
    pub moment: Moment,
    /// The length of the stop.
    pub time: Duration,
}

/// A client's fault layer behind a network.
#[derive(Debug, Clone)]
pub(super) struct DistantConnector {
    pub(super) network: Network,
    /// The number of calls made.
    pub(super) calls: Arc<AtomicU64>,
    pub(super) layer: Layer,
}

impl Network {
    fn way(&self, call: u64, moment: Moment) -> Duration {
        let stall = self.stall.filter(|stall| stall.call == call && stall.moment == moment);
        let drawn = seed::up_to(micros(self.longest), self.seed, moment as u64, call);
        stall.map_or(Duration::from_micros(drawn), |stall| stall.time)
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
    fn one_way_stalls_and_the_others_have_drawn_delays() {
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
