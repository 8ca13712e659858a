//! `GET /topics/{topic}/events` and `GET /topics/{topic}/events/{id}`.

use serde_json::{Value, json};

use crate::support::{Api, ago, event, event_ago};

/// A topic with an event every ten seconds, from two minutes ago to half a minute ago. The data of each event is its
/// age.
async fn timeline() -> Api {
    let api = Api::with_posts().await;
    let events: Vec<_> = (3..=12).rev().map(|tens| event_ago(tens * 10)).collect();
    api.call("dev", "POST /topics/posts/events", Value::from(events).to_string()).await.is_ok(201);
    api
}

async fn page(api: &Api, query: &str) -> Value {
    let answer = api.call("ada", &format!("GET /topics/posts/events?{query}"), "").await;
    assert!(answer.is_ok(200).header("lately-cost").unwrap().starts_with("read_units="));
    let page = answer.json();
    let fields: Vec<_> = page.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["events", "has_more", "newer", "next"]);
    page
}

/// The ages of a page's events.
fn ages(page: &Value) -> Vec<i64> {
    page["events"].as_array().unwrap().iter().map(|event| event["data"].as_i64().unwrap()).collect()
}

/// Reads all pages of a query, and returns the ages of their events.
async fn walk(api: &Api, query: &str) -> Vec<i64> {
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    for _ in 0..20 {
        let page = page(api, &format!("{query}{cursor}")).await;
        seen.extend(ages(&page));
        if page["has_more"] == false {
            return seen;
        }
        cursor = format!("&cursor={}", page["next"].as_str().unwrap());
    }
    panic!("the walk does not end");
}

const NEWEST_FIRST: [i64; 10] = [30, 40, 50, 60, 70, 80, 90, 100, 110, 120];

#[tokio::test]
async fn pages_in_both_orders_miss_nothing() {
    let api = timeline().await;
    let oldest_first: Vec<_> = NEWEST_FIRST.into_iter().rev().collect();
    for limit in [1, 3, 5, 10, 200] {
        assert_eq!(walk(&api, &format!("limit={limit}")).await, NEWEST_FIRST);
        assert_eq!(walk(&api, &format!("limit={limit}&order=desc")).await, NEWEST_FIRST);
        assert_eq!(walk(&api, &format!("limit={limit}&order=asc")).await, oldest_first);
    }
    assert_eq!(ages(&page(&api, "").await), NEWEST_FIRST);
}

#[tokio::test]
async fn next_is_null_at_the_end_only_newest_first() {
    let api = timeline().await;
    let last = page(&api, "limit=11").await;
    assert_eq!((&last["next"], &last["has_more"]), (&Value::Null, &json!(false)));
    // A full page may have a cursor although nothing follows. Then the next page is empty.
    let full = page(&api, "limit=10").await;
    if let Some(next) = full["next"].as_str() {
        let behind = page(&api, &format!("cursor={next}")).await;
        assert_eq!(
            (ages(&behind), &behind["next"], &behind["has_more"]),
            (vec![], &Value::Null, &json!(false))
        );
    }
    assert!(last["newer"].is_string());
    let caught_up = page(&api, "limit=200&order=asc").await;
    assert_eq!((&caught_up["newer"], &caught_up["has_more"]), (&Value::Null, &json!(false)));
    let resume = format!("limit=200&cursor={}", caught_up["next"].as_str().unwrap());
    assert_eq!(ages(&page(&api, &resume).await), [0; 0]);
    api.call("dev", "POST /topics/posts/events", event_ago(10).to_string()).await.is_ok(201);
    assert_eq!(ages(&page(&api, &resume).await), [10], "the same cursor later returns the new event");
    let empty = page(&api, "from=2000-01-01T00:00:00Z&to=2000-01-02T00:00:00Z").await;
    assert_eq!((&empty["next"], &empty["has_more"]), (&Value::Null, &json!(false)));
}

#[tokio::test]
async fn newer_continues_after_the_newest_event_of_its_page() {
    let api = timeline().await;
    let first = page(&api, "limit=2").await;
    let newer = first["newer"].as_str().unwrap();
    assert_eq!(ages(&page(&api, &format!("cursor={newer}")).await), [0; 0]);
    for age in [20, 10] {
        api.call("dev", "POST /topics/posts/events", event_ago(age).to_string()).await.is_ok(201);
    }
    assert_eq!(ages(&page(&api, &format!("cursor={newer}")).await), [20, 10]);
    assert_eq!(ages(&page(&api, &format!("cursor={newer}&order=asc&limit=1&consistent=true")).await), [20]);

    api.call("dev", "PUT /topics/empty", "").await.is_ok(201);
    let answer = api.call("ada", "GET /topics/empty/events", "").await.is_ok(200).json();
    let newer = answer["newer"].as_str().unwrap();
    api.call("dev", "POST /topics/empty/events", event_ago(10).to_string()).await.is_ok(201);
    let answer =
        api.call("ada", &format!("GET /topics/empty/events?cursor={newer}"), "").await.is_ok(200).json();
    assert_eq!(ages(&answer), [10], "after an empty page, from the beginning");
}

#[tokio::test]
async fn oldest_first_pages_end_two_seconds_ago() {
    let api = timeline().await;
    // In the future, as if the writer's clock were ahead.
    api.call("ada", "POST /topics/posts/events", event_ago(-4).to_string()).await.is_ok(201);
    assert_eq!(walk(&api, "order=asc").await.len(), 10);
    let latest = page(&api, "limit=1&consistent=true").await;
    assert_eq!(ages(&latest), [-4], "the newest event");
}

#[tokio::test]
async fn filters_by_time_and_type_apply_to_every_page() {
    let api = timeline().await;
    let liked: Vec<_> = [35, 75, 115]
        .map(|age| json!({"type": "post.liked", "actor": "bob", "at": ago(age), "data": age}))
        .to_vec();
    api.call("dev", "POST /topics/posts/events", Value::from(liked).to_string()).await.is_ok(201);
    let times = format!("from={}&to={}", ago(78), ago(48));
    for limit in [1, 2, 50] {
        assert_eq!(walk(&api, &format!("type=post.liked&limit={limit}")).await, [35, 75, 115]);
        assert_eq!(walk(&api, &format!("type=post.liked&order=asc&limit={limit}")).await, [115, 75, 35]);
        let range = format!("{times}&limit={limit}");
        assert_eq!(walk(&api, &range).await, [50, 60, 70, 75]);
        assert_eq!(walk(&api, &format!("{range}&order=asc")).await, [75, 70, 60, 50]);
        assert_eq!(walk(&api, &format!("{range}&type=post.liked")).await, [75]);
    }
    assert_eq!(walk(&api, "type=post.unheard-of").await, [0; 0]);
    assert_eq!(walk(&api, &format!("from={}", ago(-60))).await, [0; 0]);
}

#[tokio::test]
async fn a_page_of_large_events_ends_early_with_a_cursor() {
    let api = Api::with_posts().await;
    let data = "x".repeat(250 * 1024);
    for batch in [20..30, 10..20] {
        let large =
            batch.map(|age| json!({"type": "a", "actor": "ada", "at": ago(age), "data": [age, data]}));
        api.call("dev", "POST /topics/posts/events", Value::from_iter(large).to_string()).await.is_ok(201);
    }
    let (mut seen, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = page(&api, &format!("limit=200{cursor}")).await;
        pages += 1;
        seen.extend(
            page["events"].as_array().unwrap().iter().map(|event| event["data"][0].as_i64().unwrap()),
        );
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen, (10..30).collect::<Vec<_>>());
    assert!((2..=4).contains(&pages), "{pages}");
}

#[tokio::test]
async fn from_is_included_and_to_is_not() {
    let api = timeline().await;
    let all = page(&api, "").await;
    let at = |index: usize| all["events"][index]["at"].as_str().unwrap().to_owned();
    assert_eq!(walk(&api, &format!("from={}&to={}", at(3), at(1))).await, [50, 60]);
    assert_eq!(walk(&api, &format!("from={}&to={}", at(3), at(3))).await, [0; 0]);
}

#[tokio::test]
async fn filters_by_type_also_work_without_the_view_by_type() {
    let api = Api::empty().await;
    api.call("dev", "PUT /topics/posts", "").await.is_ok(201);
    let mixed: Vec<_> = (1..=9)
        .map(|age| json!({"type": if age % 3 == 0 { "a" } else { "b" }, "actor": "ada", "at": ago(age * 10), "data": age}))
        .collect();
    api.call("dev", "POST /topics/posts/events", Value::from(mixed).to_string()).await.is_ok(201);
    assert_eq!(walk(&api, "type=a&limit=1").await, [3, 6, 9]);
    assert_eq!(walk(&api, "type=b&order=asc&limit=4").await, [8, 7, 5, 4, 2, 1]);
}

#[tokio::test]
async fn a_consistent_read_costs_twice_as_much() {
    let api = Api::with_posts().await;
    // A fixed time, so that all events are in one bucket.
    let at =
        |second| json!({"type": "a", "actor": "ada", "at": format!("2026-11-01T10:00:{second}Z"), "data": 0});
    let events: Vec<_> = (10..20).map(at).collect();
    api.call("dev", "POST /topics/posts/events", Value::from(events).to_string()).await.is_ok(201);
    // Read the directory into memory first, so that both reads cost the events alone.
    page(&api, "").await;
    let units = async |query: &str| {
        let answer = api.call("ada", &format!("GET /topics/posts/events?{query}"), "").await;
        let cost = answer.is_ok(200).header("lately-cost").unwrap().to_owned();
        assert!(cost.ends_with("items=10, rounds=1"), "{cost}");
        let units = cost.split(", ").next().unwrap().trim_start_matches("read_units=").to_owned();
        units.parse::<f64>().unwrap()
    };
    let eventual = units("limit=50").await;
    assert!(units("limit=50&consistent=true").await > eventual && eventual > 0.0);
}

#[tokio::test]
async fn a_cursor_allows_only_another_limit_or_consistency() {
    let api = timeline().await;
    api.call("dev", "PUT /topics/others", "").await.is_ok(201);
    let filters = format!("type=post.created&from={}", ago(115));
    let cursor = page(&api, &format!("{filters}&limit=2")).await["next"].as_str().unwrap().to_owned();
    let from = filters.split_once('&').unwrap().1;
    for query in [
        format!("{filters}&limit=3&cursor={cursor}"),
        format!("{filters}&consistent=true&cursor={cursor}"),
        format!("{filters}&order=desc&cursor={cursor}"),
    ] {
        assert_eq!(ages(&page(&api, &query).await)[0], 50, "{query}");
    }
    let to = ago(0);
    for query in [
        format!("posts/events?cursor={cursor}"),
        format!("posts/events?{from}&cursor={cursor}"),
        format!("posts/events?type=post.created&cursor={cursor}"),
        format!("posts/events?{filters}&to={to}&cursor={cursor}"),
        format!("posts/events?{from}&type=post.liked&cursor={cursor}"),
        format!("posts/events?{filters}&order=asc&cursor={cursor}"),
        format!("others/events?{filters}&cursor={cursor}"),
    ] {
        api.call("ada", &format!("GET /topics/{query}"), "").await.is(400, "invalid-cursor");
    }
    api.call("ada", &format!("GET /topics?cursor={cursor}"), "").await.is(400, "invalid-cursor");
    let list = api.call("ada", "GET /topics?limit=1", "").await.json()["next"].as_str().unwrap().to_owned();
    api.call("ada", &format!("GET /topics/posts/events?cursor={list}"), "").await.is(400, "invalid-cursor");
}

#[tokio::test]
async fn an_ill_formed_query_is_refused_with_all_its_faults() {
    let api = Api::with_posts().await;
    let query = "limit=0&order=up&from=now&to=later&type=T&consistent=yes&page=2&limit=3";
    let answer = api.call("ada", &format!("GET /topics/posts/events?{query}"), "").await;
    let expected = ["/page", "/limit", "/limit", "/order", "/from", "/to", "/type", "/consistent"];
    assert_eq!(answer.is(400, "invalid-query").faults(), expected);
    let backwards = format!("GET /topics/posts/events?from={}&to={}", ago(1), ago(2));
    assert_eq!(api.call("ada", &backwards, "").await.is(400, "invalid-query").faults(), ["/from"]);
    let answer = api.call("ada", "GET /topics?limit=201&order=asc", "").await;
    assert_eq!(answer.is(400, "invalid-query").faults(), ["/order", "/limit"]);
}

#[tokio::test]
async fn an_event_is_found_by_its_id_in_its_topic_only() {
    let api = timeline().await;
    api.call("dev", "PUT /topics/others", "").await.is_ok(201);
    let event = page(&api, "limit=1").await["events"][0].clone();
    let id = event["id"].as_str().unwrap();
    for id in [id.to_owned(), id.to_uppercase()] {
        let got = api.call("bob", &format!("GET /topics/posts/events/{id}"), "").await;
        assert_eq!(got.is_ok(200).json(), event);
        assert!(got.header("lately-cost").unwrap().starts_with("read_units="));
    }
    api.call("bob", &format!("GET /topics/others/events/{id}"), "").await.is(404, "event-not-found");
    let other = "019aa0b7-9a40-7000-8000-5f3c9e1d2a77";
    api.call("bob", &format!("GET /topics/posts/events/{other}"), "").await.is(404, "event-not-found");
    for id in ["42", "019aa0b7-9a40-4000-8000-5f3c9e1d2a77", "019aa0b79a4070008000-5f3c9e1d2a77", "%20"] {
        for method in ["GET", "DELETE"] {
            api.call("bob", &format!("{method} /topics/posts/events/{id}"), "").await.is(400, "invalid-id");
        }
    }
}

#[tokio::test]
async fn path_parts_are_decoded_once() {
    let api = Api::empty().await;
    api.call("dev", "PUT /topics/team%40example.org", "").await.is_ok(201);
    let posted = api.call("ada", "POST /topics/te%61m@example.org/events", event().to_string()).await;
    assert!(posted.is_ok(201).header("location").unwrap().starts_with("/topics/team@example.org/events/"));
    let id = posted.json()["id"].as_str().unwrap().replace('-', "%2D");
    api.call("ada", &format!("GET /topics/team%40example.org/events/{id}"), "").await.is_ok(200);
    api.call("ada", "GET /topics/team%2540example.org", "").await.is(400, "invalid-name");
}
