//! Claims as seven issuers write them, and the rules that make callers of them.
//!
//! Each file of `issuers/` has the settings that `docs/jwts.md` shows, a token's header and claims in the shape that the
//! issuer documents, and the expected caller. The test's own issuer replaces the real one.

use lately_authorize::{Issuers, Scheme};
use lately_keys::Topic;
use lately_kit::caller::Caller;
use serde_json::{Value, json};

use crate::Rig;
use crate::issuer::TestIssuer;
use crate::tokens::Signer;

const RECORDED: [(&str, &str); 7] = [
    ("auth0", include_str!("issuers/auth0.json")),
    ("clerk", include_str!("issuers/clerk.json")),
    ("cognito", include_str!("issuers/cognito.json")),
    ("entra", include_str!("issuers/entra.json")),
    ("github-actions", include_str!("issuers/github-actions.json")),
    ("keycloak", include_str!("issuers/keycloak.json")),
    ("supabase", include_str!("issuers/supabase.json")),
];

/// The user, the scopes and the topics of a caller.
fn facts(caller: &Caller) -> Value {
    let topics = caller.topics.as_ref().map(|topics| topics.iter().map(Topic::as_str).collect::<Vec<_>>());
    json!({"user": caller.user, "scopes": caller.scopes.to_string(), "topics": topics})
}

#[tokio::test]
async fn tokens_in_the_shape_of_each_issuer_become_callers() {
    for (name, text) in RECORDED {
        let recorded: Value = serde_json::from_str(text).unwrap();
        let key = if recorded["header"]["alg"] == "ES256" { Signer::ec() } else { Signer::rsa() };
        let issuer = TestIssuer::start(vec![key.jwk("1")]);
        let real = recorded["settings"]["issuer"].as_str().unwrap();
        let moved: Value = serde_json::from_str(&text.replace(real, &issuer.url)).unwrap();
        let rig = Rig::of(issuer, key, &json!([moved["settings"]]).to_string());
        let caller = rig.caller(&rig.key.token_of(&moved["header"], &moved["claims"].to_string())).await;
        assert_eq!(facts(&caller), recorded["caller"], "{name}");
    }
}

#[test]
fn the_documented_settings_are_those_that_are_tested() {
    let page = include_str!("../../../../docs/jwts.md");
    let blocks = page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let shown: Vec<Value> = blocks.filter_map(|block| serde_json::from_str(block).ok()).collect();
    for (name, text) in RECORDED {
        let recorded: Value = serde_json::from_str(text).unwrap();
        let settings = json!([recorded["settings"]]);
        assert!(shown.contains(&settings), "docs/jwts.md does not show the settings of {name}: {settings}");
        // They are valid on AWS as they are.
        Issuers::parse(&settings.to_string(), Scheme::Https).unwrap();
    }
}

#[tokio::test]
async fn without_rules_a_token_may_read_as_its_subject() {
    let rig = Rig::new();
    let claims = rig.claims_with(json!({"scope": "admin", "topics": ["posts"]}));
    let caller = rig.caller(&rig.key.token("1", &claims)).await;
    assert_eq!(facts(&caller), json!({"user": "ada", "scopes": "read", "topics": null}));
}

#[tokio::test]
async fn only_mapped_values_give_scopes() {
    let scopes = json!({"claim": "scope", "map": {"a": ["read"], "b": ["write", "import"]}});
    let rig = Rig::with(Signer::ed(), json!({"audience": "lately", "scopes": scopes}));
    for (value, scopes) in [
        (json!("a"), "read"),
        (json!("x a  b admin"), "read write import"),
        (json!(["a", "a b", "b"]), "read write import"),
        (json!(["a b"]), ""),
        (json!("A"), ""),
        (json!({"a": true}), ""),
        (json!([["a"], 1, null]), ""),
        (json!(null), ""),
    ] {
        let caller = rig.caller(&rig.key.token("1", &rig.claims_with(json!({"scope": value.clone()})))).await;
        assert_eq!(caller.scopes.to_string(), scopes, "{value}");
    }
}

#[tokio::test]
async fn a_token_without_its_topics_is_refused() {
    let rig = Rig::with(Signer::ed(), json!({"audience": "lately", "topics": "/app/topics"}));
    let token = |topics: &Value| rig.key.token("1", &rig.claims_with(json!({"app": {"topics": topics}})));
    for (topics, expected) in [
        (json!(["posts"]), json!(["posts"])),
        (json!("posts billing"), json!(["posts", "billing"])),
        (json!("*"), json!(null)),
        (json!(["*"]), json!(null)),
    ] {
        assert_eq!(facts(&rig.caller(&token(&topics)).await)["topics"], expected);
    }
    let many: Vec<_> = (0..51).map(|number| format!("topic-{number}")).collect();
    for topics in
        [json!(null), json!([]), json!(""), json!(["a#b"]), json!(["*", "posts"]), json!({}), json!(many)]
    {
        assert!(!rig.is_known(&token(&topics)).await, "{topics}");
    }
    assert!(!rig.is_known(&rig.key.token("1", &rig.claims())).await, "the claim is missing");
}

#[tokio::test]
async fn a_user_must_be_a_name() {
    let rig = Rig::new();
    for user in [
        json!(null),
        json!(""),
        json!("auth0|1"),
        json!("a b"),
        json!("a#b"),
        json!("a/b"),
        json!(7),
        json!(["ada"]),
    ] {
        assert!(
            !rig.is_known(&rig.key.token("1", &rig.claims_with(json!({"sub": user.clone()})))).await,
            "{user}"
        );
    }
    let longest = "a".repeat(128);
    assert!(rig.is_known(&rig.key.token("1", &rig.claims_with(json!({"sub": longest})))).await);
    assert!(!rig.is_known(&rig.key.token("1", &rig.claims_with(json!({"sub": longest + "a"})))).await);
}

#[tokio::test]
async fn two_issuers_are_distinguished() {
    let (one, other) = (Signer::ed(), Signer::ed());
    let issuers = [TestIssuer::start(vec![one.jwk("1")]), TestIssuer::start(vec![other.jwk("1")])];
    let settings = json!([
        {"issuer": issuers[0].url, "audience": "lately"},
        {"issuer": issuers[1].url, "audience": ["x", "lately"], "scopes": {"claim": "sub", "map": {"ada": ["write"]}}},
    ]);
    let urls = issuers.each_ref().map(|issuer| issuer.url.clone());
    let [first, _second] = issuers;
    let rig = Rig::of(first, Signer::ed(), &settings.to_string());
    let claims = urls.each_ref().map(|url| rig.claims_with(json!({"iss": url})));
    assert_eq!(rig.caller(&one.token("1", &claims[0])).await.scopes.to_string(), "read");
    assert_eq!(rig.caller(&other.token("1", &claims[1])).await.scopes.to_string(), "write");
    assert!(
        !rig.is_known(&one.token("1", &claims[1])).await
            && !rig.is_known(&other.token("1", &claims[0])).await
    );
}
