//! The template grants each function exactly the actions that the function performs: every call is granted, and every
//! grant is needed by a call. A transaction counts as each of its actions in all of its partitions (`witness.rs`).
//!
//! A witness records each function's calls. The functions run `lately check`, and then cases that it does not
//! reach: throttled, too large or late writes, pulled sources, and work of a process that died.

mod objects;
mod rare;
mod witness;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::middleware::from_fn_with_state;
use axum::routing::get;
use clap::Parser;
use lately::TEMPLATE;
use lately::Terminal;
use lately::command_line::Lately;
use lately_authorize::{Authorizer, Issuers, Scheme};
use lately_kit::edge;
use lately_kit::route::Routes;
use lately_live::Live;
use lately_pump::{Destination, PumpFaults, PumpHandle};
use lately_report::Output;
use lately_store::{FeedSettings, Store};
use lately_template::Template;
use object_store::path::Path;
use serde_json::json;
use tokio::net::TcpListener;

use crate::actions::objects::{Objects, PREFIX};
use crate::actions::witness::Witness;
use crate::support::Api;

/// A system in which each function has a witness.
struct WitnessedSystem {
    api: Api,
    /// The name of an issuer of JWTs, which has no keys.
    issuer: String,
    /// The settings of a stack that trusts the issuer.
    issuers: String,
    pump: PumpHandle,
    objects: Objects,
    authorize: Witness,
    write_event: Witness,
    query_latest: Witness,
    live: Witness,
    fan_out: Witness,
    follow: Witness,
    records: Witness,
    consume: Witness,
    report: Witness,
}

impl WitnessedSystem {
    async fn new() -> Self {
        let api = Api::empty().await;
        let client = api.system.engine.client();
        let (issuer, issuers) = issuer().await;
        let [authorize, write_event, query_latest, live, fan_out, follow, records, consume, report] =
            [(); 9].map(|()| Witness::default());
        // Low limits: with more than one follower a post needs jobs, with more than two the source is pulled, and a feed of
        // more than two entries is cleaned up in steps.
        let feeds =
            FeedSettings { fan_out_limit: 2, audience: 1, entries_per_query: 2, ..FeedSettings::default() };
        let mut pumped = api.system.clone();
        pumped.store = fan_out.store(&client).with_feeds(feeds);
        let pump = pumped.pump(Destination::memory(), PumpFaults::default(), None).unwrap();
        let handle = pump.handle();
        tokio::spawn(pump.run());
        let routes: Routes = lately_write_event::routes()
            .with_store(&write_event.store(&client))
            .and(lately_query_latest::routes().with_store(&query_latest.store(&client)))
            .and(lately_follow::routes().with_store(&follow.store(&client)))
            .and(lately_records::routes().with_store(&records.store(&client)))
            .and(lately_consume::routes().with_store(&consume.store(&client)))
            .and(lately_live::routes(&live_of(live.store(&client), &issuers)));
        let authorizer = authorizer_of(authorize.store(&client), &issuers);
        let authorizer = from_fn_with_state(authorizer, lately_authorize::authorize);
        let api = api.through(edge::around(routes.into_router().route_layer(authorizer)));
        let objects = Objects::new(&report);
        let pump = handle;
        Self {
            api,
            issuer,
            issuers,
            pump,
            objects,
            authorize,
            write_event,
            query_latest,
            live,
            fan_out,
            follow,
            records,
            consume,
            report,
        }
    }

    /// The output of reports.
    fn output_of(&self, objects: Objects) -> Output {
        Output::new(Arc::new(objects), Path::from(PREFIX))
    }

    fn witnesses(&self) -> [(&'static str, &Witness); 9] {
        [
            ("AuthorizeFunction", &self.authorize),
            ("WriteEventFunction", &self.write_event),
            ("QueryLatestFunction", &self.query_latest),
            ("LiveFunction", &self.live),
            ("FanOutFunction", &self.fan_out),
            ("FollowFunction", &self.follow),
            ("RecordsFunction", &self.records),
            ("ConsumeFunction", &self.consume),
            ("ReportFunction", &self.report),
        ]
    }
}

/// An issuer of JWTs, and the settings of a stack that trusts it.
async fn issuer() -> (String, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // Each answer differs, so each process that fetches it also stores it.
    let answers = Arc::new(AtomicU64::new(0));
    let document =
        async move || json!({"keys": [], "answer": answers.fetch_add(1, Ordering::Relaxed)}).to_string();
    let keys = axum::Router::new().route("/keys", get(document));
    tokio::spawn(async move { axum::serve(listener, keys).await.unwrap() });
    let settings = json!([{"issuer": url, "audience": "lately", "jwks_uri": format!("{url}/keys")}]);
    (url, settings.to_string())
}

/// A process's authorizer, with a cache of keys of its own.
fn authorizer_of(store: Store, issuers: &str) -> Authorizer {
    Authorizer::new(store, Issuers::parse(issuers, Scheme::HttpNearby).unwrap())
}

fn live_of(store: Store, issuers: &str) -> Live {
    let authorizer = authorizer_of(store.clone(), issuers);
    Live::new(store, authorizer)
}

#[tokio::test]
async fn each_function_is_granted_exactly_its_actions() {
    let watched = WitnessedSystem::new().await;
    rare::before_the_first_issue(&watched).await;
    let all = async {
        rare::writes(&watched).await;
        rare::records(&watched).await;
        Box::pin(rare::live(&watched)).await;
        // From here on, work waits ten seconds for its next step, so its waits overlap.
        let of_posts = async {
            Box::pin(rare::erasures(&watched)).await;
            rare::follows_and_feeds(&watched).await;
            rare::overload(&watched).await;
            rare::limits(&watched).await;
        };
        let of_topics = async {
            Box::pin(rare::ends(&watched)).await;
            Box::pin(rare::reports(&watched)).await;
        };
        tokio::join!(of_posts, of_topics);
    };
    tokio::join!(Box::pin(check(&watched)), Box::pin(all));
    given_up(&watched);
    let template = Template::parse(TEMPLATE).unwrap();
    assert_eq!(functions(&template), watched.witnesses().map(|(name, _)| name).into());
    let complaints: Vec<_> =
        watched.witnesses().iter().flat_map(|(function, witness)| witness.complaints(function)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Runs `lately check` over HTTP.
async fn check(watched: &WitnessedSystem) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = watched.api.router();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let arguments = ["lately", "check", &url, "--patience", "60s", "--token", "dev"];
    let command = Lately::parse_from(arguments).command.unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let done = command.run(Terminal::new(&mut out, &mut err)).await;
    done.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8(out).unwrap()));
}

/// Adds the calls that Lambda makes in fan-out's name when it gives up on a record: it checks that the bucket exists,
/// and puts an object. No test can see these calls, but the template's destination asks for them.
fn given_up(watched: &WitnessedSystem) {
    let template = Template::parse(TEMPLATE).unwrap();
    let mapping = &template.resources["FanOutFunction"].properties["Events"]["Stream"]["Properties"];
    let destination = &mapping["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"];
    assert_eq!(*destination, serde_json::json!(["Failures", "Arn"]));
    watched.fan_out.saw("s3:PutObject", "${Failures.Arn}/aws/lambda/*", [String::new()]);
    watched.fan_out.saw("s3:ListBucket", "${Failures.Arn}", [String::new()]);
}

#[test]
fn all_grants_are_statements_without_wildcard_actions() {
    let template = Template::parse(TEMPLATE).unwrap();
    for function in functions(&template) {
        let policies = template.resources[function].properties["Policies"].as_array().unwrap();
        assert!(policies.iter().all(|policy| policy["Statement"].is_array()), "{function}");
        assert!(template.resources[function].properties["Role"].is_null(), "{function}");
        for statement in template.statements(function).unwrap() {
            assert!(statement.sid.is_some(), "{function}: {statement:?}");
            assert!(
                statement.actions.iter().all(|action| !action.contains('*')),
                "{function}: {statement:?}"
            );
            // All objects of a bucket below a prefix.
            let is_one = |resource: &String| !resource.trim_end_matches("/*").contains('*');
            assert!(statement.resources.iter().all(is_one), "{function}: {statement:?}");
        }
    }
}

fn functions(template: &Template) -> BTreeSet<&str> {
    let functions = template.resources.iter().filter(|(_, it)| it.kind == "AWS::Serverless::Function");
    functions.map(|(name, _)| name.as_str()).collect()
}
