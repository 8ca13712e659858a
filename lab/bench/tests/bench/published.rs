//! Tests that the pages and pictures show the committed figures, and that the figures that are quick to measure are
//! still the same.

use std::collections::BTreeSet;
use std::fs;

use lately_bench::progress::Progress;
use lately_bench::published::{SUBCOMMANDS, committed, image, pages};
use lately_bench::report::{Cell, Report};
use lately_bench::{block, designs, fan_out, following, reads, writes};

fn figures(subcommand: &str) -> Report {
    committed(subcommand)
        .unwrap_or_else(|error| panic!("{error}: see `cargo run -p bench -- {subcommand} --write`"))
}

#[test]
fn every_page_shows_the_committed_figures() {
    for page in pages().unwrap() {
        let text = fs::read_to_string(&page).unwrap();
        for subcommand in SUBCOMMANDS {
            let report = figures(subcommand);
            let filled = block::fill(&text, subcommand, &report);
            let filled = filled.unwrap_or_else(|error| panic!("{}: {error}", page.display()));
            assert!(filled == text, "{}: `cargo run -p bench -- publish` fills it\n{filled}", page.display());
        }
    }
}

#[test]
fn the_pages_show_figures_of_all_subcommands_and_no_others() {
    let mut shown = BTreeSet::new();
    for page in pages().unwrap() {
        let text = fs::read_to_string(&page).unwrap();
        let names = block::names(&text).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        shown.extend(names.into_iter().map(|name| name.report));
    }
    assert_eq!(shown, SUBCOMMANDS.map(str::to_owned).into());
}

#[test]
fn every_committed_file_belongs_to_a_subcommand() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/figures");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let expected: BTreeSet<_> = SUBCOMMANDS.iter().map(|name| format!("{name}.json")).collect();
    assert_eq!(files.collect::<BTreeSet<_>>(), expected);
    for subcommand in SUBCOMMANDS {
        let Report { command, .. } = figures(subcommand);
        let (program, arguments) = command.split_once(" -- ").unwrap();
        assert!(program.starts_with("cargo run -p bench "), "{command}");
        assert_eq!(arguments.split(' ').next(), Some(subcommand), "{command}");
    }
}

#[test]
fn every_picture_is_drawn_from_the_committed_figures_and_shown() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/designs.md")).unwrap();
    for (name, picture) in designs::plot::pictures(&figures("designs")) {
        assert!(fs::read_to_string(image(name)).unwrap() == picture, "{name}");
        assert!(page.contains(&format!("](images/{name}.svg)")), "{name} is not shown");
    }
}

#[test]
fn the_prices_of_writes_are_unchanged() {
    assert_eq!(writes::report(&Progress::silent()), figures("writes"));
}

/// Some of the prices: the widest topics take minutes in a test.
#[test]
fn the_prices_of_pages_are_unchanged() {
    let latest = figures("reads").table("latest").unwrap().clone();
    for (shards, per_second) in [(1, 500), (4, 1_500)] {
        let row = reads::name(shards);
        for (limit, price) in ["10", "50", "100"].into_iter().zip(&reads::steady(shards, per_second).means) {
            assert_eq!(latest.cell(&row, limit), Some(price), "{limit} of {row}");
        }
    }
}

/// Some of the prices, as for pages.
#[test]
fn the_prices_of_streams_are_unchanged() {
    let streams = figures("reads").table("streams").unwrap().clone();
    for a_minute in [0, 6, 15] {
        let row =
            [vec![u64::from(a_minute).into()], following::read_units_of_streams(a_minute).to_vec()].concat();
        assert!(streams.rows.contains(&row), "{row:?}");
    }
}

/// Some of the prices: thousands of followers take minutes in a test.
#[test]
fn the_prices_of_fan_out_are_unchanged() {
    let deliveries = figures("fan-out").table("deliveries").unwrap().clone();
    for followers in [0, 1, 10, 100] {
        let row = deliveries.rows.iter().find(|row| row[0] == Cell::Count(followers));
        assert_eq!(row, Some(&fan_out::delivery(followers).to_vec()), "{followers}");
    }
    assert_eq!(figures("fan-out").table("batches"), Some(&fan_out::batches()));
}

/// Some of the prices, as for pages.
#[test]
fn the_prices_of_lately_beside_other_designs_are_unchanged() {
    let report = figures("designs");
    let reads::Steady { means: [_, every, _], first, .. } = reads::steady(2, 1_000);
    for (name, price) in [("every page", every), ("first page of a process", first)] {
        assert_eq!(
            report.table("pages").unwrap().cell("1,000 events a second", name),
            Some(&price),
            "{name}"
        );
        let column = "latest 50, 1,000 a second";
        let summary = report.table("summary").unwrap().cell(&format!("Lately, {name}"), column);
        assert_eq!(summary, Some(&price), "{name}");
    }
}
