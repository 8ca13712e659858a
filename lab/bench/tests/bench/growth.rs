//! A short run of the published measurement of a topic that grows under load.

use std::time::Duration;

use lately_bench::growth::{GrowthScale, run};
use lately_engine::PartitionLimits;

#[test]
fn a_topic_of_one_shard_takes_many_times_a_partitions_rate_and_refuses_nobody() {
    // A partition serves a tenth of DynamoDB's rate.
    let scale = GrowthScale { per_second: 1_000, seconds: 1, batch: 50, write_units: 100 };
    let half_a_second = PartitionLimits { burst: Duration::from_millis(500), ..PartitionLimits::default() };
    let few_at_once = PartitionLimits { writes_in_10_ms: Some(5), ..PartitionLimits::default() };
    for limits in [PartitionLimits::default(), half_a_second, few_at_once] {
        let found = run(scale, limits);
        assert_eq!((found.single.failed, found.batches.failed), (0, 0), "{limits:?}");
        assert!(found.shards >= 8 && found.single.within(1000) > 0, "the topic grew: {limits:?}");
        assert!(found.single.within(990) < 2_000, "{limits:?}: {} ms", found.single.within(990));
    }
}
