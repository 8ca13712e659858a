//! Tokens that an attacker makes: each is refused, and none makes the authorizer ask for anything but the keys.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::Rig;
use crate::issuer::{Behaviour, TestIssuer};
use crate::tokens::{Signer, base64url};

/// A token with any header, claims and signature.
fn forged(header: &Value, claims: &Value, signature: &[u8]) -> String {
    let [header, claims] = [header, claims].map(|part| base64url(part.to_string()));
    format!("{header}.{claims}.{}", base64url(signature))
}

/// A rig whose issuer has an RSA key, which most attacks are about.
fn rsa() -> Rig {
    Rig::with(Signer::rsa(), json!({"audience": "lately"}))
}

async fn is_refused(rig: &Rig, token: &str, why: &str) {
    assert!(!rig.is_known(token).await, "{why}: {token}");
    let asked = rig.issuer.asked();
    assert!(asked.iter().all(|path| ["/.well-known/openid-configuration", "/keys"].contains(&&**path)));
    // A fetch compares the keys with the stored ones. Nothing else calls DynamoDB.
    let calls = rig.store.take_tally().cost.calls;
    assert!(calls == 0 || calls <= 2 && !asked.is_empty(), "{why}: {calls} calls");
}

#[tokio::test]
async fn a_token_without_a_signature_is_refused() {
    let rig = rsa();
    for algorithm in ["none", "None", "NONE", "", "nOnE"] {
        let header = json!({"alg": algorithm, "kid": "1"});
        is_refused(&rig, &forged(&header, &rig.claims(), b""), algorithm).await;
        is_refused(&rig, &forged(&header, &rig.claims(), b"x"), algorithm).await;
    }
    is_refused(&rig, &forged(&json!({"kid": "1"}), &rig.claims(), b""), "no algorithm").await;
    let header = json!({"alg": "RS256", "kid": "1"});
    is_refused(&rig, &forged(&header, &rig.claims(), b""), "an empty signature").await;
    is_refused(&rig, &forged(&header, &rig.claims(), &[0; 256]), "zeros").await;
    let token = rig.key.token("1", &rig.claims());
    let (signed, signature) = token.rsplit_once('.').unwrap();
    is_refused(&rig, &format!("{signed}.{}", &signature[..signature.len() - 8]), "a part of the signature")
        .await;
    let (header, _) = signed.split_once('.').unwrap();
    let admin = base64url(rig.claims_with(json!({"sub": "bob"})).to_string());
    is_refused(&rig, &format!("{header}.{admin}.{signature}"), "other claims").await;
    assert!(rig.is_known(&token).await);
}

#[tokio::test]
async fn a_public_key_is_no_secret_of_hmac() {
    use ring::hmac;
    let rig = rsa();
    let jwk = rig.key.jwk("1");
    let secrets =
        [jwk["n"].as_str().unwrap().as_bytes().to_vec(), jwk.to_string().into_bytes(), b"lately".to_vec()];
    for algorithm in ["HS256", "HS384", "HS512"] {
        for secret in &secrets {
            let header = json!({"alg": algorithm, "kid": "1"});
            let [part, claims] = [&header, &rig.claims()].map(|part| base64url(part.to_string()));
            let signed = format!("{part}.{claims}");
            let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
            is_refused(&rig, &format!("{signed}.{}", base64url(mac)), algorithm).await;
        }
    }
    // Nor does a secret in the set of keys help.
    let rig = rsa();
    rig.issuer.becomes(Behaviour::Keys(vec![json!({"kty": "oct", "kid": "1", "k": base64url("secret")})]));
    let [part, claims] =
        [json!({"alg": "HS256", "kid": "1"}), rig.claims()].map(|part| base64url(part.to_string()));
    let signed = format!("{part}.{claims}");
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b"secret"), signed.as_bytes());
    is_refused(&rig, &format!("{signed}.{}", base64url(mac)), "a secret in the set").await;
}

#[tokio::test]
async fn other_algorithms_are_refused() {
    let rig = rsa();
    for algorithm in
        ["RS384", "RS512", "PS384", "PS512", "ES384", "ES256K", "RS1", "rs256", "RSA-OAEP", "dir", "Ed25519"]
    {
        let header = json!({"alg": algorithm, "kid": "1"});
        is_refused(&rig, &rig.key.token_of(&header, &rig.claims().to_string()), algorithm).await;
    }
    // The algorithm of another kind of key.
    for algorithm in ["ES256", "EdDSA"] {
        let header = json!({"alg": algorithm, "kid": "1"});
        is_refused(&rig, &rig.key.token_of(&header, &rig.claims().to_string()), algorithm).await;
    }
}

#[tokio::test]
async fn a_key_id_is_compared_and_never_followed() {
    let rig = rsa();
    for id in [
        "../../../../etc/passwd",
        "/dev/null",
        "file:///dev/null",
        "http://169.254.169.254/latest",
        "1\u{0}",
        " 1",
        "",
        "1' OR '1'='1",
        "x' UNION SELECT 'key';--",
        "$(id)",
        "{{7*7}}",
        "1/../1",
        "SESSION#1",
        &"1".repeat(5000),
    ] {
        is_refused(&rig, &rig.key.token(id, &rig.claims()), id).await;
    }
    for id in [json!(1), json!(["1"]), json!({"a": 1})] {
        let header = json!({"alg": "RS256", "kid": id});
        is_refused(&rig, &rig.key.token_of(&header, &rig.claims().to_string()), "a key id that is no text")
            .await;
    }
    // Without an id, the only key that fits is used.
    let header = json!({"alg": "RS256"});
    assert!(rig.is_known(&rig.key.token_of(&header, &rig.claims().to_string())).await);
}

#[tokio::test]
async fn a_key_inside_a_token_is_never_used() {
    let rig = rsa();
    let own = Signer::ed();
    let evil = TestIssuer::start(vec![own.jwk("1"), own.jwk("2")]);
    for id in ["1", "2"] {
        for (name, value) in [
            ("jku", json!(format!("{}/keys", evil.url))),
            ("x5u", json!(format!("{}/certificate", evil.url))),
            ("jwk", own.jwk(id)),
            ("x5c", json!([base64url("certificate")])),
        ] {
            let mut header = json!({"alg": "EdDSA", "kid": id});
            header[name] = value;
            is_refused(&rig, &own.token_of(&header, &rig.claims().to_string()), name).await;
        }
    }
    assert!(evil.asked().is_empty(), "nothing is fetched from where a token points to");
    // A real token may have them; they are not read.
    let header =
        json!({"alg": "RS256", "kid": "1", "jku": format!("{}/keys", evil.url), "x5t": "ZXhhbXBsZQ"});
    assert!(rig.is_known(&rig.key.token_of(&header, &rig.claims().to_string())).await);
    assert!(evil.asked().is_empty());
}

#[tokio::test]
async fn issuer_and_audience_must_be_the_configured_ones() {
    let rig = rsa();
    let url = &rig.issuer.url;
    for (name, value) in [
        ("iss", json!(null)),
        ("iss", json!(format!("{url}/"))),
        ("iss", json!(url.to_uppercase())),
        ("iss", json!("https://accounts.example.org")),
        ("iss", json!([url])),
        ("iss", json!({"iss": url})),
        ("iss", json!(7)),
        ("aud", json!(null)),
        ("aud", json!("")),
        ("aud", json!("Lately")),
        ("aud", json!("lately ")),
        ("aud", json!("other lately")),
        ("aud", json!(["other"])),
        ("aud", json!([])),
        ("aud", json!({"lately": true})),
        ("aud", json!(true)),
    ] {
        let claims = rig.claims_with(json!({name: value}));
        is_refused(&rig, &rig.key.token("1", &claims), &claims.to_string()).await;
    }
    assert!(rig.is_known(&rig.key.token("1", &rig.claims_with(json!({"aud": ["other", "lately"]})))).await);
}

#[tokio::test]
async fn times_are_checked_with_a_minute_of_leeway() {
    let rig = rsa();
    let now = rig.now();
    for (claims, known) in [
        (json!({"exp": now - 50}), true),
        (json!({"exp": now - 60}), false),
        (json!({"exp": now - 86_400}), false),
        (json!({"exp": 0}), false),
        (json!({"exp": null}), false),
        (json!({"exp": (now + 600).to_string()}), false),
        (json!({"exp": -1}), false),
        (json!({"exp": [now + 600]}), false),
        // RFC 7519 allows a fraction.
        (json!({"exp": f64::from(u32::try_from(now).unwrap()) + 600.5}), true),
        (json!({"exp": u64::MAX}), true),
        (json!({"nbf": now + 50}), true),
        (json!({"nbf": now + 70}), false),
        (json!({"nbf": "0"}), false),
        (json!({"nbf": -1}), false),
        (json!({"nbf": now - 5, "iat": now - 5}), true),
    ] {
        let token = rig.key.token("1", &rig.claims_with(claims.clone()));
        assert_eq!(rig.is_known(&token).await, known, "{claims}");
    }
    // A token whose end is out of range has the latest end.
    let endless = rig.caller(&rig.key.token("1", &rig.claims_with(json!({"exp": u64::MAX})))).await;
    assert_eq!(endless.expires_at, lately_keys::UnixMillis::MAX);
    let token = rig.key.token("1", &rig.claims());
    assert!(rig.is_known(&token).await);
    rig.is_later_by(std::time::Duration::from_secs(660));
    is_refused(&rig, &token, "it expired while it was in use").await;
}

#[tokio::test]
async fn ill_formed_tokens_are_refused() {
    let rig = rsa();
    let (header, claims) = (json!({"alg": "RS256", "kid": "1"}), rig.claims().to_string());
    for (text, why) in [
        (claims.replacen('{', r#"{"sub":"bob","#, 1), "a claim twice"),
        (claims.replacen('{', r#"{"s\u0075b":"bob","#, 1), "an escaped name"),
        (claims.replacen('{', r#"{"iss":"https://id.example.org","#, 1), "two issuers"),
        (claims.replacen('{', r#"{"a":{"b":1,"b":2},"#, 1), "a member twice within a claim"),
        (format!("[{claims}]"), "a list"),
        (format!("{claims}{claims}"), "two objects"),
        (String::new(), "no claims"),
        ("null".to_owned(), "null"),
        ("\"a\"".to_owned(), "a text"),
        (format!("{}1{}", "[".repeat(500), "]".repeat(500)), "deep nesting"),
        (rig.key.token("1", &rig.claims()), "a token within a token"),
    ] {
        is_refused(&rig, &rig.key.token_of(&header, &text), why).await;
    }
    for (header, why) in [
        (
            json!({"alg": "RS256", "kid": "1", "crit": ["b64"], "b64": false}),
            "an extension that must be understood",
        ),
        (json!({"alg": "RS256", "kid": "1", "crit": []}), "an empty list of extensions"),
        (json!({"alg": ["RS256"], "kid": "1"}), "a list of algorithms"),
        (json!(["RS256"]), "a header that is a list"),
    ] {
        is_refused(&rig, &rig.key.token_of(&header, &claims), why).await;
    }
    let twice = format!("{}.{}", base64url(r#"{"alg":"RS256","kid":"1","alg":"none"}"#), base64url(&claims));
    is_refused(&rig, &format!("{twice}."), "a header with a member twice").await;
    let token = rig.key.token("1", &rig.claims());
    let signature = token.rsplit_once('.').unwrap().1;
    is_refused(&rig, &format!("..{signature}"), "empty parts").await;
    is_refused(&rig, "..", "nothing but dots").await;
    is_refused(&rig, "a.b.c", "no JSON").await;
}

#[tokio::test]
async fn a_huge_token_is_refused_unread() {
    let rig = rsa();
    let padded = |length: usize| rig.key.token("1", &rig.claims_with(json!({"padding": "x".repeat(length)})));
    assert!(rig.is_known(&padded(5_000)).await);
    is_refused(&rig, &padded(6_500), "more than 8 KB").await;
    is_refused(&rig, &padded(10 << 20), "10 MB").await;
}

#[tokio::test]
async fn keys_of_the_wrong_kind_or_use_are_not_used() {
    for key in [Signer::rsa(), Signer::ec(), Signer::ed()] {
        let with = |changes: Value| {
            let mut jwk = key.jwk("1");
            for (name, value) in changes.as_object().unwrap().clone() {
                jwk[name] = value;
            }
            jwk
        };
        let mut sets = vec![
            vec![with(json!({"use": "enc"}))],
            vec![with(json!({"key_ops": ["encrypt"]}))],
            vec![with(json!({"key_ops": ["sign"]}))],
            vec![with(json!({"alg": "HS256"}))],
            vec![with(json!({"alg": "RSA-OAEP"}))],
            vec![with(json!({"alg": "RS512"}))],
            vec![with(json!({"kty": "oct", "k": base64url("secret")}))],
            vec![with(json!({"kid": "2"}))],
            vec![json!({"kty": "RSA", "kid": "1"}), json!({}), json!(7), json!("key"), json!(null)],
            vec![],
        ];
        if matches!(key, Signer::Ec(_)) {
            sets.push(vec![with(json!({"crv": "P-384"}))]);
            sets.push(vec![with(json!({"crv": "secp256k1"}))]);
            sets.push(vec![with(json!({"y": base64url([1; 32])}))]);
        }
        if matches!(key, Signer::Ed(_)) {
            sets.push(vec![with(json!({"crv": "X25519"}))]);
        }
        for set in sets {
            let rig = Rig::with(Signer::ed(), json!({"audience": "lately"}));
            rig.issuer.becomes(Behaviour::Keys(set.clone()));
            is_refused(&rig, &key.token("1", &rig.claims()), &json!(set).to_string()).await;
        }
        // The same key is used among keys that are not.
        let rig = Rig::with(Signer::ed(), json!({"audience": "lately"}));
        let set = vec![
            json!({"kty": "new"}),
            with(json!({"kid": "2", "use": "enc"})),
            with(json!({"alg": key.algorithms()[0]})),
        ];
        rig.issuer.becomes(Behaviour::Keys(set));
        assert!(rig.is_known(&key.token("1", &rig.claims())).await);
    }
}

#[tokio::test]
async fn tokens_without_configured_issuers_are_refused() {
    let rig = Rig::of(TestIssuer::start(Vec::new()), Signer::rsa(), "");
    is_refused(&rig, &rig.key.token("1", &rig.claims()), "no issuer").await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A function ends when it panics, so no token may make it panic.
    #[test]
    fn any_header_and_claims_are_answered(
        header in arbitrary_json(),
        claims in arbitrary_json(),
        own in any::<bool>(),
        text in "[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let rig = Rig::new();
            // Half of the tokens are signed by the issuer's key, so that the checks behind the signature see them too.
            let header = if own { json!({"alg": "EdDSA", "kid": "1"}) } else { header };
            let mut all = rig.claims();
            if let (Some(all), Some(claims)) = (all.as_object_mut(), claims.as_object()) {
                all.extend(claims.clone());
            }
            for token in [rig.key.token_of(&header, &all.to_string()), rig.key.token_of(&header, &claims.to_string()), text] {
                rig.identify(&token).await.unwrap();
            }
        });
    }
}

/// JSON whose objects have the names that matter in headers and claims.
fn arbitrary_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    let name = prop::sample::select(vec![
        "alg", "kid", "typ", "crit", "jwk", "iss", "aud", "exp", "nbf", "sub", "scope",
    ]);
    leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone().prop_map(str::to_owned), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}
