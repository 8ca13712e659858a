//! The script of a scenario: it creates the callers and the topic, then runs one act after the other.

use clap::ValueEnum;
use lately_keys::Topic;
use lately_kit::token::Token;
use serde_json::{Value, json};

use crate::client::scenario::ScenarioPart;
use crate::client::scenario::call::{ScenarioAnswer, ScenarioCaller, ScenarioRun, StepFailure};
use crate::client::scenario::cast::{Cast, walk};
use crate::client::scenario::consumers::consumers;
use crate::client::scenario::deletion::deletion;
use crate::client::scenario::events::events;
use crate::client::scenario::feeds::feeds;
use crate::client::scenario::issues::issues;
use crate::client::scenario::records::records;
use crate::client::scenario::refusals::refusals;
use crate::client::scenario::report::report;
use crate::client::scenario::stage::{ActEnded, ActResult, Stage, go_on};

/// The lifetime of the sessions, in seconds: longer than any run.
const SESSION_SECONDS: u32 = 3_600;

/// Runs all acts. Every act needs the users and the topic, so a failure to create them ends the scenario.
pub(super) async fn play(
    stage: &mut Stage<'_>,
    scenario: &ScenarioRun,
    token: &Token,
    reported: Option<&Topic>,
    skip: &[ScenarioPart],
) -> ActResult {
    let run = format!("{:08x}", fastrand::u32(..));
    let admin = scenario.caller("admin", Some(token));
    let [ada, bob] = sessions(stage, scenario, &admin, &run).await?;
    let nobody = scenario.caller("nobody", None);
    let stranger = scenario.caller("stranger", Some(&Token::of("nobody's")));
    let topic = format!("scenario-{run}");
    let cast = &Cast { scenario, run, topic, admin, ada, bob, nobody, stranger };
    topics(stage, cast).await?;
    for part in ScenarioPart::value_variants() {
        if skip.contains(part) {
            let name = part.to_possible_value().expect("each part has a name");
            stage.tell(format_args!("skip {}", name.get_name()))?;
            continue;
        }
        let act = match part {
            ScenarioPart::Health => health(stage, cast).await,
            ScenarioPart::Openapi => openapi(stage, cast).await,
            ScenarioPart::Events => Box::pin(events(stage, cast)).await,
            ScenarioPart::Refusals => Box::pin(refusals(stage, cast)).await,
            ScenarioPart::Feeds => Box::pin(feeds(stage, cast)).await,
            ScenarioPart::Records => Box::pin(records(stage, cast)).await,
            ScenarioPart::Issues => Box::pin(issues(stage, cast)).await,
            ScenarioPart::Consumers => Box::pin(consumers(stage, cast)).await,
            ScenarioPart::Deletion => Box::pin(deletion(stage, cast)).await,
        };
        go_on(act)?;
    }
    match reported {
        Some(topic) => report(stage, cast, topic).await,
        None => Ok(()),
    }
}

async fn sessions<'a>(
    stage: &mut Stage<'_>,
    scenario: &'a ScenarioRun,
    admin: &ScenarioCaller<'a>,
    run: &str,
) -> Result<[ScenarioCaller<'a>; 2], ActEnded> {
    let minted = async |user: &str| {
        let user = format!("{user}-{run}");
        let session = json!({"user": user, "scopes": ["read", "write"], "ttl_seconds": SESSION_SECONDS});
        let session = admin.post("/sessions").json(&session).gives(201).await?;
        scenario.leaves(format!("/sessions/{}", session.text("/id")?));
        Ok::<_, StepFailure>(scenario.caller(user, Some(&Token::of(&session.text("/token")?))))
    };
    let users = async { Ok([minted("ada").await?, minted("bob").await?]) };
    let users = stage.step("sessions are opened for two users", users).await?;
    let revoked = async {
        let session = json!({"scopes": ["read"], "ttl_seconds": 60});
        let id = admin.post("/sessions").json(&session).gives(201).await?.text("/id")?;
        let path = format!("/sessions/{id}");
        let shown = admin.get(&path).until("the session", |answer| answer.status() == 200).await?;
        shown.shows("/id", id)?.shows("/token", Value::Null)?;
        admin.delete(&path).gives(204).await?;
        admin.get(&path).until("404", |answer| answer.is(404, "not-found")).await
    };
    stage.step("a session is shown without its token, and revoked", revoked).await?;
    let together = async {
        let user = format!("carol-{run}");
        let session = json!({"user": user, "scopes": ["read"], "ttl_seconds": 60});
        let id = admin.post("/sessions").json(&session).gives(201).await?.text("/id")?;
        let path = format!("/sessions?user={user}");
        admin.get(&path).gives(200).await?.shows("/sessions/0/id", id)?;
        admin.delete(&path).gives(200).await?.shows("/revoked", 1)?;
        admin.get(&path).gives(200).await?.shows("/sessions", json!([]))
    };
    stage.step("a user's sessions are listed, and revoked together", together).await?;
    Ok(users)
}

async fn topics(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let Cast { scenario, topic, admin, ada, .. } = cast;
    let path = format!("/topics/{topic}");
    let made = async {
        let settings = json!({"bucket": "hour", "views": ["actor", "subject", "type"]});
        admin.put(&path).json(&settings).gives(201).await?.shows("/topic", &**topic)?;
        ada.get(&path).until("the topic", |answer| answer.at("/bucket") == "hour").await?;
        let changed = admin.put(&path).json(&json!({"max_shards": 32})).gives(200).await?;
        changed.shows("/max_shards", 32)?.shows("/views", json!(["actor", "subject", "type"]))?;
        admin.put(&path).json(&json!({"bucket": "day"})).refused(409, "bucket-is-fixed").await
    };
    stage.step("a topic is created, read and changed", made).await?;
    let listed = async {
        let target = "/topics?limit=100";
        // The list is read from an index, which is updated asynchronously.
        let attempt = async || {
            let mut listed = false;
            let show = |page: &ScenarioAnswer| listed |= page.list("/topics", "topic").contains(topic);
            walk(ada, target, show).await?.holds(listed, format_args!("{topic} on one of the pages"))
        };
        scenario.wait(attempt).await
    };
    stage.step("the topic is in the list of topics", listed).await?;
    Ok(())
}

async fn health(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let ask = async { cast.nobody.get("/health").gives(200).await?.shows("/status", "ok") };
    stage.step("the health check needs no token", ask).await?;
    Ok(())
}

async fn openapi(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let ask = async {
        let document = cast.nobody.get("/openapi.json").gives(200).await?;
        let is_so = document.at("/paths/~1topics~1{topic}~1events/post").is_object();
        document.holds(is_so, "a document of the routes")
    };
    stage.step("the OpenAPI document needs no token", ask).await?;
    Ok(())
}

/// Deletes everything that the run created and that can be deleted.
pub(super) async fn clean_up(stage: &mut Stage<'_>, scenario: &ScenarioRun, token: &Token) -> ActResult {
    let admin = scenario.caller("admin", Some(token));
    let cleaned = async {
        let mut done = Ok(());
        for path in scenario.left() {
            let deleted = admin.delete(path).gives(204).await;
            done = done.and(deleted.map(drop));
        }
        done
    };
    stage.step("the run's data is deleted", cleaned).await
}
