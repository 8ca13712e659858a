//! The report of a measurement: each figure beside its budget.

use std::time::Duration;

use serde_json::{Value, json};

/// The budget from spawn to first poll, as a multiple of the time of `hello-dynamodb`.
const START: f64 = 1.35;

/// The budget of instructions to the first poll. Most of them belong to the dynamic loader, the runtime and the SDK.
const INSTRUCTIONS: u64 = 1_900_000;

/// The budget from the first event to the first bytes of TLS.
const CLIENT_HELLO: Duration = Duration::from_millis(1);

/// The budgets of memory: 6.5 MB at the first poll, and 10 MB after the first event, which may return a page of a
/// hundred.
const RSS_AT_POLL: u64 = 13 * 1024 * 1024 / 2;
const RSS_AFTER: u64 = 10 * 1024 * 1024;

/// The budget of a binary's size: 4.8 MB.
const BYTES: u64 = 48 * 1024 * 1024 / 10;

/// The budget of the size of `report`: 6 MB. It contains an S3 client with the tables of forty checksums, and no client
/// waits for it.
const BYTES_OF_REPORT: u64 = 6 * 1024 * 1024;

/// The measurements of one function.
#[derive(Clone, Debug)]
pub(super) struct FunctionStart {
    pub(super) function: &'static str,
    pub(super) start: Duration,
    pub(super) instructions: Option<u64>,
    pub(super) client_hello: Option<Duration>,
    pub(super) rss_at_poll: u64,
    pub(super) rss_after: Option<u64>,
    /// The response to the first event.
    pub(super) answer: String,
    pub(super) bytes: u64,
}

impl FunctionStart {
    /// True for the project's functions. The smallest functions call nothing and have no budget.
    fn has_budget(&self) -> bool {
        self.client_hello.is_some()
    }

    /// The budget of the binary's size.
    fn most_bytes(&self) -> u64 {
        if self.function == "report" { BYTES_OF_REPORT } else { BYTES }
    }
}

/// The measurements of all functions. The first is `hello`, the second `hello-dynamodb`.
#[derive(Clone, Debug)]
pub(crate) struct ColdStartReport {
    measured: Vec<FunctionStart>,
}

/// A figure with its budget.
struct Figure {
    name: &'static str,
    text: String,
    value: Value,
    budget: Value,
    is_ok: bool,
}

impl ColdStartReport {
    pub(super) const fn new(measured: Vec<FunctionStart>) -> Self {
        Self { measured }
    }

    /// True if every function is within every budget.
    pub(crate) fn is_ok(&self) -> bool {
        self.functions().all(|one| self.figures(one).iter().all(|figure| figure.is_ok))
    }

    fn functions(&self) -> impl Iterator<Item = &FunctionStart> {
        self.measured.iter().filter(|one| one.has_budget())
    }

    fn figures(&self, one: &FunctionStart) -> Vec<Figure> {
        let hello = self.measured.get(1).map_or(one.start, |hello| hello.start);
        let ratio = one.start.as_secs_f64() / hello.as_secs_f64();
        let mut figures = vec![
            figure("start", format!("{ratio:.2}×"), ratio.into(), START.into(), ratio <= START),
            bytes("rss_at_poll", one.rss_at_poll, RSS_AT_POLL),
            bytes("binary", one.bytes, one.most_bytes()),
        ];
        if let Some(count) = one.instructions {
            let millions = format!("{} M", hundredths(count, 1_000_000));
            let is_ok = count <= INSTRUCTIONS;
            figures.insert(1, figure("instructions", millions, count.into(), INSTRUCTIONS.into(), is_ok));
        }
        if let Some(hello) = one.client_hello {
            let millis = hello.as_secs_f64() * 1e3;
            let text = format!("{millis:.2} ms");
            let budget = CLIENT_HELLO.as_secs_f64() * 1e3;
            let hello = figure("client_hello", text, millis.into(), budget.into(), hello <= CLIENT_HELLO);
            figures.insert(figures.len() - 2, hello);
        }
        if let Some(rss) = one.rss_after {
            figures.insert(figures.len() - 1, bytes("rss_after", rss, RSS_AFTER));
        }
        figures
    }

    /// The report as Markdown, for readers and for the documentation.
    pub(crate) fn table(&self) -> String {
        let mut table = String::from(
            "| function | start, relative to hello-dynamodb | instructions | first event to TLS | memory at first poll | memory after first event | binary |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n",
        );
        for one in &self.measured {
            let figures = self.figures(one);
            let cells =
                ["start", "instructions", "client_hello", "rss_at_poll", "rss_after", "binary"].map(|name| {
                    let found = figures.iter().find(|figure| figure.name == name);
                    found.map_or_else(
                        || "-".to_owned(),
                        |figure| {
                            let missed = if figure.is_ok || !one.has_budget() { "" } else { " **missed**" };
                            format!("{}{missed}", figure.text)
                        },
                    )
                });
            table.push_str(&format!("| {} | {} |\n", one.function, cells.join(" | ")));
        }
        let millis = |index: usize| {
            self.measured.get(index).map_or(0.0, |hello: &FunctionStart| hello.start.as_secs_f64() * 1e3)
        };
        table.push_str(&format!(
            "| budget | {START}× | {} M | {} ms | {} MB | {} MB | {} MB |\n\n\
             The budget of the binary of `report` is {} MB, because it contains an S3 client.\n\
             From spawn to first poll, hello took {:.2} ms and hello-dynamodb {:.2} ms.",
            hundredths(INSTRUCTIONS, 1_000_000),
            CLIENT_HELLO.as_millis(),
            hundredths(RSS_AT_POLL, MEGABYTE),
            hundredths(RSS_AFTER, MEGABYTE),
            // The budget was rounded down to a byte, so this rounds up.
            hundredths(BYTES + MEGABYTE / 200, MEGABYTE),
            BYTES_OF_REPORT / MEGABYTE,
            millis(0),
            millis(1),
        ));
        if self.measured.iter().any(|one| one.instructions.is_none()) {
            table.push_str("\nInstructions were not counted, because valgrind is not installed.");
        }
        table
    }

    /// The report as JSON, for programs.
    pub(crate) fn json(&self) -> String {
        let functions: Vec<_> = self.measured.iter().map(|one| {
            let figures: serde_json::Map<_, _> = self.figures(one).into_iter().map(|figure| {
                let Figure { name, value, budget, is_ok, .. } = figure;
                (name.to_owned(), json!({"reached": value, "budget": budget, "ok": is_ok}))
            }).collect();
            let start_ms = one.start.as_secs_f64() * 1e3;
            json!({"function": one.function, "start_ms": start_ms, "figures": figures, "answer": one.answer})
        }).collect();
        json!({"ok": self.is_ok(), "functions": functions}).to_string()
    }
}

fn figure(name: &'static str, text: String, value: Value, budget: Value, is_ok: bool) -> Figure {
    Figure { name, text, value, budget, is_ok }
}

fn bytes(name: &'static str, bytes: u64, budget: u64) -> Figure {
    figure(name, format!("{} MB", hundredths(bytes, MEGABYTE)), bytes.into(), budget.into(), bytes <= budget)
}

const MEGABYTE: u64 = 1 << 20;

/// A number in units, with two decimals.
fn hundredths(number: u64, unit: u64) -> String {
    format!("{}.{:02}", number / unit, number % unit * 100 / unit)
}
