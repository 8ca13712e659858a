//! The access matrix: every route with every kind of caller, against the running program, for sessions and for JWTs of the
//! program's own issuer. Another test checks that the program logs nothing that a client sent.
//!
//! The matrix is made from the list of routes, so it contains a new route at once, and fails until `asking` has a request
//! for that route.

use std::collections::BTreeSet;

use axum::http::Method;
use lately_kit::access::Rule;
use lately_model::Scope;
use serde_json::{Value, json};

use crate::program::{Program, http};
use crate::support::Api;

/// The running program, and ids for the routes' parameters.
struct World {
    program: Program,
    /// The id of an event of ada.
    event: String,
    /// The id of a session that nobody uses.
    session: String,
}

/// A request for a route, and the expected response.
struct Asking {
    target: String,
    body: &'static str,
    /// The status for a caller who is allowed, and the code if the response is a problem.
    right: u16,
    code: Option<&'static str>,
    /// True if the request is for something that belongs to ada.
    of_ada: bool,
}

impl World {
    fn new(arguments: &[&str]) -> Self {
        let program = Program::started(&[&["--no-demo"], arguments].concat());
        let mut world = Self { program, event: String::new(), session: String::new() };
        for topic in ["posts", "billing"] {
            assert_eq!(world.ask("PUT", &format!("/topics/{topic}"), Some("dev"), "").0, 201);
        }
        let (_, event) = world.ask("POST", "/topics/posts/events", Some("ada"), EVENT);
        event["id"].as_str().unwrap().clone_into(&mut world.event);
        assert_eq!(world.ask("PUT", "/topics/posts/consumers/nightly", Some("dev"), "").0, 201);
        assert_eq!(world.ask("PUT", "/users/ada/following/actor:ada", Some("ada"), "").0, 201);
        assert_eq!(world.ask("PUT", "/users/ada/profile", Some("ada"), "{}").0, 201);
        assert_eq!(world.ask("PUT", "/settings/web", Some("dev"), "{}").0, 201);
        assert_eq!(world.ask("POST", "/repos/octo/hello/issues", Some("ada"), ISSUE).0, 201);
        world.session = world.mint(&json!({"scopes": ["read"], "ttl_seconds": 3600})).0;
        world
    }

    /// The status and the body, which may be empty.
    fn ask(&self, method: &str, target: &str, token: Option<&str>, body: &str) -> (u16, Value) {
        let authorization = token.map(|token| format!("authorization: Bearer {token}"));
        let headers: Vec<_> = authorization.iter().map(String::as_str).collect();
        let (status, body) = http(self.program.api(), method, target, &headers, body);
        (status, if body.is_empty() { Value::Null } else { serde_json::from_str(&body).unwrap() })
    }

    /// Creates a session. The result is its id and its token.
    fn mint(&self, session: &Value) -> (String, String) {
        let (status, made) = self.ask("POST", "/sessions", Some("dev"), &session.to_string());
        assert_eq!(status, 201, "{made}");
        (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
    }

    fn token(&self, session: &Value) -> String {
        self.mint(session).1
    }

    /// A JWT of the program's own issuer, made from the same fields.
    fn jwt(&self, claims: &Value) -> String {
        let (status, made) = self.ask("POST", "/local/issuer/tokens", Some("dev"), &claims.to_string());
        assert_eq!(status, 201, "{made}");
        made["token"].as_str().unwrap().to_owned()
    }

    fn asking(&self, method: &str, path: &str) -> Asking {
        let target =
            path.replace("{topic}", "posts").replace("{source}", "actor:ada").replace("{app}", "web");
        let target = target.replace("{owner}", "octo").replace("{repo}", "hello").replace("{number}", "1");
        let target =
            ["{user}", "{actor}", "{subject}"].iter().fold(target, |path, part| path.replace(part, "ada"));
        let (id, body, right, of_ada) = match (method, path) {
            ("PUT", "/topics/{topic}") => ("", "{}", 200, false),
            (
                "GET",
                "/topics/{topic}" | "/topics" | "/topics/{topic}/events" | "/health" | "/openapi.json",
            ) => ("", "", 200, false),
            // A dry run, and a topic that is not being deleted.
            ("DELETE", "/topics/{topic}") => ("", "", 200, false),
            ("GET", "/topics/{topic}/deletion") => ("", "", 404, false),
            ("POST", "/topics/{topic}/events") => ("", EVENT, 201, true),
            ("GET", "/topics/{topic}/events/{id}") => (&*self.event, "", 200, false),
            ("DELETE", "/topics/{topic}/events/{id}") => (&*self.event, "", 204, true),
            ("GET", "/actors/{actor}/events" | "/subjects/{subject}/events") => ("", "", 200, false),
            ("GET", "/topics/{topic}/live" | "/actors/{actor}/live" | "/subjects/{subject}/live") => {
                ("", "", 200, false)
            }
            ("GET", "/feeds/{user}/live") => ("", "", 200, true),
            ("GET", "/feeds/{user}" | "/feeds/{user}/unread" | "/users/{user}/following") => {
                ("", "", 200, true)
            }
            ("PUT", "/feeds/{user}/seen") => {
                ("", r#"{"id":"019aa0b7-9a40-7000-8000-5f3c9e1d2a77"}"#, 204, true)
            }
            // The follow exists already.
            ("PUT", "/users/{user}/following/{source}") => ("", "", 200, true),
            ("DELETE", "/users/{user}/following/{source}") => ("", "", 204, true),
            ("GET", "/sources/{source}/followers" | "/sources/{source}") => ("", "", 200, false),
            ("GET", "/users/{user}/profile") => ("", "", 200, true),
            ("GET", "/settings/{app}") => ("", "", 200, false),
            // Both records exist, and the request has no revision.
            ("PUT", "/users/{user}/profile") => ("", "{}", 428, true),
            ("DELETE", "/users/{user}/profile") => ("", "", 428, true),
            ("PUT", "/settings/{app}") => ("", "{}", 428, false),
            ("DELETE", "/settings/{app}") => ("", "", 428, false),
            ("POST", "/repos/{owner}/{repo}/issues") => ("", ISSUE, 201, false),
            ("GET", "/repos/{owner}/{repo}/issues" | "/repos/{owner}/{repo}/issues/{number}") => {
                ("", "", 200, false)
            }
            ("PATCH", "/repos/{owner}/{repo}/issues/{number}") => ("", r#"{"status":"closed"}"#, 428, false),
            ("POST", "/sessions") => ("", r#"{"scopes":["read"],"ttl_seconds":60}"#, 201, false),
            ("GET", "/sessions") => ("", "", 200, false),
            ("DELETE", "/sessions") => ("", "", 200, false),
            ("GET", "/sessions/self") => ("", "", 200, false),
            ("GET", "/sessions/{id}") => (&*self.session, "", 200, false),
            ("DELETE", "/sessions/{id}") => (&*self.session, "", 204, false),
            // An erasure of nobody, and one that does not exist.
            ("POST", "/erasures") => ("", r#"{"user":"nobody","confirm":"nobody"}"#, 202, false),
            ("GET", "/erasures") => ("", "", 200, false),
            ("GET", "/erasures/{id}") => ("019aa0b7-9a40-7c3e-8000-5f3c9e1d2a77", "", 404, false),
            // The consumer exists, and has no outstanding batch.
            ("PUT" | "GET", "/topics/{topic}/consumers/{name}")
            | ("GET", "/topics/{topic}/consumers/{name}/runs")
            | ("POST", "/topics/{topic}/consumers/{name}/poll") => ("", "", 200, false),
            ("POST", "/topics/{topic}/consumers/{name}/commit") => ("", r#"{"batch":"1-1"}"#, 409, false),
            ("POST", "/topics/{topic}/consumers/{name}/seek") => ("", r#"{"to":"latest"}"#, 200, false),
            ("DELETE", "/topics/{topic}/consumers/{name}") => ("", "", 204, false),
            _ => panic!("how is {method} {path} asked?"),
        };
        let code = match right {
            404 => Some("not-found"),
            409 => Some("stale-batch"),
            428 => Some("revision-required"),
            _ => None,
        };
        let query = match (method, path) {
            // A user without sessions: the tokens of this test must stay valid.
            ("DELETE", "/sessions") => "?user=nobody",
            ("DELETE", "/topics/{topic}") => "?dry_run=true",
            _ => "",
        };
        let target = target.replace("{id}", id).replace("{name}", "nightly") + query;
        Asking { target, body, right, code, of_ada }
    }
}

const EVENT: &str = r#"{"type":"post.created","actor":"ada"}"#;
const ISSUE: &str = r#"{"title":"It is slow"}"#;

/// Every route with its rule. Deletions come last, since the other requests need what they delete.
fn routes() -> Vec<(Method, &'static str, Rule)> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let routes = runtime.block_on(Api::empty()).system.routes();
    let mut routes: Vec<_> =
        routes.declared().map(|(method, path, rule)| (method.clone(), path, rule)).collect();
    routes.sort_by_key(|(method, ..)| method == Method::DELETE);
    routes
}

fn holds(scope: Scope, needed: Scope) -> bool {
    let as_anyone = scope == Scope::ActAs && matches!(needed, Scope::Read | Scope::Write);
    scope == needed || scope == Scope::Admin || as_anyone
}

#[test]
fn every_route_allows_and_refuses_sessions_as_documented() {
    let world = World::new(&[]);
    let expired = world.token(&json!({"scopes": ["admin"], "ttl_seconds": 1}));
    let (id, revoked) = world.mint(&json!({"scopes": ["admin"], "ttl_seconds": 600}));
    assert_eq!(world.ask("DELETE", &format!("/sessions/{id}"), Some("dev"), "").0, 204);
    let service = world.token(&json!({"scopes": OF_USERS, "ttl_seconds": 600}));
    // The session lives for one second, rounded up to a whole one.
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    check_routes(&world, World::token, &[("expired", &expired), ("revoked", &revoked)], Some(&service));
}

#[test]
fn every_route_allows_and_refuses_jwts_as_documented() {
    let world = World::new(&[]);
    let valid = world.jwt(&json!({"user": "ada", "scopes": ["admin"], "ttl_seconds": 600}));
    let (signed, _) = valid.rsplit_once('.').unwrap();
    let (_, signature) = world
        .jwt(&json!({"user": "bob", "scopes": ["admin"], "ttl_seconds": 600}))
        .rsplit_once('.')
        .map(owned)
        .unwrap();
    let invalid =
        [("of another signature", &*format!("{signed}.{signature}")), ("unsigned", &format!("{signed}."))];
    check_routes(&world, World::jwt, &invalid, None);
}

fn owned((one, other): (&str, &str)) -> (String, String) {
    (one.to_owned(), other.to_owned())
}

/// The scopes of tokens that act as one user.
const OF_USERS: [&str; 4] = ["read", "write", "import", "consume"];

/// Asks for every route with every kind of caller, whose tokens `token` makes, and with tokens that are not valid.
fn check_routes(
    world: &World,
    token: impl Fn(&World, &Value) -> String,
    invalid: &[(&str, &str)],
    service: Option<&str>,
) {
    let of = |user: &str, scopes: &[&str], topics: Option<&str>| {
        let mut session = json!({"user": user, "scopes": scopes, "ttl_seconds": 600});
        topics.into_iter().for_each(|topic| session["topics"] = json!([topic]));
        token(world, &session)
    };
    let by_scope = Scope::ALL.map(|scope| (scope, of("ada", &[scope.as_str()], None)));
    let bobs = of("bob", &OF_USERS, None);
    let [of_posts, of_issues, of_billing] =
        ["posts", "issues", "billing"].map(|topic| of("root", &["admin"], Some(topic)));
    let mut cells = 0;
    for (method, path, rule) in &routes() {
        let Asking { target, body, right, code: right_code, of_ada } = world.asking(method.as_str(), path);
        let mut check = |who: &str, token: Option<&str>, status: u16, code: Option<&str>| {
            let (answered, answer) = world.ask(method.as_str(), &target, token, body);
            let answered_code = answer.get("code").and_then(Value::as_str);
            assert_eq!((answered, answered_code), (status, code), "{method} {path} by {who}: {answer}");
            cells += 1;
        };
        let needed = match rule {
            Rule::Open => {
                let tokens = invalid.iter().map(|(_, token)| Some(*token));
                for token in tokens.chain([None, Some("garbage"), Some("dev")]) {
                    check("anyone", token, right, None);
                }
                continue;
            }
            Rule::Holds(scope)
            | Rule::OnTopic(scope)
            | Rule::AsUser(scope)
            | Rule::OnIssues(scope)
            | Rule::Unlimited(scope) => Some(*scope),
            Rule::Known => None,
        };
        let suffices = |scope: Scope| needed.is_none_or(|needed| holds(scope, needed));
        check("nobody", None, 401, Some("missing-token"));
        check("garbage", Some("garbage"), 403, Some("invalid-token"));
        check(
            "a token that never existed",
            Some("lately_0yJ3cQwq1r7Vn0m5n1o0mXkq4m0c2bJm8m2o3s1dG9A"),
            403,
            Some("invalid-token"),
        );
        for (kind, token) in invalid {
            check(&format!("an invalid token: {kind}"), Some(token), 403, Some("invalid-token"));
        }
        for (scope, token) in by_scope.iter().filter(|(scope, _)| !suffices(*scope)) {
            check(&format!("the scope {scope}"), Some(token), 403, Some("forbidden"));
        }
        match rule {
            Rule::OnTopic(_) => {
                check("an admin of another topic", Some(&of_billing), 403, Some("forbidden"));
            }
            Rule::OnIssues(_) => {
                check("an admin of another topic", Some(&of_posts), 403, Some("forbidden"));
                check("an admin of this topic", Some(&of_issues), right, right_code);
            }
            Rule::Unlimited(_) => {
                check("an admin of some topics", Some(&of_billing), 403, Some("forbidden"));
                check("an admin of some topics", Some(&of_posts), 403, Some("forbidden"));
            }
            _ => {}
        }
        if of_ada {
            check("another user", Some(&bobs), 403, Some("forbidden"));
            if let Some(service) = service {
                check("a service", Some(service), 403, Some("forbidden"));
            }
        }
        if matches!(rule, Rule::OnTopic(_)) {
            check("an admin of this topic", Some(&of_posts), right, right_code);
        }
        for (scope, token) in by_scope.iter().filter(|(scope, _)| suffices(*scope)) {
            check(&format!("the scope {scope}"), Some(token), right, right_code);
        }
    }
    assert!(cells > 100, "{cells}");
}

/// A text that must not appear again.
const CANARY: &str = "canary7f3a";

#[test]
fn no_sent_text_is_logged_or_returned_in_an_error() {
    let world = World::new(&["--log"]);
    let minted = world.token(&json!({"user": "ada", "scopes": ["admin"], "ttl_seconds": 600}));
    let bodies = [
        CANARY.to_owned(),
        format!(
            r#"{{"type":"{CANARY} ","actor":"{CANARY}#","subject":"{CANARY}/","data":"{CANARY}","at":"{CANARY}"}}"#
        ),
        format!(r#"{{"type":"a","actor":"{CANARY}","data":{{"{CANARY}":"{CANARY}"}}}}"#),
        format!(r#"{{"start":"{CANARY}","limit":"{CANARY}","batch":"{CANARY}","to":"{CANARY}"}}"#),
        format!(r#"{{"bucket":"{CANARY}","views":["{CANARY}"],"retention_days":"{CANARY}"}}"#),
        format!(
            r#"{{"user":"{CANARY}#","scopes":["{CANARY}"],"topics":["{CANARY}/"],"ttl_seconds":"{CANARY}"}}"#
        ),
        format!(
            r#"{{"title":"{CANARY}\u0000","body":"{CANARY}\u0000","labels":["{CANARY} "],"status":"{CANARY}","priority":"{CANARY}"}}"#
        ),
        format!(r#"[{{"type":"{CANARY}"}},"{CANARY}",{CANARY}]"#),
    ];
    let mut refusals = 0;
    let mut request_ids = BTreeSet::new();
    let routes = routes();
    for (method, path, _) in &routes {
        let Asking { target, .. } = world.asking(method.as_str(), path);
        let parts = [
            "{topic}",
            "{id}",
            "{user}",
            "{actor}",
            "{subject}",
            "{source}",
            "{app}",
            "{owner}",
            "{repo}",
            "{number}",
            "{name}",
        ];
        let named = parts.iter().fold((*path).to_owned(), |path, part| path.replace(part, CANARY));
        let key = format!("idempotency-key: {CANARY}\u{e9}");
        let tag = format!("if-match: \"{CANARY}\"");
        for (target, authorization, headers) in [
            (&target, format!("Bearer {CANARY}"), &[][..]),
            (&target, format!("Bearer {minted}{CANARY}"), &[]),
            (&target, format!("Basic {CANARY}"), &[]),
            (&target, format!("Bearer {minted}"), &[]),
            (&target, format!("Bearer {minted}"), &[&*key, &*tag]),
            (
                &format!("{target}?limit={CANARY}&cursor={CANARY}&from={CANARY}&{CANARY}=1"),
                format!("Bearer {minted}"),
                &[],
            ),
            (&named, format!("Bearer {minted}"), &[]),
            (&format!("/{CANARY}"), format!("Bearer {minted}"), &[]),
        ] {
            let authorization = format!("authorization: {authorization}");
            for body in bodies.iter().filter(|_| method.as_str() != "GET").chain([&String::new()]) {
                let headers: Vec<_> = [&*authorization].into_iter().chain(headers.iter().copied()).collect();
                let (status, answer) = http(world.program.api(), method.as_str(), target, &headers, body);
                assert!(!answer.contains(&minted), "{method} {target}: {answer}");
                // A response may repeat names of the path and of parameters, and nothing else.
                let echo = target.contains(CANARY);
                assert!(status < 400 || echo || !answer.contains(CANARY), "{method} {target}: {answer}");
                refusals += usize::from(status >= 400);
                let problem = serde_json::from_str::<Value>(&answer).ok();
                let id = problem.as_ref().and_then(|problem| problem["request_id"].as_str());
                assert!(status < 400 || id.is_some(), "{method} {target}: {answer}");
                request_ids.extend(id.map(str::to_owned));
            }
        }
    }
    assert!(refusals > 200, "{refusals}");
    let log = world.program.stopped("-TERM");
    let requests = log.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let requests: Vec<_> = requests.filter(|line| line["message"] == "request").collect();
    assert!(requests.len() >= refusals, "every request is logged");
    for line in &requests {
        let route = &line["route"];
        assert!(
            route.is_null() || routes.iter().any(|(_, path, _)| route == path),
            "{route} is not a route's template"
        );
    }
    let of = |id: &String| requests.iter().filter(|line| line["request_id"] == **id).count();
    assert_eq!(request_ids.len(), refusals, "every request has its own id");
    assert!(request_ids.iter().all(|id| of(id) == 1), "every problem's request is in the log");
    for line in &log {
        assert!(!line.contains(CANARY) && !line.contains(&minted), "{line}");
    }
}
