//! `lately plan` beside a load on the engine: the units and the storage of the bill are those that DynamoDB counted. And
//! `lately load` beside its plan: it removes what it created, and refuses bad input.

#![expect(clippy::print_stdout, reason = "the tests show what they compare")]

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use clap::Parser;
use lately::Terminal;
use lately::command_line::Lately;
use lately::plan::bill::{Line, bill};
use lately::plan::prices::Prices;
use lately::plan::workload::Workload;
use lately_kit::limits::OPERATION_BUDGET;
use lately_kit::world::World;
use lately_pump::{Destination, PumpFaults, PumpHandle};
use lately_store::{Cost, Store, Tally};
use lately_table::Connection;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::program::{Process, Program, command, dynamodb, lines_of, until};
use crate::support::{Api, PATIENCE};

const PRICES: &str = include_str!("../../src/plan/prices.json");

/// Lambda polls a shard four times a second.
const POLL: Duration = Duration::from_millis(250);

/// The counts of a load on the engine.
#[derive(Debug, Default)]
struct Measured {
    /// The requests of the load before its posts, and its own deletions, are not part of it.
    is_begun: bool,
    is_done: bool,
    /// All that fan-out consumed.
    fan_out: Cost,
    /// The stored bytes of events and entries, with the index of each item; and the events.
    stored: f64,
    events: f64,
    /// The figures that the command printed at the end.
    figures: Value,
}

/// The table's events, and the bytes of these and of their entries.
async fn stored(api: &Api) -> (f64, f64) {
    let (mut events, mut bytes, mut start) = (0.0, 0.0, None);
    loop {
        let scan = api.system.engine.client().scan().table_name("lately").set_exclusive_start_key(start);
        let page = scan.consistent_read(true).send().await.unwrap();
        for item in page.items() {
            let [pk, sk] = ["pk", "sk"].map(|name| item[name].as_s().unwrap());
            let is_entry = ["EVENTS#", "SOURCE#", "FEED#"].iter().any(|family| pk.starts_with(family));
            if !is_entry || sk.starts_with('#') {
                continue;
            }
            events += f64::from(u8::from(pk.starts_with("EVENTS#")));
            bytes += 100.0;
            for (name, value) in item {
                let size = value
                    .as_s()
                    .map(String::len)
                    .or_else(|_| value.as_n().map(|digits| digits.len() / 2 + 1));
                bytes += (name.len() + size.unwrap_or(1)) as f64;
            }
        }
        start = page.last_evaluated_key().cloned();
        if start.is_none() {
            return (events, bytes);
        }
    }
}

/// Counts what fan-out does between the moment when the load is set up and the moment when it begins to delete.
fn counted(api: &Api, fan_out: Store, pump: PumpHandle, measured: Arc<Mutex<Measured>>) -> Router {
    let of = api.clone();
    api.router().layer(from_fn(move |request: Request, next: Next| {
        let (api, fan_out, pump, measured) = (of.clone(), fan_out.clone(), pump.clone(), measured.clone());
        // A task of its own also ends if the client does not wait for the response.
        let begin = (fan_out.clone(), pump.clone(), measured.clone());
        let begin = async move {
            let (fan_out, pump, measured) = begin;
            let mut measured = measured.lock().await;
            if !std::mem::replace(&mut measured.is_begun, true) {
                pump.settled().await;
                let Tally { .. } = fan_out.take_tally();
            }
        };
        let end = async move {
            let mut measured = measured.lock().await;
            if !std::mem::replace(&mut measured.is_done, true) {
                pump.settled().await;
                measured.fan_out = fan_out.take_tally().cost;
                (measured.events, measured.stored) = stored(&api).await;
            }
        };
        async move {
            let begins = request.uri().query().is_some_and(|query| query.contains("wait_for"));
            if request.method() == "DELETE" {
                tokio::spawn(end).await.unwrap();
            }
            let response = next.run(request).await;
            if begins {
                tokio::spawn(begin).await.unwrap();
            }
            response
        }
    }))
}

/// Runs `lately load` on an engine of its own.
async fn load(arguments: &str) -> Measured {
    let api = Api::empty().await;
    // Fan-out has a store of its own, so its cost is counted alone.
    let connection = Connection::new(api.system.engine.client(), "lately", World::new(), OPERATION_BUDGET);
    let mut system = api.system.clone();
    system.store = Store::new(connection);
    let faults = PumpFaults { delay: POLL, ..PumpFaults::default() };
    let pump = system.pump(Destination::memory(), faults, None).unwrap();
    let measured = Arc::new(Mutex::new(Measured::default()));
    let router = counted(&api, system.store.clone(), pump.handle(), measured.clone());
    tokio::spawn(pump.run());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(axum::serve(listener, router).into_future());

    let line = format!("lately load {url} --json {arguments}");
    let command = Lately::parse_from(line.split(' ')).command.unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    command.run(Terminal::new(&mut out, &mut err)).await.unwrap();
    serving.abort();
    let out = String::from_utf8(out).unwrap();
    let mut measured = std::mem::take(&mut *measured.lock().await);
    measured.figures = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert!(out.lines().count() > 3 && err.is_empty() && measured.is_done, "{out}");
    measured
}

/// Passes if a figure of a plan is within 3 % of the engine's.
#[track_caller]
fn compare(what: &str, planned: f64, measured: f64) {
    let off = (planned / measured - 1.0) * 100.0;
    println!("{what:<24} plan {planned:>9.3}, engine {measured:>9.3}, {off:>+5.1} %");
    assert!(off.abs() <= 3.0, "{what}: plan {planned}, engine {measured}");
}

/// The time of a load.
const SECONDS: u32 = 5;

/// The loads run one after another: a small machine cannot keep up with three.
static ONE_LOAD: Mutex<()> = Mutex::const_new(());

/// Compares a plan with a load. The events have enough followers that it hardly matters how many of them share an
/// invocation of fan-out, which depends on the speed of the machine.
async fn plan_beside_load(rate: u32, bytes: u32, followers: u32, readers: u32) {
    let arguments = format!(
        "--for {SECONDS}s --rate {rate} --bytes {bytes} --followers {followers} --readers {readers} --actors 10"
    );
    let one_load = ONE_LOAD.lock().await;
    let Measured { fan_out, stored, events, figures, .. } = load(&arguments).await;
    drop(one_load);
    println!("{arguments}\n{figures}");
    let accepted = figures["accepted"].as_f64().unwrap();
    assert_eq!((accepted, figures["refused"].as_object().unwrap().len()), (f64::from(rate * SECONDS), 0));
    let pages = figures["pages"].as_f64().unwrap() / f64::from(SECONDS);
    let workload = Workload {
        events: rate.into(),
        bytes: bytes.into(),
        batch: rate.div_ceil(100).into(),
        followers: followers.into(),
        pages,
        live: 1.0,
        users: 1.0,
        retention: 1.0,
        type_view: false,
    };
    let prices = Prices::parse(PRICES, "us-east-1").unwrap();
    let bill = bill(&workload, &prices);
    let line = |name| bill.iter().find(|line| line.line == name).unwrap();
    let month = 730.0 * 3_600.0;
    let units = |line: &Line, a_second: f64| line.parts[0].amount / month / a_second;
    let number = |name: &str| figures[name].as_f64().unwrap();
    compare("write units an event", units(line("writes"), rate.into()), number("write_units_an_event"));
    compare("read units a page", units(line("reads"), pages), number("read_units_a_page"));
    let [write, read] = [fan_out.write_units, fan_out.read_units].map(|units| units.halves as f64 / 2.0);
    println!("fan-out: {} write units, {} read units an event", write / accepted, read / accepted);
    let dollars = write * 0.625 + read * 0.125;
    compare(
        "fan-out, $ a million",
        line("fan-out").dollars / month / f64::from(rate) * 1e6,
        dollars / accepted,
    );
    compare(
        "stored bytes an event",
        line("storage").parts[0].amount * 1e9 / 86_400.0 / f64::from(rate),
        stored / events,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_small_events_is_within_3_percent_of_the_engine() {
    plan_beside_load(20, 512, 20, 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_large_events_is_within_3_percent_of_the_engine() {
    plan_beside_load(20, 1_500, 30, 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_batches_is_within_3_percent_of_the_engine() {
    plan_beside_load(120, 400, 16, 40).await;
}

#[test]
fn the_console_has_the_listed_prices() {
    let listed: Value = serde_json::from_str(PRICES).unwrap();
    let price = |unit: &str| listed["regions"]["us-east-1"][unit]["dollars"].clone();
    let [read, write] = ["read units", "write units"].map(price);
    let console = include_str!("../../../console/meter.js");
    assert!(console.contains(&format!("PRICES = {{ read: {read}, write: {write} }};")));
}

#[test]
fn a_load_removes_what_it_created_also_when_it_is_interrupted() {
    let program = Program::started(&["--no-demo"]);
    let url = format!("http://{}", program.api());
    let remains = |family: &str| {
        program.lasting_partitions().iter().any(|pk| pk.starts_with(&format!("{family}load-")))
    };
    let (passed, out, err) =
        command(&program, &["load", &url, "--rate", "30", "--for", "2s", "--actors", "3"]);
    assert!(passed && err.is_empty(), "{out}{err}");
    for line in [
        "accepted events   60",
        "refused events    0",
        "delay of fan-out  median ",
        "delay of live     median ",
    ] {
        assert!(out.contains(&format!("\n{line}")), "{line}: {out}");
    }

    let mut load = std::process::Command::new(env!("CARGO_BIN_EXE_lately"));
    load.args(["load", &url, "--rate", "30", "--for", "60m", "--json"]).stdout(std::process::Stdio::piped());
    let mut load = Process(load.spawn().unwrap());
    let lines = lines_of(load.0.stdout.take().unwrap());
    let first: Value = serde_json::from_str(&lines.recv_timeout(PATIENCE).unwrap()).unwrap();
    assert!(first["offered"].as_u64() > Some(0) && first["is_done"] == false && remains("TOPIC#"), "{first}");
    let kill =
        std::process::Command::new("sh").args(["-c", "kill -INT \"$0\"", &load.0.id().to_string()]).status();
    assert!(kill.unwrap().success() && load.0.wait().unwrap().success());
    let last: Value = serde_json::from_str(&lines.iter().last().unwrap()).unwrap();
    assert!(last["is_done"] == true && last["shards"].is_object(), "{last}");
    until("nothing remains", || {
        !["EVENTS#", "FEED#", "SOURCE#actor:", "USER#"].iter().any(|family| remains(family))
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_gets_one_sentence_and_the_exit_code_2() {
    let program = Program::started(&["--no-demo"]);
    let [api, dynamodb] = [program.api(), dynamodb(&program)].map(|address| format!("http://{address}"));
    let rate = "--rate 10 --for 1s";
    for (line, why) in [
        (format!("{api} {rate} --token nobody"), "rejects the request; check the token (403 invalid-token: "),
        (
            format!("{api} {rate} --token ada"),
            "the token has the scopes read write; the load needs the scope admin",
        ),
        (format!("{dynamodb} {rate}"), "is not Lately's API ("),
        (format!("http://127.0.0.1:1 {rate}"), "no response from http://127.0.0.1:1/ ("),
        (
            format!("{api} --rate 50000 --for 1s --bytes 9000"),
            "50000 events a second of 9000 bytes are too many: ",
        ),
        (format!("{api} {rate} --followers 101"), "--actors times --followers must be at most 10000"),
        (format!("https://api.invalid {rate}"), "add --confirm api.invalid to send the load"),
        (
            format!("https://api.invalid {rate} --confirm other.invalid"),
            "the URL names api.invalid: nothing is sent",
        ),
    ] {
        let line = format!("lately load {line}");
        let command = Lately::parse_from(line.split(' ')).command.unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let failure = command.run(Terminal::new(&mut out, &mut err)).await.unwrap_err();
        assert!(failure.code() == 2 && failure.to_string().contains(why), "{line}: {failure}");
        assert!(out.is_empty() && !failure.to_string().contains('\n'), "{failure}");
        let price =
            "10 events in 1 s cost about 0.00 dollars, deletion included (list prices of us-east-1)\n";
        assert_eq!(
            String::from_utf8(err).unwrap(),
            if line.contains("invalid ") { price } else { "" },
            "{line}"
        );
    }
    for (line, why) in [
        ("--region mars-1", "there are no prices of mars-1; there are prices of us-east-1"),
        ("--prices Cargo.toml", "Cargo.toml: the prices are invalid: expected value at line 1 column 2"),
        ("--file Cargo.toml", "Cargo.toml is no workload: expected value at line 1 column 2"),
        ("--file nowhere.json", "nowhere.json: No such file or directory"),
    ] {
        let line = format!("lately plan {line}");
        let command = Lately::parse_from(line.split(' ')).command.unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let failure = command.run(Terminal::new(&mut out, &mut err)).await.unwrap_err();
        assert!(failure.code() == 2 && failure.to_string().starts_with(why) && out.is_empty(), "{failure}");
    }
    for line in
        ["load --rate 0 --for 1s", "load --rate 10 --for 2h", "plan --events 0/s", "plan --retention 0d"]
    {
        let error = Lately::try_parse_from(format!("lately {line}").split(' ')).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}
