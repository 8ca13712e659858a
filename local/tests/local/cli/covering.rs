//! The commands for what is not a timeline: single events, records, sessions, consumers, sources; and relative times.

use lately_kit::clock;
use serde_json::{Value, json};

use crate::cli::{cells, run};
use crate::program::{Program, http, until, words};

#[test]
fn an_event_is_shown_and_deleted() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    let posted = run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--json"]).json();
    let id = posted["id"].as_str().unwrap();
    assert_eq!(run(api, &["event", "get", "posts", id, "--json"]).json()["actor"], "ada");
    let shown = run(api, &["event", "get", "posts", id]).fine();
    assert_eq!(cells(&shown)[1][..1], [id]);
    run(api, &["event", "delete", "posts", id, "--token", "bob"]).failed(3, &["403", "forbidden"]);
    for _ in 0..2 {
        run(api, &["event", "delete", "posts", id, "--token", "dev"]).fine();
    }
    run(api, &["event", "get", "posts", id]).failed(4, &["event-not-found"]);
    run(api, &["event", "get", "posts", "42"]).failed(2, &["UUID"]);
}

#[test]
fn profiles_and_settings_change_without_lost_updates() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    for (kind, name, token) in [("profile", "ada", "ada"), ("settings", "web", "dev")] {
        let record = |more: &[&str]| run(api, &[&[kind], more, &["--token", token]].concat());
        record(&["show", name]).failed(4, &["404", "not-found"]);
        let made = record(&["set", name, r#"{"a":1}"#]);
        let revision = made.err.strip_prefix("revision ").unwrap().trim_end().to_owned();
        assert_eq!(made.fine(), "{\"a\":1}\n");
        let changed = record(&["set", name, r#"{"a":2}"#]);
        assert!(changed.code == 0 && changed.err != format!("revision {revision}\n"), "{changed:?}");
        record(&["set", name, r#"{"a":3}"#, "--revision", &revision])
            .failed(5, &["412", "revision-mismatch"]);
        assert_eq!(record(&["show", name, "--json"]).json(), json!({"a": 2}));
        record(&["set", name, "{"]).failed(2, &["must be JSON"]);
        record(&["set", name, "[]"]).failed(3, &["422", "invalid-body"]);
        record(&["delete", name, "--revision", &revision]).failed(5, &["412"]);
        for _ in 0..2 {
            record(&["delete", name]).fine();
        }
        record(&["show", name]).failed(4, &["404"]);
    }
}

#[test]
fn sessions_are_created_listed_and_revoked_by_user() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    let create = "session create --scope read --scope write --user eve --topic posts --ttl 1h";
    let create = words(&format!("{create} --writes-per-minute 600 --reads-per-minute 6000"));
    let made = run(api, &create);
    let id = made.err.strip_prefix("session ").unwrap().split(',').next().unwrap().to_owned();
    let token = made.fine();
    let list = |token: &str| run(api, &["topic", "list", "--token", token.trim()]).code;
    assert_eq!(list(&token), 0);
    let listed = run(api, &["session", "list", "--user", "eve"]).fine();
    assert_eq!(cells(&listed)[0], ["id", "user", "scopes", "topics", "until", "limits"]);
    assert_eq!(cells(&listed)[1][..4], [&*id, "eve", "read write", "posts"]);
    let shown = run(api, &["session", "show", &id]).fine();
    assert!(shown.contains("eve") && !shown.contains(token.trim()), "{shown}");
    assert!(shown.contains("600 writes/min, 6000 reads/min"), "{shown}");
    let own = run(api, &["whoami", "--token", token.trim()]).fine();
    for cell in ["eve", "read write", "posts", cells(&listed)[1][4], cells(&listed)[1][5]] {
        assert!(own.contains(cell), "{cell}: {own}");
    }
    let first = run(api, &["session", "list", "-n", "1"]);
    assert!(first.err.starts_with("more: --cursor "), "{first:?}");
    let second = run(api, &create).fine();
    let revoked = run(api, &["session", "revoke", "--user", "eve"]);
    assert_eq!((revoked.code, &*revoked.err), (0, "revoked 2 sessions of eve\n"));
    assert_eq!((list(&token), list(&second)), (3, 3));
    assert_eq!(run(api, &["session", "revoke", &id]).err, format!("revoked {id}\n"));
    run(api, &["session", "show", &id]).failed(4, &["404"]);
    run(api, &["session", "revoke"]).failed(2, &["required"]);
    run(api, &["session", "list", "--token", "ada"]).failed(3, &["403"]);
    let refused = run(api, &["session", "create", "--scope", "read", "--writes-per-minute", "0"]);
    refused.failed(2, &["must be a whole number from 1 to 100000"]);
}

#[test]
fn the_jwts_of_an_issuer_have_the_limits_of_its_rule() {
    let other = Program::started(&["--no-demo"]);
    let jwt = ["token", "jwt", "--scope", "write", "--user", "eve"];
    let token = run(other.api(), &jwt).fine();
    run(other.api(), &[&jwt[..], &["--writes-per-minute", "2"]].concat())
        .failed(3, &["422", "issuer's rule"]);
    let rule = json!([{
        "issuer": format!("http://{}/local/issuer", other.api()), "audience": "lately",
        "scopes": {"claim": "scope", "map": {"write": ["read", "write"]}}, "writes_per_minute": 2,
    }]);
    let program = Program::started(&["--no-demo", "--issuers", &rule.to_string()]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    let token = token.trim();
    assert!(run(api, &["whoami", "--token", token]).fine().contains("2 writes/min"));
    let authorization = format!("authorization: Bearer {token}");
    let put = || http(api, "PUT", "/users/eve/following/actor:ada", &[&authorization], "").0;
    // The three must be in one minute.
    until("a minute has enough time left", || clock::unix_now().as_secs() % 60 < 50);
    assert_eq!([put(), put(), put()], [201, 200, 429]);
}

#[test]
fn a_jwt_of_the_programs_own_issuer_is_printed_and_accepted() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    let jwt = |arguments: &[&str]| run(api, &[&["token", "jwt", "--scope", "write"], arguments].concat());
    let made = jwt(&["--scope", "read", "--user", "eve", "--topic", "posts", "--ttl", "1h"]);
    let until = made.err.trim().strip_prefix("valid until ").unwrap().to_owned();
    let token = made.fine();
    let own = run(api, &["whoami", "--token", token.trim()]).fine();
    let issuer = format!("http://{api}/local/issuer");
    for cell in ["eve", "read write", "posts", &until, &issuer] {
        assert!(own.contains(cell), "{cell}: {own}");
    }
    run(api, &["topic", "create", "posts"]).fine();
    run(api, &["post", "posts", "--type", "a", "--actor", "eve", "--token", token.trim()]).fine();
    run(api, &["latest", "posts", "--token", token.trim()]).fine();
    run(api, &["topic", "show", "billing", "--token", token.trim()])
        .failed(3, &["403", "limited to other topics"]);
    let json = jwt(&["--user", "eve", "--json"]).json();
    assert!(json["token"].is_string() && json["expires_at"].is_string(), "{json}");
    jwt(&[]).failed(3, &["422", "/user", "is required"]);
    jwt(&["--user", "eve", "--token", "ada"]).failed(3, &["403", "admin"]);
}

#[test]
fn the_programs_issuers_are_checked_at_the_start() {
    let settings = r#"[{"issuer":"http://id.example.org","audience":"lately"}]"#;
    let refused = run("127.0.0.1:1", &["--port", "0", "--dynamodb-port", "0", "--issuers", settings]);
    refused.failed(1, &["issuers: issuer of issuer 1 must be an https address, or http to a private one"]);
}

#[test]
fn a_consumer_is_created_shown_moved_and_deleted() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    run(api, &["consumer", "show", "posts", "printer"])
        .failed(4, &["`lately consumer create posts printer` creates it"]);
    let made =
        run(api, &["consumer", "create", "posts", "printer", "--from", "1h", "--settle-seconds", "0"]).fine();
    assert!(made.contains("settle time        0 s"), "{made}");
    let again = run(api, &["consumer", "create", "posts", "printer"]);
    assert_eq!(again.err, "the consumer exists already; its position does not change\n");
    let before = run(api, &["consumer", "show", "posts", "printer", "--json"]).json();
    for position in
        ["latest", "earliest", "2d", "2026-11-20T00:00:00Z", "019aa0b7-9a40-7000-8000-5f3c9e1d2a77"]
    {
        run(api, &["consumer", "seek", "posts", "printer", position]).fine();
    }
    let after = run(api, &["consumer", "show", "posts", "printer", "--json"]).json();
    assert_ne!(before["position"], after["position"]);
    run(api, &["consumer", "seek", "posts", "printer", "yesterday"]).failed(2, &["such as 30m, 1h or 2d"]);
    assert_eq!(run(api, &["consumer", "runs", "posts", "printer", "--json"]).json()["runs"], json!([]));
    for _ in 0..2 {
        run(api, &["consumer", "delete", "posts", "printer"]).fine();
    }
    let consumed = run(api, &["consume", "posts", "other", "--from", "1h"]);
    assert!(consumed.err.starts_with("created the consumer other of posts, at 2"), "{consumed:?}");
}

#[test]
fn a_source_is_shown_with_its_followers() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["follow", "bob", "actor:ada"]).fine();
    until("the follower is counted", || {
        run(api, &["source", "actor:ada", "--json"]).json()["followers"] == 1
    });
    assert_eq!(
        run(api, &["source", "actor:ada"]).fine(),
        "source     actor:ada\nfollowers  1\nmode       push\n"
    );
}

#[test]
fn times_are_given_as_the_time_since_then() {
    let program = Program::started(&["--no-demo"]);
    let api = program.api();
    run(api, &["topic", "create", "posts"]).fine();
    let post = |at: &str| run(api, &["post", "posts", "--type", "a", "--actor", "ada", "--at", at]).fine();
    for at in ["3d", "2h", "5m"] {
        post(at);
    }
    let count = |arguments: &[&str]| {
        let page: Value = run(api, &[&["latest", "posts", "--json"], arguments].concat()).json();
        page["events"].as_array().unwrap().len()
    };
    assert_eq!(["10m", "3h", "4d"].map(|from| count(&["--from", from])), [1, 2, 3]);
    assert_eq!(count(&["--from", "4d", "--to", "1h"]), 2);
    run(api, &["latest", "posts", "--from", "1y"]).failed(2, &["such as 30m, 1h or 2d"]);
    // A cursor belongs to a query, so the next page is asked with the same times.
    let first = run(api, &["latest", "posts", "--from", "4d", "-n", "1"]);
    let more = first.err.strip_prefix("more: ").unwrap().trim_end().to_owned();
    assert!(more.contains(" --from 2"), "{more}");
    let next = [&["latest", "posts", "--json"][..], &more.split(' ').collect::<Vec<_>>()].concat();
    assert_eq!(run(api, &next).json()["events"].as_array().unwrap().len(), 2);
    // Oldest first, the events of the last two seconds are not there yet, and the command says so.
    run(api, &["topic", "create", "new"]).fine();
    run(api, &["post", "new", "--type", "a", "--actor", "ada"]).fine();
    let empty = run(api, &["latest", "new", "--order", "asc"]);
    assert!(
        empty.out.is_empty() && empty.err.contains("oldest first, a page ends two seconds ago"),
        "{empty:?}"
    );
}
