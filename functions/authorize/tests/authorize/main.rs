//! The authorizer with JWTs, against an issuer on loopback and an engine in the process.

#![expect(clippy::unwrap_used, reason = "tests unwrap results that must not fail")]

mod attacks;
mod claims;
mod issuer;
mod rotation;
mod tokens;

use std::time::Duration;

use lately_authorize::{Authorizer, IdentifyError, Issuers, Scheme};
use lately_engine::Engine;
use lately_kit::caller::{Caller, Identity};
use lately_rig::{World, connection, engine};
use lately_store::Store;
use serde_json::{Value, json};

use issuer::TestIssuer;
use tokens::Signer;

/// An authorizer that trusts one issuer, whose key `1` is at hand.
struct Rig {
    world: World,
    engine: Engine,
    store: Store,
    authorizer: Authorizer,
    issuer: TestIssuer,
    key: Signer,
}

impl Rig {
    /// A rig whose issuer has these settings beside its name.
    fn with(key: Signer, settings: Value) -> Self {
        let issuer = TestIssuer::start(vec![key.jwk("1")]);
        let mut settings = settings;
        settings["issuer"] = json!(issuer.url);
        Self::of(issuer, key, &json!([settings]).to_string())
    }

    fn of(issuer: TestIssuer, key: Signer, settings: &str) -> Self {
        let world = World::new(7);
        let engine = engine(&world, lately_engine::Options::default());
        let store = Store::new(connection(engine.client(), world.process()));
        let issuers = Issuers::parse(settings, Scheme::HttpNearby).unwrap();
        let authorizer = Authorizer::new(store.clone(), issuers);
        Self { world, engine, store, authorizer, issuer, key }
    }

    fn new() -> Self {
        Self::with(Signer::ed(), json!({"audience": "lately"}))
    }

    /// The seconds since 1970, by the authorizer's clock.
    fn now(&self) -> u64 {
        self.world.now().get() / 1000
    }

    /// The claims of a valid token of ada.
    fn claims(&self) -> Value {
        json!({"iss": self.issuer.url, "aud": "lately", "sub": "ada", "exp": self.now() + 600})
    }

    /// The claims of a valid token, with changes. A null removes a claim.
    fn claims_with(&self, changes: Value) -> Value {
        let mut claims = self.claims();
        for (name, value) in changes.as_object().unwrap().clone() {
            let claims = claims.as_object_mut().unwrap();
            if value.is_null() {
                claims.remove(&name)
            } else {
                claims.insert(name, value)
            };
        }
        claims
    }

    async fn identify(&self, token: &str) -> Result<Identity, IdentifyError> {
        self.authorizer.identify(Some(&format!("Bearer {token}"))).await
    }

    async fn caller(&self, token: &str) -> Caller {
        match self.identify(token).await.unwrap() {
            Identity::Known(caller) => caller,
            other => panic!("{other:?}: {token}"),
        }
    }

    async fn is_known(&self, token: &str) -> bool {
        matches!(self.identify(token).await.unwrap(), Identity::Known(_))
    }

    /// The same system in another process, which starts now and has these settings.
    fn restarted(&self, settings: &Value) -> Authorizer {
        let store = Store::new(connection(self.engine.client(), self.world.process()));
        Authorizer::new(store, Issuers::parse(&settings.to_string(), Scheme::HttpNearby).unwrap())
    }

    /// Sets the authorizer's clock: this much later than at the start.
    fn is_later_by(&self, time: Duration) {
        self.world.shift(time);
    }
}

#[tokio::test]
async fn each_algorithm_is_accepted_and_only_the_fetch_calls_dynamodb() {
    for key in [Signer::rsa(), Signer::ec(), Signer::ed()] {
        let rig = Rig::with(key, json!({"audience": "lately"}));
        for algorithm in rig.key.algorithms() {
            let header = json!({"alg": algorithm, "kid": "1"});
            let caller = rig.caller(&rig.key.token_of(&header, &rig.claims().to_string())).await;
            assert_eq!((caller.user.unwrap().as_str(), caller.session), ("ada", None), "{algorithm}");
            assert_eq!(caller.issuer.as_ref(), Some(&rig.issuer.url));
            assert_eq!(caller.expires_at.get() / 1000, rig.now() + 600);
        }
        assert_eq!(rig.issuer.asked(), ["/.well-known/openid-configuration", "/keys"], "fetched once");
        assert_eq!(rig.store.take_tally().cost.calls, 2, "the fetched keys are compared and stored");
    }
}

#[tokio::test]
async fn no_issuer_is_asked_for_sessions_and_foreign_tokens() {
    let rig = Rig::new();
    for token in ["dev", "lately_0yJ3cQwq1r7Vn0m5n1o0mXkq4m0c2bJm8m2o3s1dG9A", "a.b", "a.b.c.d.e"] {
        assert!(!rig.is_known(token).await, "{token}");
    }
    assert_eq!(rig.store.take_tally().cost.calls, 4, "a session is looked up for each");
    let foreign = rig.claims_with(json!({"iss": "https://id.example.org/"}));
    assert!(!rig.is_known(&rig.key.token("1", &foreign)).await);
    assert_eq!((rig.issuer.asked().len(), rig.store.take_tally().cost.calls), (0, 0));
}

#[tokio::test]
async fn the_gateway_gets_the_same_context_as_for_a_session() {
    let settings = json!({
        "audience": "lately", "topics": "topics", "writes_per_minute": 600,
        "scopes": {"claim": "scope", "map": {"post": ["read", "write"]}},
    });
    let rig = Rig::with(Signer::ed(), settings);
    let claims = rig.claims_with(json!({"scope": "openid post", "topics": ["posts", "billing"]}));
    let question = |token: &str| {
        let mut event: Value =
            serde_json::from_str(include_str!("../../../../events/authorize.json")).unwrap();
        event["identitySource"] = json!([format!("Bearer {token}")]);
        serde_json::from_value(event).unwrap()
    };
    let answer = rig.authorizer.answer(question(&rig.key.token("1", &claims))).await.unwrap();
    let end = lately_keys::UnixMillis::new((rig.now() + 600) * 1000).unwrap();
    let expected = json!({
        "isAuthorized": true,
        "context": {
            "user": "ada", "scopes": "read write", "topics": "posts billing", "expires_at": end.to_string(),
            "issuer": rig.issuer.url, "writes_per_minute": "600",
        },
    });
    assert_eq!(serde_json::to_value(&answer).unwrap(), expected);
    let expired = rig.claims_with(json!({"exp": rig.now() - 60}));
    let answer = rig.authorizer.answer(question(&rig.key.token("1", &expired))).await.unwrap();
    assert_eq!(serde_json::to_value(&answer).unwrap()["isAuthorized"], false);
}

#[test]
fn settings_with_a_fault_are_refused_with_its_position() {
    let parse = |text: &str| Issuers::parse(text, Scheme::Https).map(drop).map_err(|error| error.to_string());
    assert_eq!((parse(""), parse(" [] ")), (Ok(()), Ok(())));
    let good = json!({"issuer": "https://id.example.org/", "audience": "lately"});
    let with = |name: &str, value: Value| {
        let mut issuer = good.clone();
        issuer[name] = value;
        json!([issuer]).to_string()
    };
    for (text, expected) in [
        ("{".to_owned(), "not a list of issuers"),
        ("{}".to_owned(), "not a list of issuers"),
        (json!([{"audience": "lately"}]).to_string(), "missing field `issuer`"),
        (json!([{"issuer": "https://id.example.org/"}]).to_string(), "missing field `audience`"),
        (with("audiance", json!("x")), "unknown field `audiance`"),
        (with("issuer", json!("http://127.0.0.1:9001/")), "issuer of issuer 1 must be an https address"),
        (with("jwks_uri", json!("id.example.org/keys")), "jwks_uri of issuer 1 must be an https address"),
        (with("audience", json!([])), "audience of issuer 1 must name"),
        (with("audience", json!(7)), "audience must be a text or a list of texts"),
        (with("scopes", json!({"claim": "scope", "map": {"a": ["root"]}})), "must be read, write,"),
        (with("scopes", json!({"claim": "scope", "map": {}})), "scopes of issuer 1 must name"),
        (with("writes_per_minute", json!(0)), "writes_per_minute or reads_per_minute of issuer 1 must be"),
        (
            with("reads_per_minute", json!(100_001)),
            "writes_per_minute or reads_per_minute of issuer 1 must be",
        ),
        (with("reads_per_minute", json!("60")), "not a list of issuers"),
        (json!([good, good]).to_string(), "issuer of issuer 2 is also that of another issuer"),
        (json!(vec![&good; 21]).to_string(), "at most 20 issuers"),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.starts_with("issuers: ") && error.contains(expected), "{text}: {error}");
    }
}
