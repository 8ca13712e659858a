//! Tests of a report's price: it depends on the new events and not on the old ones.

use std::collections::BTreeSet;
use std::time::Duration;

use lately_model::TopicChange;
use lately_report::Outcome;

use crate::rig::{Rig, pass};

const QUARTER: Duration = Duration::from_secs(15 * 60);

/// Quarters of an hour in more than a day.
const QUARTERS: usize = 30 * 4;

#[tokio::test(start_paused = true)]
async fn every_report_of_a_day_takes_the_same_number_of_calls() {
    let mut rig = Rig::new(1).await;
    rig.topic = "quarters".parse().unwrap();
    let settings = br#"{"bucket":"quarter-hour","fan_out":false,"views":[]}"#;
    rig.store.op().topic(&rig.topic).put(&TopicChange::parse(settings).unwrap()).await.unwrap();
    let report = rig.report("nightly");
    let (mut of_table, mut of_objects) = (BTreeSet::new(), BTreeSet::new());
    for quarter in 0..QUARTERS {
        pass(QUARTER / 2).await;
        rig.write(3, None).await;
        rig.settle().await;
        pass(QUARTER / 2).await;
        // A new process that remembers nothing, as after a cold start.
        let reporter = rig.sound();
        let outcome = reporter.finish(&report).await;
        assert!(matches!(outcome, Outcome::Finished { events: 3, late: 0, .. }), "{quarter}: {outcome:?}");
        // The first run also creates its consumer, and has no bucket of an earlier run.
        if quarter > 0 {
            of_table.insert(reporter.table_calls());
            of_objects.insert(reporter.objects.calls().len());
        }
    }
    assert_eq!(of_table, BTreeSet::from([10]));
    assert_eq!(of_objects, BTreeSet::from([15]));
}
