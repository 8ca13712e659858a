//! The keys of an issuer over time: fetched once, rotated, withdrawn, and used while the issuer is down.

use std::time::Duration;

use lately_authorize::{Authorizer, IdentifyError, Issuers, Scheme};
use lately_engine::fault::{Fault, Faults, Target, Throttle, When};
use lately_kit::caller::Identity;
use lately_rig::connection;
use lately_store::Store;
use serde_json::{Value, json};

use crate::Rig;
use crate::issuer::{Behaviour, TestIssuer};
use crate::tokens::Signer;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// A token that is valid for two days.
fn long(rig: &Rig) -> Value {
    rig.claims_with(json!({"exp": rig.now() + 2 * 86_400}))
}

#[tokio::test]
async fn a_new_key_is_fetched_when_a_token_needs_it() {
    let rig = Rig::new();
    let (old, claims) = (rig.key.token("1", &long(&rig)), long(&rig));
    assert!(rig.is_known(&old).await);
    let next = Signer::ec();
    let new = next.token("2", &claims);
    assert!(!rig.is_known(&new).await, "the keys were fetched a moment ago");
    rig.issuer.becomes(Behaviour::Keys(vec![rig.key.jwk("1"), next.jwk("2")]));
    rig.issuer.asked();
    rig.is_later_by(MINUTE);
    assert!(rig.is_known(&new).await && rig.is_known(&old).await);
    assert_eq!(rig.issuer.asked().len(), 2, "discovery and the keys");
    // The old key is withdrawn. Its tokens end within an hour.
    rig.issuer.becomes(Behaviour::Keys(vec![next.jwk("2")]));
    rig.is_later_by(HOUR);
    assert!(rig.is_known(&old).await && rig.issuer.asked().is_empty());
    rig.is_later_by(MINUTE + HOUR);
    assert!(!rig.is_known(&old).await && rig.is_known(&new).await);
}

#[tokio::test]
async fn tokens_of_unknown_keys_ask_the_issuer_once_a_minute() {
    let rig = Rig::new();
    assert!(rig.is_known(&rig.key.token("1", &long(&rig))).await);
    rig.issuer.asked();
    let mut asked = 0;
    for second in 0..180 {
        rig.is_later_by(Duration::from_secs(second));
        assert!(!rig.is_known(&rig.key.token(&format!("unknown-{second}"), &long(&rig))).await);
        asked += rig.issuer.asked().len();
    }
    assert_eq!(asked, 2 * 2, "in the second and the third minute");
}

#[tokio::test]
async fn many_first_requests_cause_one_fetch() {
    let rig = Rig::new();
    let token = rig.key.token("1", &rig.claims());
    let all = futures_util::future::join_all((0..50).map(|_| rig.is_known(&token))).await;
    assert!(all.into_iter().all(|known| known));
    assert_eq!(rig.issuer.asked().len(), 2);
}

#[tokio::test]
async fn keys_serve_for_a_day_while_the_issuer_is_down() {
    let rig = Rig::new();
    let token = rig.key.token("1", &long(&rig));
    assert!(rig.is_known(&token).await);
    rig.issuer.becomes(Behaviour::Down);
    rig.issuer.asked();
    for minutes in [90, 91, 600, 24 * 60 - 1] {
        rig.is_later_by(MINUTE * minutes);
        assert!(rig.is_known(&token).await && rig.is_known(&token).await, "after {minutes} minutes");
        assert_eq!(rig.issuer.asked().len(), 1, "one attempt a minute");
    }
    // A key that may be new is not refused: the gateway would remember the refusal.
    let unknown = rig.key.token("2", &long(&rig));
    let keys = |result: Result<Identity, IdentifyError>| matches!(result, Err(IdentifyError::Keys(_)));
    assert!(keys(rig.identify(&unknown).await));
    rig.is_later_by(HOUR * 24);
    assert!(keys(rig.identify(&token).await), "the keys are too old");
    // It comes back, with another key.
    let next = Signer::ed();
    rig.issuer.becomes(Behaviour::Keys(vec![next.jwk("2")]));
    rig.is_later_by(HOUR * 24 + Duration::from_secs(1));
    assert!(rig.is_known(&next.token("2", &long(&rig))).await);
    assert!(!rig.is_known(&token).await);
}

/// True if an authorizer accepts a token. An error if it can neither accept nor refuse the token.
async fn knows(authorizer: &Authorizer, token: &str) -> Result<bool, IdentifyError> {
    let identity = authorizer.identify(Some(&format!("Bearer {token}"))).await?;
    Ok(matches!(identity, Identity::Known(_)))
}

#[tokio::test]
async fn a_process_that_starts_while_the_issuer_is_down_has_the_stored_keys() {
    let rig = Rig::new();
    let settings = json!([{"issuer": rig.issuer.url, "audience": "lately"}]);
    let token = rig.key.token("1", &long(&rig));
    assert!(rig.is_known(&token).await);
    rig.issuer.becomes(Behaviour::Down);
    for minutes in [0, 90, 24 * 60 - 1] {
        rig.is_later_by(MINUTE * minutes);
        let started = rig.restarted(&settings);
        assert!(knows(&started, &token).await.unwrap(), "after {minutes} minutes");
        assert!(knows(&started, &rig.key.token("2", &long(&rig))).await.is_err(), "it may be a new key");
        rig.issuer.asked();
        assert!(knows(&started, &token).await.unwrap());
        assert!(rig.issuer.asked().is_empty(), "an attempt a minute");
    }
    // Items are found by the issuer as it is configured, so they never make another one trusted.
    let url = &rig.issuer.url;
    let other_address = json!([{"issuer": url, "audience": "lately", "jwks_uri": format!("{url}/others")}]);
    assert!(knows(&rig.restarted(&other_address), &token).await.is_err());
    assert!(!knows(&rig.restarted(&json!([])), &token).await.unwrap(), "the issuer was removed");
    rig.is_later_by(HOUR * 24);
    assert!(knows(&rig.restarted(&settings), &token).await.is_err(), "the keys are too old");
}

#[tokio::test]
async fn keys_are_stored_again_when_they_change_and_once_an_hour() {
    let rig = Rig::new();
    let settings = json!([{"issuer": rig.issuer.url, "audience": "lately"}]);
    let token = rig.key.token("1", &long(&rig));
    let start = rig.world.now().get();
    let stored_at = async |minutes: u32| {
        rig.is_later_by(MINUTE * minutes);
        assert!(knows(&rig.restarted(&settings), &token).await.unwrap());
        let stored = rig.store.op().issuer_keys(&rig.issuer.url, None).get().await.unwrap().unwrap();
        (stored.fetched_at.get() - start) / 60_000
    };
    for (minutes, expected) in [(0, 0), (1, 0), (59, 0), (60, 60), (61, 60)] {
        assert_eq!(stored_at(minutes).await, expected, "after {minutes} minutes");
    }
    let next = Signer::ec();
    rig.issuer.becomes(Behaviour::Keys(vec![rig.key.jwk("1"), next.jwk("2")]));
    assert_eq!((stored_at(62).await, stored_at(63).await), (62, 62));
    rig.issuer.becomes(Behaviour::Down);
    assert!(knows(&rig.restarted(&settings), &next.token("2", &long(&rig))).await.unwrap());
}

#[tokio::test]
async fn a_table_that_fails_changes_nothing_while_the_issuer_responds() {
    let rig = Rig::new();
    let token = rig.key.token("1", &long(&rig));
    let faults = Faults::default().rule(Target::default(), When::Always, Fault::Throttle(Throttle::Account));
    let store = Store::new(connection(rig.engine.client_with(faults).client(), rig.world.process()));
    let settings = json!([{"issuer": rig.issuer.url, "audience": "lately"}]).to_string();
    let authorizer = Authorizer::new(store, Issuers::parse(&settings, Scheme::HttpNearby).unwrap());
    assert!(knows(&authorizer, &token).await.unwrap());
}

#[tokio::test]
async fn an_issuer_that_was_never_reached_is_tried_again_after_a_second() {
    let rig = Rig::new();
    let token = rig.key.token("1", &rig.claims());
    let keys = vec![rig.key.jwk("1")];
    rig.issuer.becomes(Behaviour::Down);
    for _ in 0..3 {
        assert!(rig.identify(&token).await.is_err());
    }
    assert_eq!(rig.issuer.asked().len(), 1);
    rig.issuer.becomes(Behaviour::Keys(keys));
    rig.is_later_by(Duration::from_secs(1));
    assert!(rig.is_known(&token).await);
}

#[tokio::test]
async fn bad_answers_of_an_issuer_are_no_keys() {
    let key = Signer::ed();
    let link_local = "location: http://169.254.169.254/latest/meta-data/\r\n".to_owned();
    let key_text = key.jwk("1").to_string();
    let ten_megabytes = format!(r#"{{"keys":[{key_text}],"padding":"{}"}}"#, "x".repeat(10 << 20));
    for behaviour in [
        Behaviour::Text(ten_megabytes),
        Behaviour::Text("<html>".to_owned()),
        Behaviour::Text(key_text),
        Behaviour::Text(json!({"keys": {}}).to_string()),
        Behaviour::Status(302, link_local.clone()),
        Behaviour::Status(307, link_local),
        Behaviour::Status(500, String::new()),
        Behaviour::Silent,
    ] {
        let issuer = TestIssuer::start(Vec::new());
        issuer.becomes(behaviour.clone());
        let settings =
            json!([{"issuer": issuer.url, "audience": "lately", "jwks_uri": format!("{}/keys", issuer.url)}]);
        let rig = Rig::of(issuer, Signer::ed(), &settings.to_string());
        let started = std::time::Instant::now();
        assert!(rig.identify(&rig.key.token("1", &rig.claims())).await.is_err());
        assert!(started.elapsed() < Duration::from_secs(4), "the fetch has a timeout");
        assert_eq!(rig.issuer.asked(), ["/keys"], "a redirect is not followed");
    }
}

#[tokio::test]
async fn a_discovery_document_must_be_the_issuers_own() {
    let rig = Rig::new();
    let token = rig.key.token("1", &rig.claims());
    let url = rig.issuer.url.clone();
    let documents = [
        json!({"issuer": "https://id.example.org", "jwks_uri": format!("{url}/keys")}),
        json!({"issuer": url, "jwks_uri": "http://169.254.169.254/latest/meta-data/"}),
        json!({"issuer": url, "jwks_uri": "file:///etc/passwd"}),
        json!({"issuer": url}),
    ];
    for (document, seconds) in documents.into_iter().zip((0..).step_by(2)) {
        rig.is_later_by(Duration::from_secs(seconds));
        rig.issuer.becomes(Behaviour::Text(document.to_string()));
        assert!(rig.identify(&token).await.is_err());
        assert_eq!(rig.issuer.asked(), ["/.well-known/openid-configuration"], "{document}");
    }
}
