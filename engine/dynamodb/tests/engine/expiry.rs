//! Items expire by the engine's clock, and their records have the TTL service's identity.

use std::time::Duration;

use lately_engine::stream::EventName;

use crate::support::{START, TABLE, engine, item, key, n};

#[tokio::test]
async fn a_sweep_removes_a_bounded_number_of_expired_items() {
    let engine = engine();
    let client = engine.client();
    let now = START.as_secs();
    for i in 0..5 {
        let item = item("a", &i.to_string(), [("expires_at", n(now + 10 + i))]);
        client.put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
    }
    assert_eq!(engine.expire(10).unwrap(), 0);
    engine.clock().advance(Duration::from_secs(12));
    assert_eq!(engine.expire(2).unwrap(), 2);
    assert_eq!(engine.expire(10).unwrap(), 1);
    assert_eq!(engine.expiring(), 2);

    let stream = engine.stream(TABLE).unwrap();
    let records = stream.all();
    let removed = &records[5..];
    let expired = |i: u64| item("a", &i.to_string(), [("expires_at", n(now + 10 + i))]);
    for (i, record) in (0..).zip(removed) {
        assert_eq!((record.event, record.expired), (EventName::Remove, true));
        assert_eq!(record.old_image(), Some(expired(i)));
    }
    let event: serde_json::Value = serde_json::from_str(&stream.lambda_event(removed)).unwrap();
    let identity = serde_json::json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
    assert_eq!(event["Records"][0]["userIdentity"], identity);
    let gone = client.get_item().table_name(TABLE).set_key(Some(key("a", "0"))).send().await.unwrap();
    assert_eq!(gone.item, None);
}

#[tokio::test]
async fn an_item_whose_ttl_was_extended_or_removed_stays() {
    let engine = engine();
    let client = engine.client();
    let soon = START.as_secs() + 10;
    for sk in ["moved", "taken", "kept"] {
        let item = item("a", sk, [("expires_at", n(soon))]);
        client.put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
    }
    for (sk, update) in [("moved", "SET expires_at = :later"), ("taken", "REMOVE expires_at")] {
        let mut call = client.update_item().table_name(TABLE).set_key(Some(key("a", sk)));
        if sk == "moved" {
            call = call.expression_attribute_values(":later", n(soon + 1_000));
        }
        call.update_expression(update).send().await.unwrap();
    }
    engine.clock().advance(Duration::from_secs(60));
    assert_eq!(engine.expire(10).unwrap(), 1);
    let remaining = client.scan().table_name(TABLE).send().await.unwrap();
    assert_eq!(remaining.count, 2);
}

#[tokio::test]
async fn items_without_a_valid_ttl_of_the_last_five_years_stay() {
    let engine = engine();
    let client = engine.client();
    let ancient = START.as_secs() - 6 * 365 * 24 * 3600;
    let odd = [("text", crate::support::s("1")), ("ancient", n(ancient)), ("negative", n(-5))];
    for (sk, value) in odd {
        let item = item("a", sk, [("expires_at", value)]);
        client.put_item().table_name(TABLE).set_item(Some(item)).send().await.unwrap();
    }
    assert_eq!(engine.expire(10).unwrap(), 0);
}
