//! The operator's documentation is true: every alarm has its section, every metric that an alarm or the dashboard reads
//! is written, every figure equals its constant, every command exists, and every bill is
//! the output of `lately plan`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::Parser;
use lately::TEMPLATE;
use lately::Terminal;
use lately::command_line::Lately;
use lately_authorize::{Authorizer, Issuers};
use lately_keys::{ShardCount, UnixMillis};
use lately_kit::limits as kit;
use lately_kit::metrics::{Measured, Measures, Metric};
use lately_model::limits as model;
use lately_report::{Outcome, limits as report};
use lately_store::limits as store;
use lately_template::Template;
use serde_json::Value;

use crate::drift::payloads;
use crate::support::Api;

const OPERATIONS: &str = include_str!("../../../docs/operations.md");
const LIMITS: &str = include_str!("../../../docs/limits.md");

/// AWS's own metrics that alarms and the dashboard may read, by namespace.
const AWS: [(&str, &[&str]); 4] = [
    (
        "AWS/Lambda",
        &[
            "IteratorAge",
            "OnFailureDestinationDeliveredEventCount",
            "DestinationDeliveryFailures",
            "Errors",
            "Throttles",
            "Duration",
        ],
    ),
    ("AWS/ApiGateway", &["Count", "4xx", "5xx"]),
    (
        "AWS/DynamoDB",
        &[
            "ConsumedReadCapacityUnits",
            "ConsumedWriteCapacityUnits",
            "ReadThrottleEvents",
            "WriteThrottleEvents",
        ],
    ),
    ("AWS/S3", &["NumberOfObjects"]),
];

fn template() -> Template {
    Template::parse(TEMPLATE).unwrap()
}

/// The alarms, by logical id.
fn alarms() -> BTreeMap<String, Value> {
    let resources = template().resources.into_iter();
    resources
        .filter(|(_, resource)| resource.kind == "AWS::CloudWatch::Alarm")
        .map(|(id, resource)| (id, resource.properties))
        .collect()
}

/// The properties of the dashboard's widgets.
fn widgets() -> Vec<Value> {
    let body = template().resources["Dashboard"].properties["DashboardBody"]["Fn::Sub"][0].clone();
    let body: Value = serde_json::from_str(body.as_str().unwrap()).expect("a dashboard is JSON");
    body["widgets"].as_array().unwrap().iter().map(|widget| widget["properties"].clone()).collect()
}

#[test]
fn every_alarm_has_a_section_that_says_what_to_do() {
    let sections: BTreeMap<_, _> = OPERATIONS
        .split("\n### `")
        .skip(1)
        .map(|section| section.split_once('`').expect("its name ends"))
        .map(|(name, text)| (name.to_owned(), text.split("\n## ").next().unwrap().to_owned()))
        .collect();
    let alarms = alarms();
    assert_eq!(sections.keys().collect::<Vec<_>>(), alarms.keys().collect::<Vec<_>>());
    for (name, text) in sections {
        assert!(text.contains("**Look at**") && text.contains("**Do**"), "{name}");
    }
    for (name, alarm) in alarms {
        for actions in ["AlarmActions", "OKActions"] {
            assert_eq!(alarm[actions].as_array().unwrap().len(), 2, "{name} notifies both topics");
        }
        let missing = if name == "ReportOverdueAlarm" { "breaching" } else { "notBreaching" };
        assert_eq!(alarm["TreatMissingData"], missing, "{name}");
    }
}

/// Checks that a metric is written: by Lately in its namespace, or by AWS.
fn must_be_written(namespace: &Value, name: &str) {
    let ours = [Value::from("${MetricsNamespace}"), serde_json::json!({"Ref": "MetricsNamespace"})];
    if ours.contains(namespace) {
        assert!(Metric::ALL.iter().any(|metric| metric.name() == name), "no function writes {name}");
    } else {
        let known = AWS.iter().find(|(known, _)| namespace == known);
        let (_, names) = known.unwrap_or_else(|| panic!("{namespace} is unknown"));
        assert!(names.contains(&name), "{namespace} has no {name}");
    }
}

#[test]
fn every_metric_of_an_alarm_is_written() {
    for (name, alarm) in alarms() {
        let mut looked_at = vec![&alarm];
        let metrics = alarm["Metrics"].as_array().into_iter().flatten();
        let metrics = metrics.map(|metric| metric.pointer("/Fn::If/1").unwrap_or(metric));
        looked_at.extend(metrics.filter_map(|metric| metric.get("MetricStat")).map(|stat| &stat["Metric"]));
        let looked_at: Vec<_> =
            looked_at.into_iter().filter(|metric| metric.get("MetricName").is_some()).collect();
        assert!(!looked_at.is_empty(), "{name}");
        for metric in looked_at {
            must_be_written(&metric["Namespace"], metric["MetricName"].as_str().unwrap());
        }
    }
}

#[test]
fn every_metric_of_the_dashboard_is_written_with_its_dimensions() {
    let functions: BTreeSet<_> = binaries();
    let outcomes = ["ok", "refused", "failed", "partly", "finished", "nothing", "busy", "unfinished"];
    let mut shown = BTreeSet::new();
    for widget in widgets() {
        for metric in widget["metrics"].as_array().unwrap() {
            let parts = metric.as_array().unwrap();
            if let Some(expression) = parts[0].get("expression") {
                // SEARCH('{"namespace",dimensions} MetricName="name"', 'statistic')
                let expression = expression.as_str().unwrap();
                let (dimensions, rest) = expression.split_once("} MetricName=\"").unwrap();
                let dimensions = dimensions.strip_prefix("SEARCH('{\"${MetricsNamespace}\",").unwrap();
                assert!(["Route", "Function", "Function,Outcome"].contains(&dimensions), "{expression}");
                let name = rest.split_once('"').unwrap().0;
                assert!(dimensions == "Function" || name == "Latency", "{expression}");
                must_be_written(&"${MetricsNamespace}".into(), name);
                shown.insert(name.to_owned());
                continue;
            }
            let text: Vec<_> = parts.iter().map_while(Value::as_str).collect();
            let [namespace, name, dimensions @ ..] = &text[..] else { panic!("{metric}") };
            must_be_written(&(*namespace).into(), name);
            shown.insert((*name).to_owned());
            for pair in dimensions.chunks(2) {
                match pair {
                    ["Function", function] => assert!(functions.contains(*function), "{metric}"),
                    ["Outcome", outcome] => assert!(outcomes.contains(outcome), "{metric}"),
                    ["FunctionName", function] => {
                        let id = function.trim_start_matches("${").trim_end_matches('}');
                        assert!(template().resources.contains_key(id), "{metric}");
                    }
                    _ => {}
                }
            }
        }
    }
    let ours: BTreeSet<_> = Metric::ALL.iter().map(|metric| metric.name().to_owned()).collect();
    assert!(shown.is_superset(&ours), "not shown: {:?}", ours.difference(&shown).collect::<Vec<_>>());
    for name in ours {
        assert!(OPERATIONS.contains(&format!("`{name}`")), "{name} is not explained");
    }
}

/// The names of the functions' binaries, which are also the `Function` dimension of their metrics.
fn binaries() -> BTreeSet<String> {
    let lines = TEMPLATE.lines().filter_map(|line| line.trim().strip_prefix("Binary: "));
    lines.map(str::to_owned).collect()
}

#[test]
fn every_function_writes_metrics_under_the_name_of_its_binary() {
    assert_eq!(binaries().len(), 9);
    for function in ["WriteEventFunction", "FanOutFunction", "AuthorizeFunction"] {
        let variables = template().environment(function).unwrap();
        assert_eq!(variables["METRICS_NAMESPACE"], "Lately");
    }
    for name in binaries() {
        let main = std::fs::read_to_string(
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../functions/{name}/src/main.rs")),
        );
        assert!(main.unwrap().contains("(env!(\"CARGO_BIN_NAME\"), "), "{name}");
    }
}

/// A number as documents write it, in groups of three digits.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| std::str::from_utf8(group).unwrap()).collect::<Vec<_>>().join(",")
}

fn count(number: impl TryInto<u128>) -> String {
    grouped(number.try_into().ok().expect("a count"))
}

fn of(number: u128, unit: &str) -> String {
    format!("{} {unit}{}", grouped(number), if number == 1 { "" } else { "s" })
}

fn bytes(number: usize) -> String {
    let number = number as u128;
    match number {
        _ if number.is_multiple_of(1 << 20) => format!("{} MiB", number >> 20),
        _ if number.is_multiple_of(1024) => format!("{} KiB", number >> 10),
        _ if number.is_multiple_of(1_000_000) => format!("{} MB", number / 1_000_000),
        _ if number.is_multiple_of(100_000) => {
            format!("{}.{} MB", number / 1_000_000, number / 100_000 % 10)
        }
        _ => of(number, "byte"),
    }
}

fn seconds(number: u128) -> String {
    if number.is_multiple_of(86_400) { of(number / 86_400, "day") } else { of(number, "second") }
}

fn time(time: Duration) -> String {
    assert_eq!(time.subsec_nanos(), 0);
    seconds(time.as_secs().into())
}

#[test]
fn every_figure_equals_its_constant() {
    use lately_authorize::limits as authorize;
    use lately_items::limits as items;
    use lately_keys::limits as keys;
    use lately_live::limits as live;
    use lately_table::limits as table;
    macro_rules! figures {
        ($($module:ident::$name:ident = $figure:expr),* $(,)?) => {
            [$((stringify!($module), stringify!($name), { use $module::$name as it; $figure(it) })),*]
        };
    }
    // The page gives the sizes of names in bytes, never in KiB.
    let text = |bytes: usize| of(bytes as u128, "byte");
    let millis = |millis: u64| time(Duration::from_millis(millis));
    let figures = figures![
        keys::NAME_BYTES = text,
        keys::SUBJECT_BYTES = text,
        keys::REPO_PART_BYTES = text,
        keys::EVENT_TYPE_BYTES = text,
        keys::IDEMPOTENCY_KEY_BYTES = text,
        keys::CURSOR_TEXT_BYTES = text,
        keys::SHARDS = count,
        keys::ISSUE_NUMBER = count,
        model::EVENT_BYTES = bytes,
        model::BATCH_EVENTS = |n: usize| count(n as u128),
        model::BODY_BYTES = bytes,
        model::DATA_DEPTH = |n: usize| count(n as u128),
        model::FUTURE_SECONDS = |n: u64| seconds(n.into()),
        model::IMPORT_SECONDS = |n: u64| seconds(n.into()),
        model::PAGE_SIZE = count,
        model::POLL_EVENTS = count,
        model::WAIT_SECONDS = |n: u8| seconds(n.into()),
        model::BACKFILL = count,
        model::RETENTION_DAYS = |n: u16| of(n.into(), "day"),
        model::MAX_SHARDS_DEFAULT = count,
        model::SETTLE_SECONDS = |n: u16| seconds(n.into()),
        model::SESSION_SECONDS = |n: u32| seconds(n.into()),
        model::SESSION_TOPICS = |n: usize| count(n as u128),
        model::REQUESTS_PER_MINUTE = count,
        store::QUOTA_TIMEOUT = time,
        store::QUOTAS_REMEMBERED = |n: usize| count(n as u128),
        authorize::LOOKUP_TIME = time,
        authorize::JWT_BYTES = bytes,
        kit::TOKEN_LEEWAY = time,
        kit::READ_UNITS = count,
        authorize::ISSUERS = |n: usize| count(n as u128),
        authorize::DOCUMENT_BYTES = bytes,
        authorize::FETCH_TIMEOUT = time,
        authorize::KEYS_FRESH = time,
        authorize::KEYS_STALE = time,
        authorize::FETCH_PAUSE = time,
        model::ISSUE_TITLE_CHARACTERS = |n: usize| of(n as u128, "character"),
        model::ISSUE_BODY_BYTES = bytes,
        model::ISSUE_LABELS = |n: usize| count(n as u128),
        store::PAGE_BYTES = bytes,
        store::QUERIES_AT_ONCE = |n: usize| count(n as u128),
        store::QUERIES_PER_PAGE = count,
        table::UNITS_PER_REQUEST = count,
        table::ANSWER_RESERVE = time,
        store::FILTERED_ITEMS_PER_PAGE = count,
        store::SEARCH_UNITS = count,
        store::ASCENDING_LAG_MILLIS = millis,
        store::DIRECTORY_AGE = time,
        store::TOPIC_AGE = time,
        items::IDEMPOTENCY_SECONDS = |n: u64| seconds(n.into()),
        items::DELETION_SECONDS = |n: u64| seconds(n.into()),
        store::OWN_ENTRY_SECONDS = |n: u64| seconds(n.into()),
        store::WAITED_FOR_SECONDS = |n: u64| seconds(n.into()),
        store::LONGEST_VISIBILITY_WAIT = time,
        store::WAITED_READ = time,
        store::WRITE_MILLIS = millis,
        table::ATTEMPTS = count,
        kit::OPERATION_BUDGET = time,
        kit::CALL_TIMEOUT = time,
        store::FAN_OUT_LIMIT = count,
        store::PULL_SOURCES = |n: usize| count(n as u128),
        store::AUDIENCE = count,
        table::BUSY_ATTEMPTS = count,
        store::BUSY_FOR = time,
        store::FOLLOWER_TOLD_KEPT = |n: usize| count(n as u128),
        store::SHARDS_AT_WILL = |n: ShardCount| count(n.get()),
        store::HOT_SHARD_UNITS = count,
        store::SOURCE_SHARDS = |n: ShardCount| count(n.get()),
        store::BACKLOG_EVENTS_PER_STEP = |n: usize| count(n as u128),
        store::ENTRIES_PER_QUERY = count,
        store::QUERIES_PER_STEP = count,
        items::ENTRY_BYTES = bytes,
        live::STREAM_TIME = time,
        store::OPEN_STREAMS = count,
        live::ACCESS_EVERY = time,
        store::SETTLED_EVERY = time,
        store::WINDOW_EVENTS = |n: usize| count(n as u128),
        store::STORED_LATE_MILLIS = millis,
        store::NOTES_EVERY = |time: Duration| of(time.as_millis(), "millisecond"),
        store::FAILED_LOOKS = count,
        store::CONSUMERS = |n: usize| count(n as u128),
        items::JOB_SECONDS = |n: u64| seconds(n.into()),
        store::LATE_ITEMS_PER_RUN = count,
        store::LATE_LOG_SECONDS = |n: u64| seconds(n.into()),
        store::CLOCK_SKEW_MILLIS = millis,
        store::ENDING_EVENTS_PER_STEP = |n: usize| count(n as u128),
        store::ENDING_EVENTS_PER_PARTITION = |n: usize| count(n as u128),
        store::ENDING_PARTITIONS = |n: usize| count(n as u128),
        store::ENDING_SETTLE_MILLIS = millis,
        store::DELETION_SETTLE_SECONDS = |n: u64| seconds(n.into()),
        store::DELETION_SHOWN_SECONDS = |n: u64| seconds(n.into()),
        items::ENDING_MARK_SECONDS = |n: u64| seconds(n.into()),
        store::ERASED_EVENTS_PER_STEP = count,
        store::ERASED_IDS_SECONDS = |n: u64| seconds(n.into()),
        report::GROUPS = |n: usize| count(n as u128),
        report::NUMBER_DIGITS = |n: usize| count(n as u128),
    ];
    let expected: BTreeSet<_> = figures
        .into_iter()
        .map(|(module, name, figure)| {
            let folder =
                if ["authorize", "live", "report"].contains(&module) { "functions" } else { "shared" };
            format!("{figure} | [`{name}`](../{folder}/{module}/src/limits.rs) |")
        })
        .collect();
    let rows = LIMITS.lines().filter(|line| line.contains("limits.rs) |"));
    let written: BTreeSet<_> =
        rows.map(|row| row.splitn(3, " | ").skip(1).collect::<Vec<_>>().join(" | ")).collect();
    assert_eq!(written, expected);
}

#[test]
fn every_command_parses() {
    let lines = OPERATIONS.lines().filter(|line| line.starts_with("lately "));
    let mut count = 0;
    for line in lines {
        let line = line.split("  #").next().unwrap().replace("\"$(output ", "").replace(")\"", "");
        let line = line.replace("ApiUrl", "https://api").replace("LiveUrl", "https://live");
        // The id of a session or of a run.
        let id =
            |word| if ["ID", "RUN"].contains(&word) { "0190868b-57e7-7000-80c0-0dd011ec70b5" } else { word };
        let words: Vec<_> = line.split_whitespace().map(id).collect();
        Lately::try_parse_from(&words).unwrap_or_else(|error| panic!("{line}: {error}"));
        count += 1;
    }
    assert!(count > 8, "{count}");
    // The stack's outputs that the page uses.
    let asked = OPERATIONS
        .split("output ")
        .skip(1)
        .map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect::<String>());
    let outputs = TEMPLATE.split_once("\nOutputs:\n").unwrap().1;
    for name in
        asked.filter(|name| name.ends_with(['e', 'l', 't', 'n']) && name.starts_with(char::is_uppercase))
    {
        assert!(name == "NAME" || outputs.contains(&format!("  {name}:\n")), "there is no output {name}");
    }
}

#[test]
fn every_named_parameter_is_in_the_template() {
    let parameters = TEMPLATE.split_once("\nParameters:").unwrap().1.split_once("\nConditions:\n").unwrap().0;
    let table = OPERATIONS.split_once("| parameter | decide |").unwrap().1.split_once("\n\n").unwrap().0;
    let cells = table.lines().skip(2).map(|row| row.split('|').nth(1).unwrap());
    let names: Vec<_> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(names.len() > 8, "{names:?}");
    let given =
        ["AuthorizerCacheSeconds", "ReportConsumer", "WarmReadUnits", "WarmWriteUnits", "FanOutLimit"];
    for name in names.into_iter().chain(given) {
        assert!(parameters.contains(&format!("\n  {name}:\n")), "there is no parameter {name}");
        assert!(OPERATIONS.contains(name));
    }
}

/// The table of the page about limits that says which bound holds how many executions, and the four lines that check the
/// template's numbers on AWS.
#[test]
fn the_bounds_of_executions_follow_from_the_template() {
    const LOOKUP_MILLIS: u64 = 20;
    const REQUEST_MILLIS: u64 = 50;
    let template = template();
    let default =
        TEMPLATE.split_once("\n  RequestsPerSecond:\n").unwrap().1.split_once("Default: ").unwrap().1;
    let default: u64 = default.lines().next().unwrap().parse().unwrap();
    let own = template.resources["Api"].properties["RouteSettings"].as_object().unwrap();
    // Without ReadConcurrency, the routes with wait_for have a lower limit.
    let waiting: Vec<_> = own
        .values()
        .filter_map(|settings| settings.pointer("/ThrottlingRateLimit/Fn::If/2")?.as_u64())
        .collect();
    let limit = |settings: &Value| {
        let limit = &settings["ThrottlingRateLimit"];
        limit.pointer("/Fn::If/2").unwrap_or(limit).as_u64().unwrap()
    };
    let (routes, open) = (template.routes().unwrap().len(), 2);
    let asked = own.values().map(limit).sum::<u64>() + default * (routes - open - own.len()) as u64;
    let asking = (asked * LOOKUP_MILLIS).div_ceil(1_000);
    let row = format!("| {} requests a second: {asking} |", count(asked));
    assert!(LIMITS.contains(&row), "{row}");
    let seconds = store::LONGEST_VISIBILITY_WAIT.as_secs();
    let waits = waiting.iter().sum::<u64>() * seconds;
    let issues = limit(&own["GET /repos/{owner}/{repo}/issues"]) * seconds;
    for (name, executions) in [("actors, subjects and feeds", waits), ("issues", issues)] {
        let row = LIMITS.lines().find(|line| line.starts_with(&format!("| `wait_for` on {name}"))).unwrap();
        assert_eq!(row.split(" | ").nth(2), Some(&*executions.to_string()), "{row}");
    }
    let short = (asked * REQUEST_MILLIS).div_ceil(1_000);
    assert!(LIMITS.contains(&format!("| {short} on all routes |")), "{short}");
    assert!(asking + store::OPEN_STREAMS + waits + issues + short < 1_000 / 2);
    for (command, printed) in [("get-routes", routes), ("get-stages", own.len())] {
        let line =
            OPERATIONS.lines().find(|line| line.starts_with(&format!("aws apigatewayv2 {command}"))).unwrap();
        let comment = line.rsplit_once(" # ").unwrap().1;
        assert_eq!(comment.split(' ').next(), Some(&*printed.to_string()), "{line}");
    }
    assert_eq!(own.len() - waiting.len(), 7, "the page says how many there are with ReadConcurrency");
}

#[tokio::test]
async fn every_bill_is_the_output_of_lately_plan() {
    let blocks: Vec<_> = OPERATIONS.split("<!-- plan -->\n```text\n").skip(1).collect();
    assert!(blocks.len() == 3 && OPERATIONS.matches("lately plan").count() > 3);
    for block in blocks {
        let shown = block.split_once("```\n<!-- /plan -->").expect("it ends").0;
        let (line, bill) = shown.split_once("\n\n").unwrap();
        let command = Lately::parse_from(line.split(' ')).command.unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        command.run(Terminal::new(&mut out, &mut err)).await.unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(bill == out, "put this below `{line}`:\n{out}");
    }
}

/// The outcome and the measures of each function that serves no routes, for its payloads.
#[tokio::test]
async fn an_invocation_is_measured_by_its_outcome() {
    const TIME: Duration = Duration::from_secs(52);
    let api = Api::with_posts().await;
    let (store, payloads) = (&api.system.store, payloads());
    let at = |seconds: u64| UnixMillis::new(seconds * 1_000).unwrap();

    let batch = lately_fan_out::handle(store, payloads["fan-out.json"].as_bytes(), TIME).await.unwrap();
    assert_eq!(batch.outcome(), "ok");
    let lag = |seconds| {
        Measures::default().count(Metric::Records, 3).time(Metric::FanOutLag, Duration::from_secs(seconds))
    };
    assert_eq!(batch.measures(at(1_763_615_702)), lag(2), "of the oldest record");
    assert_eq!(batch.measures(at(1_763_615_000)), lag(0), "clocks differ");
    let poison =
        lately_fan_out::handle(store, payloads["fan-out-poison.json"].as_bytes(), TIME).await.unwrap();
    assert_eq!(poison.outcome(), "partly");
    let failed = Measures::default().count(Metric::Records, 2).count(Metric::RecordsFailed, 1);
    assert_eq!(poison.measures(at(1_763_615_700)), failed.time(Metric::FanOutLag, Duration::ZERO));

    let authorizer = Authorizer::new(store.clone(), Issuers::default());
    for (name, outcome) in [("authorize.json", "ok"), ("authorize-unknown.json", "refused")] {
        let question = serde_json::from_str(&payloads[name]).unwrap();
        let answer = authorizer.answer(question).await.unwrap();
        assert_eq!((answer.outcome(), answer.measures(at(0))), (outcome, Measures::default()));
    }

    let to = "0190868b-57e7-7000-80c0-0dd011ec70b5".parse::<lately_keys::EventId>().unwrap();
    let finished = Outcome::Finished { to, events: 7, late: 2, files: ["a".to_owned(), "b".to_owned()] };
    let up_to_date = Measures::default().count(Metric::ReportsUpToDate, 1);
    let reported = up_to_date.clone().count(Metric::ReportedEvents, 7).count(Metric::ReportedLateEvents, 2);
    for (outcome, name, measures) in [
        (finished, "finished", reported.time(Metric::ReportLag, Duration::from_secs(90))),
        (Outcome::Nothing, "nothing", up_to_date),
        (Outcome::Busy { until: at(0) }, "busy", Measures::default()),
        (Outcome::Unfinished { to }, "unfinished", Measures::default()),
    ] {
        let answer = lately_report::Answer { outcomes: vec![outcome] };
        let now = UnixMillis::new(to.at().get() + 90_000).unwrap();
        assert_eq!((answer.outcome(), answer.measures(now)), (name, measures));
    }
}
