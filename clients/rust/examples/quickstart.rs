//! The Rust quickstart of docs/clients.md. `scripts/clients` runs it and compares it with the page.
#![expect(clippy::print_stdout, reason = "the quickstart prints what it reads")]

use lately_client::{FollowOptions, Lately, PageQuery, TryStreamExt};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or("http://127.0.0.1:3000".to_owned());
    let lately = Lately::new(url, "dev");
    let posts = lately.topic("greetings");
    posts.put(&json!({})).await?;

    let posted = posts.post(&json!({"type": "greeting", "actor": "ada", "data": {"text": "Hello"}})).await?;

    let mut events = posts.events(PageQuery { limit: Some(20), ..PageQuery::default() });
    while let Some(event) = events.try_next().await? {
        println!("{} {} {:?}", event.at(), event.actor, event.data);
    }

    let ada = lately.actor("ada");
    let page = ada.page(&PageQuery { wait_for: Some(posted.id.to_string()), ..PageQuery::default() }).await?;
    let mut followed = ada.follow(FollowOptions { cursor: page.newer, ..FollowOptions::default() });
    if let Some(followed) = followed.try_next().await? {
        println!("followed {:?} {:?}", followed.event.event.data, followed.cursor);
    }

    if let Err(problem) = lately.topic("no-such-topic").get().await {
        println!("{}: {}", problem.code, problem.detail);
    }
    let answer = posts.get().answer().await?;
    println!("{} for {}", answer.value.topic, answer.cost);
    println!("{}", lately.cost());
    Ok(())
}
