//! The price of one write. For Lately's timelines it includes the writes of fan-out.

use lately_engine::Options;
use lately_store::{Cost, Units};

use super::contender::Contender;
use super::stage::{elsewhere, lately, of_design, timeline};
use super::workload::offered;
use super::{BUDGET, BY_ACTOR};
use crate::topic::{Behind, QUIET};
use lately_rig::simulate;

/// The price of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Price {
    pub(super) write_units: Units,
    pub(super) calls: u64,
    /// The read units of fan-out.
    pub(super) read_units: Units,
}

impl From<Cost> for Price {
    fn from(Cost { write_units, calls, read_units, .. }: Cost) -> Self {
        Self { write_units, calls, read_units }
    }
}

/// The price of a write to a topic.
pub(super) fn to_topic(contender: Contender) -> Price {
    match contender.of_topic() {
        Some(design) => simulate(to_published(&design)).into(),
        None => simulate(async {
            let bench = lately(QUIET, false, Options::default()).await;
            // The first write creates the directory, so the second one is measured.
            bench.fill(1).await;
            bench.fill(1).await.into()
        }),
    }
}

/// The price of a write to a user's timeline. A design without such timelines writes to its topic.
pub(super) fn of_user(contender: Contender) -> Price {
    match contender.of_user("ada").or_else(|| contender.of_topic()) {
        Some(design) => simulate(to_published(&design)).into(),
        None => simulate(async {
            let bench = lately(BY_ACTOR, true, Options::default()).await;
            let mut stream = Behind::new(&bench.engine);
            bench.fill(1).await;
            stream.settle(&bench.store).await;
            let mut cost = bench.fill(1).await;
            cost += stream.settle(&bench.store).await.cost;
            cost.into()
        }),
    }
}

async fn to_published(design: &lately_designs::Design) -> Cost {
    let table = timeline(&elsewhere(design, Options::default(), BUDGET), design.clone());
    let event = offered(1, 1).into_iter().map(|happening| of_design(design, happening));
    table.write(event).await.expect("the engine injects no faults")
}
