//! Lately and five published designs beside each other, under the same workloads.
//!
//! | | |
//! | --- | --- |
//! | who | `contender.rs` |
//! | what happens, and how much of it must be there for an answer to be exact | `workload.rs` |
//! | where it is written to | `stage.rs` |
//! | what is asked, and what the answers cost | `reading.rs` |
//! | what one write costs | `writing.rs` |
//! | which partition is hottest, and the rate that follows from it: modelled | `hottest.rs` |
//! | that rate, checked against partitions that refuse more | `offering.rs` |
//! | what is lost when clocks are too coarse | `collisions.rs` |
//! | the pictures | `plot.rs` |
//!
//! Each design is read and written as its author published it, by `lately_designs`. Everything but the modelled
//! rates is counted by the embedded engine, in simulated time and from seeds: a run is the same on every machine.

mod collisions;
mod contender;
mod hottest;
mod jobs;
mod offering;
pub mod plot;
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
use crate::report::{Cell, Report, Table};
use crate::topic::Behind;
use crate::writes::{tenths, units};
use contender::{Contender, OF_TOPICS, OF_USERS};
use jobs::Job;
use lately_rig::simulate;
use offering::Taken;
use reading::Answers;
use workload::Workload;
pub use workload::WorkloadScale;
use writing::Price;

/// The time for an operation of the store, which meets no faults.
const BUDGET: Duration = Duration::from_secs(10);

/// Settings of a topic whose actors have timelines, and nobody feeds.
const BY_ACTOR: &str = r#"{"fan_out":false,"views":["actor"]}"#;

/// The reads, as the tables name them.
pub(crate) const ASKED: [&str; 3] = ["latest 50", "page 20", "since 15 minutes"];

const NO_ANSWER: &str = "no answer";

/// One measurement.
enum Found {
    /// The answers of each contender, for a topic or for users.
    Answers(Vec<(String, Option<Answers>)>),
    Taken(Taken),
    Lost(u64),
    Price(Price),
}

/// All of it.
#[must_use]
pub fn report(scale: &WorkloadScale, progress: &Progress) -> Report {
    let scale = *scale;
    let mut jobs: Vec<Job<Found>> = Vec::new();
    for workload in Workload::OF_TOPICS {
        for contender in OF_TOPICS {
            let name = format!("{}: {}", workload.name(), contender.name());
            jobs.push(Job::new(name, move || Found::Answers(of_topic(contender, workload, &scale))));
        }
    }
    for contender in OF_USERS {
        let name = format!("users: {}", contender.name_of_users());
        jobs.push(Job::new(name, move || Found::Answers(vec![of_users(contender, &scale)])));
    }
    for contender in OF_TOPICS {
        let name = format!("the burst, offered to {}", contender.name());
        jobs.push(Job::new(name, move || Found::Taken(offer(contender, &scale))));
        let name = format!("writers in one tick: {}", contender.name());
        jobs.push(Job::new(name, move || Found::Lost(lost(contender, scale.writers))));
        let name = format!("one write: {}", contender.name());
        jobs.push(Job::new(name, move || Found::Price(writing::to_topic(contender))));
    }
    for contender in OF_USERS {
        let name = format!("one write of a user: {}", contender.name_of_users());
        jobs.push(Job::new(name, move || Found::Price(writing::of_user(contender))));
    }
    let mut found = Sorted::default();
    jobs::run(jobs, progress).into_iter().for_each(|one| found.add(one));
    Report { command: "cargo run -p bench --release -- designs".to_owned(), tables: found.tables(&scale) }
}

/// The answers of a topic; Lately gives two.
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
    let shards = match workload {
        Workload::Steady => scale.steady_shards,
        Workload::Burst => offering::to_lately(scale.burst_rate, scale.offered_seconds).1,
        Workload::Sparse | Workload::Users => 1,
    };
    let answers = simulate(async {
        let settings = format!(r#"{{"fan_out":false,"min_shards":{shards}}}"#);
        let bench = stage::lately(&settings, false, Options::default()).await;
        stage::fill_topic(&bench, workload.happenings(scale), |_| "ada".to_owned()).await;
        reading::of_topic(&bench, since_seconds).await
    });
    let shards = if shards == 1 { "one shard".to_owned() } else { format!("{shards} shards") };
    let names = [format!("Lately, {shards}"), "Lately, directory remembered".to_owned()];
    names.into_iter().zip(answers.map(|answers| Some(answers.with_since_times(times)))).collect()
}

/// The answers of a user's timeline; none where there is none.
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

fn offer(contender: Contender, scale: &WorkloadScale) -> Taken {
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

/// The results by kind, in the order of the reads.
#[derive(Default)]
struct Sorted {
    answers: Vec<Vec<(String, Option<Answers>)>>,
    taken: Vec<Taken>,
    lost: Vec<u64>,
    prices: Vec<Price>,
}

impl Sorted {
    fn add(&mut self, found: Found) {
        match found {
            Found::Answers(answers) => self.answers.push(answers),
            Found::Taken(taken) => self.taken.push(taken),
            Found::Lost(lost) => self.lost.push(lost),
            Found::Price(price) => self.prices.push(price),
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
        let read = "Events of 512 bytes. Pages are read eventually consistently, what came since 15 minutes ago consistently and whole.";
        let times = Workload::Steady.since(scale).1;
        let modelled = match times {
            1 => String::new(),
            _ => format!(
                " What came since 15 minutes ago is {times} times what came in those, each read by itself: modelled."
            ),
        };
        vec![
            self.summary(steady, burst, sparse, scale),
            of_answers(
                Workload::Steady,
                steady,
                format!(
                    "{steady_rate} events a second: the last {} seconds of the day, {} events.{modelled} {read}",
                    scale.steady_seconds,
                    count(Workload::Steady.len(scale)),
                ),
            ),
            of_answers(
                Workload::Burst,
                burst,
                format!(
                    "{burst_rate} events a second for {burst_seconds} seconds, after a quarter of an hour of one a second: {} \
                     events, as if all had been taken. {read}",
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
                    "One of {persons} users' timelines; {} events of all of them in a day. {read} Where a design has no timelines of \
                     users, only a read of everybody's events would tell one user's.",
                    count(Workload::Users.len(scale)),
                ),
            ),
            self.writes(topic_prices, &burst_rate, scale),
            user_writes(user_prices, scale),
            self.taken(&burst_rate, scale),
            self.collisions(steady, burst, scale),
        ]
    }

    /// One figure of everything, for who reads no more.
    fn summary(&self, steady: &[Many], burst: &[Many], sparse: &[Many], scale: &WorkloadScale) -> Table {
        let columns = [
            "design",
            "latest 50, steady",
            "latest 50, burst",
            "page 20, sparse month",
            "throttles at",
            "lost of one tick's",
        ];
        let mut table = Table::new("summary", &columns);
        let dearest = |many: &Many, of: fn(&Answers) -> Cost| {
            let cost = many.first().and_then(|(_, answers)| answers.as_ref()).map(of);
            cost.map_or_else(|| NO_ANSWER.into(), |cost| units(cost.read_units))
        };
        for (n, contender) in OF_TOPICS.into_iter().enumerate() {
            let share = hottest::of_topic(contender, scale.burst_rate);
            table.push([
                contender.name().into(),
                dearest(&steady[n], |answers| answers.latest),
                dearest(&burst[n], |answers| answers.latest),
                dearest(&sparse[n], |answers| answers.deep),
                share.throttles_at().into(),
                self.lost[n].into(),
            ]);
        }
        table.note = "Read units of a page of 50, nothing remembered; writes a second of one topic, modelled; events lost of a \
                      thousand writes in one tick of the design's own clock."
            .to_owned();
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
            "One event of 512 bytes to a topic. Throttles at: modelled, writes a second, from the share of the hottest partition in a \
             second of {rate} writes, and 1,000 write units a second that a partition takes. Lately's is where growth ends: 64 \
             shards, unless the topic says otherwise; a new topic has one, and throttles at 1,000 until it has grown."
        );
        table
    }

    fn taken(&self, rate: &str, scale: &WorkloadScale) -> Table {
        let mut columns = vec!["design".to_owned()];
        columns.extend((1..=scale.offered_seconds).map(|second| format!("second {second}")));
        columns.push("refused".to_owned());
        let mut table = Table { columns, ..Table::new("offered", &[]) };
        for (contender, taken) in OF_TOPICS.into_iter().zip(&self.taken) {
            let by_second = taken.by_second.iter().copied().map(Cell::from);
            table.push([contender.name().into()].into_iter().chain(by_second).chain([taken.refused.into()]));
        }
        table.note = format!(
            "Writes taken, second by second, of {rate} a second that are offered to partitions which take 1,000 each, and have saved up \
             one second's. A published design's writers try once; Lately's as they always do. It begins with one shard, nobody is \
             refused, and what was delayed is made up for."
        );
        table
    }

    fn collisions(&self, steady: &[Many], burst: &[Many], scale: &WorkloadScale) -> Table {
        let writers = Cell::from(u64::from(scale.writers)).to_string();
        let [of_steady, of_burst] = [Workload::Steady, Workload::Burst].map(|workload| workload.len(scale));
        let column = |events: u64, what: &str| format!("lost of {what}'s {}", Cell::from(events));
        let columns = [
            "design",
            "its tick",
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
        table.note = "Lost: replaced by another event of the same key, and nobody was told. In the workloads, times are random \
                      nanoseconds; a clock that ticks in microseconds or milliseconds loses more."
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
        "The same of {} users who write as much each. Lately's is the event and its entry in the user's timeline, which fan-out writes \
         behind it; for that it reads {behind} units, if the event comes alone. Designs without timelines of users write to their topic.",
        scale.users,
    );
    table
}

fn of_price(name: String, price: Price, share: hottest::Share) -> [Cell; 5] {
    let per_cent = format!("{} %", tenths(share.tenths_of_per_cent()));
    [name.into(), units(price.write_units), price.calls.into(), per_cent.into(), share.throttles_at().into()]
}
