//! Facts that stand in several files are the same everywhere: in the template, the code, the OpenAPI document, the
//! payloads in `events/`, and the names of the key attributes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lately::{System, TEMPLATE};
use lately_authorize::limits::LOOKUP_TIME;
use lately_authorize::{Authorizer, Issuers};
use lately_engine::{KeyNames, Projection, StreamView};
use lately_keys::Place;
use lately_kit::access::Rule;
use lately_kit::code::Code;
use lately_kit::limits::READ_TIMEOUT;
use lately_kit::route::Routes;
use lately_live::Live;
use lately_pump::Mapping;
use lately_template::Template;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::support::{Api, OPENAPI, resolved};

/// Methods and paths of routes, sorted.
type RouteSet = BTreeSet<(String, String)>;

fn listed(routes: &Routes) -> RouteSet {
    routes.declared().map(|(method, path, _)| (method.to_string(), path.to_owned())).collect()
}

/// The payloads of `events/`, by file name.
pub(crate) fn payloads() -> BTreeMap<String, String> {
    let files = fs::read_dir(events()).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
        })
        .filter(|(name, _)| name != EXPECTED)
        .collect()
}

/// The file with the expected answers to the payloads.
const EXPECTED: &str = "expected.json";

/// The expected answers to the payloads, and the state of the system that they assume.
pub(crate) fn expected() -> Value {
    serde_json::from_str(&fs::read_to_string(events().join(EXPECTED)).unwrap()).unwrap()
}

fn events() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../events")
}

fn live_routes(system: &System) -> RouteSet {
    let authorizer = Authorizer::new(system.store.clone(), Issuers::default());
    listed(&lately_live::routes(&Live::new(system.store.clone(), authorizer)))
}

#[test]
fn the_live_function_streams_through_a_url_that_leaves_the_check_of_tokens_to_it() {
    let template = Template::parse(TEMPLATE).unwrap();
    let live = &template.resources["LiveFunction"].properties;
    let url = &live["FunctionUrlConfig"];
    assert_eq!((&url["AuthType"], &url["InvokeMode"]), (&json!("NONE"), &json!("RESPONSE_STREAM")));
    let api = &template.resources["Api"].properties["CorsConfiguration"];
    assert_eq!(url["Cors"]["AllowOrigins"], api["AllowOrigins"]);
    // The authorizer's code needs the issuers, and a stream ends before the function's time is over.
    let variables = |function: &str| template.environment(function).unwrap();
    assert!(variables("LiveFunction").contains_key("ISSUERS"));
    let longest = lately_live::limits::STREAM_TIME;
    assert!(template.timeout("LiveFunction").unwrap() >= longest + Duration::from_secs(60));
    assert_eq!(variables("LiveFunction")["LIVE_SECONDS"], "90");
}

#[test]
fn a_page_that_waits_fits_into_its_functions_time() {
    let template = Template::parse(TEMPLATE).unwrap();
    let waits = Duration::from_secs(lately_model::limits::WAIT_SECONDS.into());
    let time = template.timeout("QueryLatestFunction").unwrap();
    assert!(waits + lately_store::limits::WAITING_LOOK_TIME < time);
    // The gateway waits this long for a response.
    assert!(time < Duration::from_secs(30));
}

#[test]
fn the_look_up_of_a_token_fits_into_the_authorizers_time() {
    let time = Template::parse(TEMPLATE).unwrap().timeout("AuthorizeFunction").unwrap();
    // A call that begins at the end of the look-up waits for its answer. The gateway waits 10 s.
    assert!(LOOKUP_TIME + READ_TIMEOUT <= time && time <= Duration::from_secs(10));
}

/// A rule checks the part of the path that says whose the data is.
#[tokio::test]
async fn the_rules_of_routes_fit_their_paths() {
    for (method, path, rule) in Api::empty().await.system.routes().declared() {
        let checked = [
            (matches!(rule, Rule::OnTopic(_)), path.starts_with("/topics/{topic}")),
            (matches!(rule, Rule::OnIssues(_)), path.starts_with("/repos/{owner}/{repo}/issues")),
            (matches!(rule, Rule::AsUser(_)), path.contains("{user}")),
        ];
        assert!(checked.iter().all(|(is_checked, must_be)| is_checked == must_be), "{method} {path}");
    }
}

/// A function's only mapping of the stream.
fn mapping(function: &str) -> Mapping {
    let mappings = Template::parse(TEMPLATE).unwrap().mappings().unwrap();
    let functions: Vec<_> = mappings.iter().map(|mapping| &*mapping.function).collect();
    assert_eq!(functions, ["FanOutFunction", "ReportFunction"]);
    mappings.into_iter().find(|mapping| mapping.function == function).unwrap()
}

#[test]
fn only_an_unfinished_run_invokes_the_report_function() {
    let mapping = mapping("ReportFunction");
    // A batch is one run. If it fails, the schedule tries the run again.
    assert_eq!((mapping.batch_size, mapping.report_failures, mapping.on_failure), (1, false, false));
    let given = |name: &str, sk: &str, image: Value| {
        let keys = json!({"pk": {"S": "CONSUMER#billing#report"}, "sk": {"S": sk}});
        let record = json!({"eventName": name, "dynamodb": {"Keys": keys, "NewImage": image}});
        mapping.filter.matches(&record)
    };
    let run = "RUN#019aa0b7-9a40-7fff-bfff-ffffffffffff";
    let unfinished = || json!({"progress": {"S": "a/b"}, "lease": {"N": "0"}});
    assert!(given("MODIFY", run, unfinished()));
    assert!(!given("MODIFY", "CHECKPOINT", unfinished()));
    assert!(!given("INSERT", run, unfinished()));
    assert!(!given("REMOVE", run, Value::Null));
    // Another invocation is continuing the run, or the run is finished.
    assert!(!given("MODIFY", run, json!({"progress": {"S": "a/b"}, "lease": {"N": "1795167000000"}})));
    assert!(!given("MODIFY", run, json!({"lease": {"N": "0"}})));
}

#[tokio::test]
async fn the_schedules_input_equals_the_payload() {
    let template = Template::parse(TEMPLATE).unwrap();
    let schedules = template.clone().schedules().unwrap();
    let [schedule] = &schedules[..] else { panic!("{schedules:?}") };
    assert_eq!((&*schedule.function, &*schedule.expression), ("ReportFunction", "rate(15 minutes)"));
    let payload: Value = serde_json::from_str(&payloads()["report-schedule.json"]).unwrap();
    let given = [("ReportTopic", "posts"), ("ReportSum", "words")];
    let given =
        given.into_iter().fold(template, |template, (name, value)| template.with(name, value).unwrap());
    let input: Value = serde_json::from_str(&given.schedules().unwrap()[0].input).unwrap();
    assert_eq!(input, payload, "the schedule sends the payload");
}

#[test]
fn fan_out_gets_the_records_that_it_handles_and_few_others() {
    let mapping = mapping("FanOutFunction");
    assert!(mapping.report_failures && mapping.bisect && mapping.on_failure);
    let given = |name: &str, pk: &str, sk: &str| {
        let keys = serde_json::json!({"pk": {"S": pk}, "sk": {"S": sk}});
        let record = serde_json::json!({"eventName": name, "dynamodb": {"Keys": keys}});
        mapping.filter.matches(&record)
    };
    for (pk, sk) in [
        ("EVENTS#posts#2026-11-20#SHARD0", "fe65604e"),
        ("FOLLOWERS#actor:ada#0", "bob"),
        ("FOLLOWERS#actor:ada#0", "#COUNT"),
        ("SOURCE#actor:ada", "#SOURCE"),
        ("JOB#PUSH#x#actor:ada#0", "00000000"),
        ("JOB#BACKLOG#FEED#bob", "0190868b"),
        ("JOB#DELETION#posts", "STEP"),
        ("JOB#CHANGE#0190868b", "STEP"),
        ("TOPIC#posts", "BUCKET#2026-11-20"),
    ] {
        assert!(given("INSERT", pk, sk), "{pk}");
    }
    assert!(given("MODIFY", "JOB#BACKLOG#FEED#bob", "0190868b"), "the next step of a backlog");
    assert!(given("MODIFY", "JOB#DELETION#posts", "STEP"), "the next step of a deletion");
    assert!(!given("MODIFY", "TOPIC#posts", "BUCKET#2026-11-20"));
    assert!(given("REMOVE", "EVENTS#posts#2026-11-20#SHARD0", "fe65604e"));
    assert!(given("REMOVE", "FOLLOWERS#actor:ada#0", "bob"));
    assert!(!given("REMOVE", "JOB#PUSH#x#actor:ada#0", "00000000"));
    for (pk, sk) in [
        ("SOURCE#actor:ada", "fe65604e"),
        ("FEED#bob", "fe65604e"),
        ("TOPIC#posts", "CONFIG"),
        ("SESSION#00", "SESSION#00"),
        ("USER#bob", "FOLLOWS#actor:ada"),
        ("IDEMPOTENCY#user:ada#posts#1", "IDEMPOTENCY#user:ada#posts#1"),
    ] {
        assert!(!given("INSERT", pk, sk), "{pk}");
    }
}

#[test]
fn the_document_has_all_codes_each_under_its_status() {
    let known: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(OPENAPI["components"]["schemas"]["Code"]["enum"], serde_json::json!(known));
    // These belong to no route: the path or the method is unknown, or the request comes from a page of another origin.
    let mut answered = BTreeSet::from(["route-not-found", "method-not-allowed", "origin-refused"]);
    for operation in operations() {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let content = &resolved(response)["content"]["application/problem+json"];
            let Some(schema) = content.get("schema") else { continue };
            for code in schema["allOf"][1]["properties"]["code"]["enum"].as_array().unwrap() {
                let code = code_of(code);
                assert_eq!(code.status().as_str(), status, "{code:?}");
                answered.insert(code.as_str());
            }
            for example in content["examples"].as_object().into_iter().flat_map(|examples| examples.values())
            {
                let (problem, code) = (&example["value"], code_of(&example["value"]["code"]));
                assert_eq!(problem["status"], code.status().as_u16());
                assert_eq!(problem["title"], code.title());
                assert_eq!(problem["type"], format!("urn:lately:problem:{}", code.as_str()));
            }
        }
    }
    assert_eq!(answered, known.into_iter().collect());
}

fn code_of(text: &Value) -> Code {
    *Code::ALL.iter().find(|code| text == code.as_str()).unwrap_or_else(|| panic!("{text} is not a code"))
}

/// Every operation of the document.
fn operations() -> impl Iterator<Item = &'static Value> {
    let items = OPENAPI["paths"].as_object().unwrap().values();
    items.flat_map(|item| item.as_object().unwrap().values()).filter(|operation| operation.is_object())
}

#[test]
fn all_routes_but_health_and_the_document_need_a_token() {
    let open: Vec<_> = operations()
        .filter(|operation| operation["security"] == serde_json::json!([]))
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    assert_eq!(open, ["getHealth", "getOpenApi"]);
    assert_eq!(OPENAPI["security"], serde_json::json!([{"token": []}]));
}

#[tokio::test]
async fn every_route_has_a_payload_and_every_payload_a_route() {
    let system = Api::empty().await.system;
    let (routes, live) = (listed(&system.routes()), live_routes(&system));
    let mut covered = RouteSet::new();
    for (name, text) in payloads() {
        let payload: Value = serde_json::from_str(&text).unwrap();
        // A payload of the stream or of the schedule.
        if payload.get("routeKey").is_none() {
            continue;
        }
        let key = payload["routeKey"].as_str().unwrap();
        // A function URL has no routes, and sends the path as the client sent it.
        if key == "$default" {
            let sent = payload["rawPath"].as_str().unwrap();
            let path = percent_decode_str(sent).decode_utf8().unwrap();
            assert_eq!(payload["requestContext"]["http"]["path"], *path, "{name}");
            let serving = live.iter().filter(|(_, route)| has_form(&path, route));
            covered.extend(serving.cloned());
            continue;
        }
        let (method, path) = key.split_once(' ').unwrap();
        assert!(routes.contains(&(method.to_owned(), path.to_owned())), "{name}: {key} is not a route");
        covered.insert((method.to_owned(), path.to_owned()));

        let http = &payload["requestContext"]["http"];
        assert_eq!(
            (&payload["requestContext"]["routeKey"], &http["method"]),
            (&key.into(), &method.into()),
            "{name}"
        );
        assert_eq!(http["path"], payload["rawPath"], "{name}");
        let sent: Vec<_> = payload["rawPath"].as_str().unwrap().split('/').collect();
        let template: Vec<_> = path.split('/').collect();
        assert_eq!(sent.len(), template.len(), "{name}");
        let mut parameters = serde_json::Map::new();
        for (template, sent) in template.into_iter().zip(sent) {
            match template.strip_prefix('{').and_then(|template| template.strip_suffix('}')) {
                Some(parameter) => drop(parameters.insert(parameter.to_owned(), sent.into())),
                None => assert_eq!(template, sent, "{name}"),
            }
        }
        assert_eq!(
            payload.get("pathParameters").cloned().unwrap_or_default(),
            match parameters.is_empty() {
                true => Value::Null,
                false => parameters.into(),
            },
            "{name}"
        );
    }
    assert_eq!(covered, routes, "each route has a payload");
}

/// True if a path has the parts of a route.
fn has_form(path: &str, route: &str) -> bool {
    let parts: Vec<_> = path.split('/').collect();
    let names: Vec<_> = route.split('/').collect();
    parts.len() == names.len()
        && parts.iter().zip(names).all(|(part, name)| name.starts_with('{') || *part == name)
}

#[test]
fn the_tables_key_attributes_are_those_that_keys_use() {
    let table = Template::parse(TEMPLATE).unwrap().table().unwrap();
    let names = |place: Place| {
        let [pk, sk] = place.attributes();
        KeyNames { partition: pk.to_owned(), sort: Some(sk.to_owned()) }
    };
    assert_eq!(table.key, names(Place::Table));
    let indexes: BTreeMap<_, _> =
        table.indexes.iter().map(|index| (index.name.as_str(), &index.key)).collect();
    let indexed = [Place::Gsi1, Place::Gsi2].map(|place| (place.index().unwrap(), names(place)));
    assert_eq!(indexes, indexed.iter().map(|(name, key)| (*name, key)).collect());
    assert!(table.indexes.iter().all(|index| index.projection == Projection::All));

    let declared: BTreeSet<_> =
        table.attributes.iter().map(|it| (it.name.as_str(), it.kind.as_str())).collect();
    let keys = [Place::Table, Place::Gsi1, Place::Gsi2].into_iter();
    assert_eq!(declared, keys.flat_map(Place::attributes).map(|name| (name, "S")).collect());
    assert_eq!(table.ttl_attribute.as_deref(), Some("expires_at"));
    assert_eq!(table.stream, Some(StreamView::NewAndOldImages));
}

#[test]
fn a_library_has_tests_if_they_run_and_none_otherwise() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let functions = fs::read_dir(root.join("functions")).unwrap().map(|entry| entry.unwrap().path());
    for path in functions.chain([root.join("local")]) {
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let library = manifest.split("\n[").find(|table| table.starts_with("lib]")).unwrap_or_default();
        let found = grep(&path.join("src"), &["#[test]", "#[tokio::test", "proptest!"]);
        assert_ne!(found, library.contains("\ntest = false"), "{}", path.display());
        let found = grep(&path.join("src"), &["//! ```", "/// ```"]);
        assert_ne!(found, library.contains("\ndoctest = false"), "{}", path.display());
    }
}

/// True if a file below the folder has one of the texts.
fn grep(path: &Path, texts: &[&str]) -> bool {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().any(|entry| grep(&entry.unwrap().path(), texts));
    }
    fs::read_to_string(path).is_ok_and(|file| texts.iter().any(|text| file.contains(text)))
}
