//! Compares Lately with five published designs under the same workloads.
//!
//! | file | contents |
//! | --- | --- |
//! | `contender.rs` | the compared designs |
//! | `workload.rs` | the workloads, and the part of each that must be stored for exact figures |
//! | `stage.rs` | the tables to which the events are written |
//! | `reading.rs` | the price of reads |
//! | `writing.rs` | the price of one write |
//! | `hottest.rs` | the hottest partition's share, and the rate at which it throttles: modelled |
//! | `offering.rs` | a check of that rate with the engine's partitions, which throttle |
//! | `collisions.rs` | the events that are lost when clocks are too coarse |
//! | `plot.rs` | the pictures |
//!
//! `lately_designs` reads and writes each design as its author published it. The modelled rates aside, the
//! embedded engine counts all figures, in simulated time and from seeds. So a run gives the same figures on every
//! machine.

mod collisions;
mod contender;
mod hottest;
mod jobs;
mod offering;
pub mod plot;
mod prices;
mod reading;
mod stage;
mod workload;
mod writing;

#[cfg(test)]
mod tests;

use std::time::Duration;

use lately_engine::Options;
use lately_store::Cost;

use crate::progress::Progress;
use crate::reads::{self, Steady};
use crate::report::{Cell, Report, Table};
use crate::topic::Behind;
use crate::writes::{tenths, units};
use contender::{Contender, OF_TOPICS, OF_USERS};
use jobs::Job;
use lately_rig::simulate;
use offering::OfferResult;
use reading::Answers;
use workload::Workload;
pub use workload::WorkloadScale;
use writing::Price;

/// The time for an operation of the store. The engine injects no faults, so no operation comes near it.
const BUDGET: Duration = Duration::from_secs(10);

/// The settings of a topic whose actors have timelines. Its events are not delivered to feeds.
const BY_ACTOR: &str = r#"{"fan_out":false,"views":["actor"]}"#;

/// The reads, as the tables name them.
pub(crate) const ASKED: [&str; 3] = ["latest 50", "page 20", "last 15 minutes"];

const NO_ANSWER: &str = "no answer";

/// The result of one measurement.
enum Measurement {
    /// The price of the reads of a topic or a timeline, by the name of the design.
    Answers(Vec<(String, Option<Answers>)>),
    /// The price of Lately's pages while the topic is written.
    Pages(Steady),
    Offer(OfferResult),
    Lost(u64),
    Price(Price),
}

/// Runs the whole comparison.
pub fn report(scale: &WorkloadScale, progress: &Progress) -> Report {
    let scale = *scale;
    let mut jobs: Vec<Job<Measurement>> = Vec::new();
    for workload in Workload::OF_TOPICS {
        for contender in OF_TOPICS {
            let name = format!("{}: {}", workload.name(), contender.name());
            jobs.push(Job::new(name, move || Measurement::Answers(of_topic(contender, workload, &scale))));
        }
    }
    for (workload, rate) in [(Workload::Steady, scale.steady_rate), (Workload::Burst, scale.burst_rate)] {
        let name = format!("pages of Lately at {} events a second", Cell::from(u64::from(rate)));
        jobs.push(Job::new(name, move || Measurement::Pages(reads::steady(shards(workload, &scale), rate))));
    }
    for contender in OF_USERS {
        let name = format!("users: {}", contender.name_of_users());
        jobs.push(Job::new(name, move || Measurement::Answers(vec![of_users(contender, &scale)])));
    }
    for contender in OF_TOPICS {
        let name = format!("the burst, offered to {}", contender.name());
        jobs.push(Job::new(name, move || Measurement::Offer(offer(contender, &scale))));
        let name = format!("writers in one tick: {}", contender.name());
        jobs.push(Job::new(name, move || Measurement::Lost(lost(contender, scale.writers))));
        let name = format!("one write: {}", contender.name());
        jobs.push(Job::new(name, move || Measurement::Price(writing::to_topic(contender))));
    }
    for contender in OF_USERS {
        let name = format!("one write of a user: {}", contender.name_of_users());
        jobs.push(Job::new(name, move || Measurement::Price(writing::of_user(contender))));
    }
    let mut found = ComparisonResults::default();
    jobs::run(jobs, progress).into_iter().for_each(|one| found.add(one));
    Report { command: "cargo run -p bench --release -- designs".to_owned(), tables: found.tables(&scale) }
}

/// The price of a topic's reads. Lately has two: without caches, and with them.
fn of_topic(
    contender: Contender,
    workload: Workload,
    scale: &WorkloadScale,
) -> Vec<(String, Option<Answers>)> {
    let (since_seconds, times) = workload.since(scale);
    if let Some(design) = contender.of_topic() {
        let answers = simulate(async {
            let store = stage::elsewhere(&design, Options::default(), BUDGET);
            let table = stage::timeline(&store, design.clone());
            stage::fill(&table, &design, workload.happenings(scale)).await;
            reading::of_published(&table, since_seconds).await
        });
        return vec![(contender.name(), Some(answers.with_since_times(times)))];
    }
    let shards = shards(workload, scale);
    let answers = simulate(async {
        let settings = format!(r#"{{"fan_out":false,"min_shards":{shards}}}"#);
        let bench = stage::lately(&settings, false, Options::default()).await;
        stage::fill_topic(&bench, workload.happenings(scale), |_| "ada".to_owned()).await;
        reading::of_topic(&bench, since_seconds).await
    });
    let shards = if shards == 1 { "one shard".to_owned() } else { format!("{shards} shards") };
    let names = [format!("Lately, {shards}"), "Lately, directory cached".to_owned()];
    names.into_iter().zip(answers.map(|answers| Some(answers.with_since_times(times)))).collect()
}

/// The shards of Lately's bucket.
fn shards(workload: Workload, scale: &WorkloadScale) -> u16 {
    match workload {
        Workload::Steady => scale.steady_shards,
        Workload::Burst => offering::to_lately(scale.burst_rate, scale.offered_seconds).1,
        Workload::Sparse | Workload::Users => 1,
    }
}

/// The price of the reads of a user's timeline. `None` if the design has no such timelines.
fn of_users(contender: Contender, scale: &WorkloadScale) -> (String, Option<Answers>) {
    let name = |user: u32| format!("user-{user}");
    let happenings = Workload::Users.happenings(scale);
    let answers = simulate(async {
        if contender == Contender::Lately {
            let bench = stage::lately(BY_ACTOR, true, Options::default()).await;
            stage::fill_topic(&bench, happenings, name).await;
            Behind::new(&bench.engine).settle(&bench.store).await;
            return Some(reading::of_actor(&bench, &name(0)).await);
        }
        let designs: Option<Vec<_>> = (0..scale.users).map(|user| contender.of_user(&name(user))).collect();
        let designs = designs?;
        let mut of_user = vec![Vec::new(); designs.len()];
        happenings.for_each(|happening| of_user[happening.user as usize].push(happening));
        let store = stage::elsewhere(&designs[0], Options::default(), BUDGET);
        for (design, happenings) in designs.iter().zip(of_user) {
            stage::fill(&stage::timeline(&store, design.clone()), design, happenings.into_iter()).await;
        }
        Some(
            reading::of_published(&stage::timeline(&store, designs[0].clone()), workload::SINCE_SECONDS)
                .await,
        )
    });
    (contender.name_of_users().to_owned(), answers)
}

fn offer(contender: Contender, scale: &WorkloadScale) -> OfferResult {
    match contender.of_topic() {
        Some(design) => offering::to_published(&design, scale.burst_rate, scale.offered_seconds),
        None => offering::to_lately(scale.burst_rate, scale.offered_seconds).0,
    }
}

fn lost(contender: Contender, writers: u32) -> u64 {
    match contender.of_topic() {
        Some(design) => collisions::lost_by_published(&design, writers),
        None => collisions::lost_by_lately(writers),
    }
}

/// The results by kind, each in the order of the jobs.
#[derive(Default)]
struct ComparisonResults {
    answers: Vec<Vec<(String, Option<Answers>)>>,
    pages: Vec<Steady>,
    offers: Vec<OfferResult>,
    lost: Vec<u64>,
    prices: Vec<Price>,
}

impl ComparisonResults {
    fn add(&mut self, found: Measurement) {
        match found {
            Measurement::Answers(answers) => self.answers.push(answers),
            Measurement::Pages(pages) => self.pages.push(pages),
            Measurement::Offer(offer) => self.offers.push(offer),
            Measurement::Lost(lost) => self.lost.push(lost),
            Measurement::Price(price) => self.prices.push(price),
        }
    }

    fn tables(&self, scale: &WorkloadScale) -> Vec<Table> {
        let count = |number: u64| Cell::from(number).to_string();
        let (steady, rest) = self.answers.split_at(OF_TOPICS.len());
        let (burst, rest) = rest.split_at(OF_TOPICS.len());
        let (sparse, users) = rest.split_at(OF_TOPICS.len());
        let (topic_prices, user_prices) = self.prices.split_at(OF_TOPICS.len());
        let WorkloadScale { steady_rate, burst_rate, burst_seconds, sparse: month, users: persons, .. } =
            *scale;
        let [steady_rate, burst_rate] = [steady_rate, burst_rate].map(|rate| count(rate.into()));
        let read = "Events have 512 bytes. Pages are eventually consistent reads. The last 15 minutes are read consistently, to the end.";
        let times = Workload::Steady.since(scale).1;
        let modelled = match times {
            1 => String::new(),
            _ => format!(
                " The figures for the last 15 minutes are modelled: {times} times those for these {} seconds.",
                scale.steady_seconds,
            ),
        };
        vec![
            self.summary(steady, burst, sparse, scale),
            self.pages(scale),
            of_answers(
                Workload::Steady,
                steady,
                format!(
                    "{steady_rate} events a second: the last {} seconds of the day, with {} events.{modelled} {read}",
                    scale.steady_seconds,
                    count(Workload::Steady.len(scale)),
                ),
            ),
            of_answers(
                Workload::Burst,
                burst,
                format!(
                    "{burst_rate} events a second for {burst_seconds} seconds, after a quarter of an hour with one event a second: {} \
                     events. All are stored, as if no write had been throttled. {read}",
                    count(Workload::Burst.len(scale)),
                ),
            ),
            of_answers(
                Workload::Sparse,
                sparse,
                format!("{} events in 30 days. {read}", count(month.into())),
            ),
            of_answers(
                Workload::Users,
                users,
                format!(
                    "The timeline of one of {persons} users, who write {} events a day in all. {read} A design without timelines of \
                     users has no answer: only a read of all users' events would find those of one user.",
                    count(Workload::Users.len(scale)),
                ),
            ),
            self.writes(topic_prices, &burst_rate, scale),
            user_writes(user_prices, scale),
            self.offers(&burst_rate, scale),
            self.collisions(steady, burst, scale),
        ]
    }

    /// The most important figures of every design. A design has no price at a rate at which it throttles.
    fn summary(&self, steady: &[Many], burst: &[Many], sparse: &[Many], scale: &WorkloadScale) -> Table {
        let rates = [scale.steady_rate, scale.burst_rate].map(u64::from);
        let [at_steady, at_burst] = rates.map(|rate| format!("latest 50, {} a second", Cell::from(rate)));
        let columns =
            ["design", &at_steady, &at_burst, "page 20, sparse month", "throttles at", "lost in one tick"];
        let mut table = Table::new("summary", &columns);
        let price = |many: &Many, n: usize, of: fn(&Answers) -> Cost| {
            let cost = many.get(n).and_then(|(_, answers)| answers.as_ref()).map(of);
            cost.map_or_else(|| NO_ANSWER.into(), |cost| units(cost.read_units))
        };
        for (n, contender) in OF_TOPICS.into_iter().enumerate() {
            let throttles_at = hottest::of_topic(contender, scale.burst_rate).throttles_at();
            let mut push = |name: String, latest: [Cell; 2], deep| {
                table.push([name.into()].into_iter().chain(latest).chain([
                    deep,
                    throttles_at.into(),
                    self.lost[n].into(),
                ]));
            };
            let deep = |of| price(&sparse[n], of, |answers| answers.deep);
            if contender == Contender::Lately {
                let pages =
                    |of: fn(&Steady) -> &Cell| [&self.pages[0], &self.pages[1]].map(of).map(Cell::clone);
                push("Lately, every page".to_owned(), pages(|steady| &steady.means[1]), deep(1));
                push("Lately, first page of a process".to_owned(), pages(|steady| &steady.first), deep(0));
                continue;
            }
            let latest =
                [(steady, rates[0]), (burst, rates[1])].map(|(many, rate)| match throttles_at < rate {
                    true => "throttled".into(),
                    false => price(&many[n], 0, |answers| answers.latest),
                });
            push(contender.name(), latest, deep(0));
        }
        table.note = format!(
            "Latest 50 and page 20: the read units of a page of 50. Throttled: the design refuses writes at this rate. Throttles at: \
             writes a second to one topic, modelled. Lost: how many of {} events written in the same clock tick overwrite each other.",
            Cell::from(u64::from(scale.writers)),
        );
        table
    }

    /// The price of Lately's pages while the topic is written.
    fn pages(&self, scale: &WorkloadScale) -> Table {
        let mut table =
            Table::new("pages", &["latest 50 of Lately", "every page", "first page of a process"]);
        for (rate, pages) in [scale.steady_rate, scale.burst_rate].into_iter().zip(&self.pages) {
            let name = format!("{} events a second", Cell::from(u64::from(rate)));
            table.push([name.into(), pages.means[1].clone(), pages.first.clone()]);
        }
        table.note = "Read units: the mean of 40 pages, read while the topic is written.".to_owned();
        table
    }

    fn writes(&self, prices: &[Price], rate: &str, scale: &WorkloadScale) -> Table {
        let columns = ["design", "write units", "calls", "hottest partition's share", "throttles at"];
        let mut table = Table::new("writes", &columns);
        for (contender, price) in OF_TOPICS.into_iter().zip(prices) {
            let share = hottest::of_topic(contender, scale.burst_rate);
            table.push(of_price(contender.name(), *price, share));
        }
        table.note = format!(
            "A write of one event of 512 bytes to a topic. Throttles at: writes a second, modelled from the hottest partition's share \
             of {rate} writes in one second, and from the 1,000 write units that a partition serves a second. Lately's figure is that \
             of a topic with 64 shards, the default maximum. A new topic has one shard, and throttles at 1,000 until it has grown."
        );
        table
    }

    fn offers(&self, rate: &str, scale: &WorkloadScale) -> Table {
        let mut columns = vec!["design".to_owned()];
        columns.extend((1..=scale.offered_seconds).map(|second| format!("second {second}")));
        columns.push("refused".to_owned());
        let mut table = Table { columns, ..Table::new("offered", &[]) };
        for (contender, offer) in OF_TOPICS.into_iter().zip(&self.offers) {
            let by_second = offer.by_second.iter().copied().map(Cell::from);
            table.push([contender.name().into()].into_iter().chain(by_second).chain([offer.refused.into()]));
        }
        table.note = format!(
            "{rate} writes a second are offered to partitions that serve 1,000 write units a second each, and begin with the unused \
             units of one second. The columns count the accepted writes of each second. The writers of a published design try once. \
             Lately's writers retry as usual: the topic begins with one shard, no write is refused, and later seconds make up for the \
             delayed writes."
        );
        table
    }

    fn collisions(&self, steady: &[Many], burst: &[Many], scale: &WorkloadScale) -> Table {
        let writers = Cell::from(u64::from(scale.writers)).to_string();
        let [of_steady, of_burst] = [Workload::Steady, Workload::Burst].map(|workload| workload.len(scale));
        let column = |events: u64, what: &str| format!("lost of {}, {what}", Cell::from(events));
        let columns = [
            "design",
            "clock tick",
            &format!("lost of {writers} in one tick"),
            &column(of_steady, "steady"),
            &column(of_burst, "burst"),
        ];
        let mut table = Table::new("collisions", &columns);
        let found = |many: &Many| many.iter().find_map(|(_, answers)| Some(answers.as_ref()?.found));
        for (n, contender) in OF_TOPICS.into_iter().enumerate() {
            let lost = |many: &Many, all: u64| Cell::from(all - found(many).unwrap_or_default());
            table.push([
                contender.name().into(),
                contender.tick().into(),
                self.lost[n].into(),
                lost(&steady[n], of_steady),
                lost(&burst[n], of_burst),
            ]);
        }
        table.note = "Lost: another event with the same key replaced the event, without an error. The times in the workloads are \
                      random nanoseconds. A clock that ticks in microseconds or milliseconds loses more."
            .to_owned();
        table
    }
}

type Many = Vec<(String, Option<Answers>)>;

fn of_answers(workload: Workload, all: &[Many], note: String) -> Table {
    let columns = ["asked for", "design", "read units", "calls", "items read", "rounds"];
    let mut table = Table { note, ..Table::new(workload.name(), &columns) };
    for (n, asked) in ASKED.into_iter().enumerate() {
        for (name, answers) in all.iter().flatten() {
            let cost = answers.map(|answers| [answers.latest, answers.deep, answers.since][n]);
            let figures = match cost {
                Some(cost) => {
                    [units(cost.read_units), cost.calls.into(), cost.items.into(), cost.rounds.into()]
                }
                None => [NO_ANSWER, "", "", ""].map(Cell::from),
            };
            table.push([asked.into(), name.as_str().into()].into_iter().chain(figures));
        }
    }
    table
}

fn user_writes(prices: &[Price], scale: &WorkloadScale) -> Table {
    let columns = ["design", "write units", "calls", "hottest partition's share", "throttles at"];
    let mut table = Table::new("user-writes", &columns);
    let mut behind = String::new();
    for (contender, price) in OF_USERS.into_iter().zip(prices) {
        let share = hottest::of_users(contender, scale.burst_rate, scale.users);
        table.push(of_price(contender.name_of_users().to_owned(), *price, share));
        if contender == Contender::Lately {
            behind = units(price.read_units).to_string();
        }
    }
    table.note = format!(
        "The same for {} users who write equally often. Lately writes the event, and fan-out then writes its entry in the user's \
         timeline. For an event that comes alone, fan-out reads {behind} units. Designs without timelines of users write to their topic.",
        scale.users,
    );
    table
}

fn of_price(name: String, price: Price, share: hottest::Share) -> [Cell; 5] {
    let per_cent = format!("{} %", tenths(share.tenths_of_per_cent()));
    [name.into(), units(price.write_units), price.calls.into(), per_cent.into(), share.throttles_at().into()]
}
