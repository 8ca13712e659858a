//! The adapter of the conformance suite: reads calls as JSON lines, makes them, and writes their results.

use std::io::{BufRead, Write};
use std::time::Duration;

use lately_adapter::{Caller, paid_parts};
use lately_client::{Lately, Options};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut caller = Caller::new(&Lately::new("", ""));
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let mut answer = if message["client"].is_object() {
            caller = Caller::new(&client(&message["client"]));
            json!({ "value": null })
        } else {
            Box::pin(caller.answer(&message)).await
        };
        let attempts = caller.attempts().into_iter();
        let calls = attempts.map(|(status, cost)| json!({ "status": status, "cost": paid_parts(cost) }));
        answer["calls"] = calls.collect();
        writeln!(std::io::stdout(), "{answer}")?;
    }
    Ok(())
}

/// The client of the next case.
fn client(given: &Value) -> Lately {
    let seconds = |name: &str| given[name].as_f64().map(Duration::from_secs_f64);
    let mut options = Options::new(given["url"].as_str().expect("a case has an address"));
    options.token = given["token"].as_str().map(Into::into).unwrap_or_default();
    options.live_url = given["live_url"].as_str().map(str::to_owned);
    options.attempts = given["attempts"].as_u64().map_or(options.attempts, |n| n.try_into().expect("few"));
    options.timeout = seconds("timeout").unwrap_or(options.timeout);
    options.backoff = seconds("backoff").unwrap_or(Duration::from_millis(20));
    options.poll_every = seconds("poll_seconds").unwrap_or(options.poll_every);
    Lately::with(options)
}
