//! A small run of the comparison. It must agree with the published run in everything that does not depend on the size.

use std::sync::LazyLock;

use super::*;

/// A size that is quick in a debug build.
const SMALL: WorkloadScale = WorkloadScale {
    steady_rate: 2,
    steady_seconds: 900,
    burst_rate: 2_000,
    burst_seconds: 1,
    sparse: 1_000,
    users: 2,
    of_each_user: 1_000,
    offered_seconds: 2,
    steady_shards: 1,
    writers: 50,
};

static RUN: LazyLock<Report> = LazyLock::new(|| report(&SMALL, &Progress::silent()));

fn figure(table: &str, row: &str, column: &str) -> Cell {
    RUN.table(table)
        .unwrap()
        .cell(row, column)
        .unwrap_or_else(|| panic!("{table} / {row} / {column}"))
        .clone()
}

fn count(table: &str, row: &str, column: &str) -> u64 {
    match figure(table, row, column) {
        Cell::Count(count) => count,
        other => panic!("{other:?}"),
    }
}

/// A figure of a read, by the beginning of the design's name.
fn answer(workload: &str, asked: &str, design: &str, column: &str) -> Cell {
    let table = RUN.table(workload).unwrap();
    let column = table.columns.iter().position(|name| name == column).unwrap();
    let is = |row: &&Vec<Cell>| row[0] == asked.into() && row[1].to_string().starts_with(design);
    table.rows.iter().find(is).unwrap()[column].clone()
}

#[test]
fn designs_with_only_ticks_in_their_keys_lose_events() {
    let lost = |design| count("collisions", design, "lost of 50 in one tick");
    for design in ["reverse ticks", "chronological"] {
        assert_eq!(lost(design), 49, "{design}");
    }
    for design in ["sharded day, 4 shards", "inverted UUID", "quarter hour", "Lately"] {
        assert_eq!(lost(design), 0, "{design}");
    }
    for column in ["lost of 1,800, steady", "lost of 2,899, burst"] {
        assert_eq!(count("collisions", "Lately", column), 0);
    }
}

#[test]
fn designs_with_one_partition_are_throttled_at_its_rate() {
    for design in ["reverse ticks", "chronological", "inverted UUID", "quarter hour"] {
        assert_eq!(figure("writes", design, "hottest partition's share"), "100.0 %".into(), "{design}");
        assert_eq!(count("writes", design, "throttles at"), 1_000, "{design}");
        // The engine agrees with the model. The first second has the saved units too, and lacks its last slot.
        assert_eq!([1, 2].map(|n| count("offered", design, &format!("second {n}"))), [1_990, 1_000]);
        assert_eq!(count("offered", design, "refused"), 4_000 - 2_990);
    }
}

#[test]
fn lately_grows_to_the_offered_rate_and_refuses_no_write() {
    assert_eq!(count("offered", "Lately", "refused"), 0);
    let last = count("offered", "Lately", "second 2");
    assert!(last > 1_900, "{last}");
    assert!(count("writes", "Lately", "throttles at") > 40_000);
}

#[test]
fn every_write_costs_one_unit_per_item() {
    for table in ["writes", "user-writes"] {
        for row in &RUN.table(table).unwrap().rows {
            let units = if table == "user-writes" && row[0] == "Lately".into() { 2.0 } else { 1.0 };
            assert_eq!(row[1], Cell::Measure(units), "{row:?}");
        }
    }
}

#[test]
fn a_read_costs_a_page_of_each_partition() {
    let latest = |design| answer("steady", "latest 50", design, "read units");
    assert_eq!(latest("reverse ticks"), Cell::Measure(3.5));
    assert_eq!(latest("sharded day, 4 shards"), Cell::Measure(14.0));
    // Some of the 32 shards hold less than a page.
    assert!(matches!(latest("sharded day, 32 shards"), Cell::Measure(100.0..=112.0)));
    assert_eq!(latest("Lately, directory cached"), Cell::Measure(3.5));
    assert_eq!(answer("steady", "latest 50", "Lately, directory cached", "calls"), Cell::Count(1));
}

#[test]
fn a_design_has_no_price_at_a_rate_at_which_it_throttles() {
    let busy = |design| figure("summary", design, "latest 50, 2,000 a second");
    for design in ["reverse ticks", "chronological", "inverted UUID", "quarter hour"] {
        assert_eq!(busy(design), "throttled".into(), "{design}");
    }
    assert_eq!(busy("sharded day, 4 shards"), Cell::Measure(14.0));
    assert!(matches!(busy("Lately, every page"), Cell::Measure(3.5..=5.0)), "{}", busy("Lately, every page"));
}

#[test]
fn the_last_15_minutes_are_read_once() {
    for design in ["reverse ticks", "sharded day, 4 shards", "quarter hour", "Lately"] {
        assert_eq!(answer("steady", "last 15 minutes", design, "items read"), Cell::Count(1_800), "{design}");
    }
}

#[test]
fn without_a_directory_a_sparse_month_needs_many_calls() {
    let calls = |design| match answer("sparse", "latest 50", design, "calls") {
        Cell::Count(calls) => calls,
        other => panic!("{other:?}"),
    };
    assert!(calls("quarter hour") > 50, "{}", calls("quarter hour"));
    assert!(calls("Lately, one shard") <= 2 + 3, "{}", calls("Lately"));
}

#[test]
fn a_design_without_users_timelines_has_no_answer() {
    for design in ["inverted UUID", "quarter hour"] {
        assert_eq!(answer("users", "latest 50", design, "read units"), "no answer".into());
    }
    for design in ["reverse ticks", "sharded day, by user and month", "Lately"] {
        assert_eq!(answer("users", "latest 50", design, "calls"), Cell::Count(1), "{design}");
    }
}

#[test]
fn a_later_page_costs_as_much_as_the_latest() {
    for design in ["reverse ticks", "sharded day, 4 shards", "inverted UUID", "Lately, directory cached"] {
        let of = |asked| answer("steady", asked, design, "calls");
        assert_eq!(of("latest 50"), of("page 20"), "{design}");
    }
}

#[test]
fn pictures_show_the_figures_of_the_run() {
    let pictures = plot::pictures(&RUN);
    assert_eq!(pictures.len(), 5);
    let (_, collisions) = pictures.iter().find(|(name, _)| *name == "designs-collisions").unwrap();
    assert!(collisions.contains("reverse ticks 49") && collisions.contains("Lately 0"), "{collisions}");
}
