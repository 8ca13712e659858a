//! The act on refusals: what is wrong is refused, and says so.

use serde_json::json;

use crate::client::scenario::cast::Cast;
use crate::client::scenario::stage::{ActResult, Stage};

pub(super) async fn refusals(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let Cast { run, topic, ada, bob, nobody, stranger, .. } = cast;
    let path = format!("/topics/{topic}/events");
    // These a gateway may answer itself, in words of its own.
    let outside = async {
        nobody.get(&path).gives(401).await?;
        stranger.get(&path).gives(403).await?;
        ada.get("/nowhere").gives(404).await
    };
    stage.step("without a good token, or to nowhere, there is no way", outside).await?;
    let forbidden = async {
        let event = json!({"type": "post.created", "actor": ada.name});
        bob.post(&path).json(&event).refused(403, "forbidden").await?;
        bob.get(format_args!("/feeds/{}", ada.name)).refused(403, "forbidden").await?;
        ada.put(format_args!("/topics/{topic}")).json(&json!({})).refused(403, "forbidden").await
    };
    stage.step("nobody acts as another, or beyond their scopes", forbidden).await?;
    let wrong = async {
        let events = json!([{"type": "a", "actor": ada.name}, {"type": "No", "actor": "#", "more": 1}]);
        let refused = ada.post(&path).json(&events).refused(422, "invalid-event").await?;
        let faults = refused.list("/errors", "path");
        let named = ["/1/type", "/1/actor", "/1/more"].iter().all(|path| faults.iter().any(|it| it == path));
        refused.holds(named, "one that names each fault")?;
        ada.post(&path).text("application/json", "{").refused(400, "malformed-json").await?;
        ada.get(format_args!("{path}?limit=0")).refused(400, "invalid-query").await?;
        ada.get(format_args!("{path}?cursor=never")).refused(400, "invalid-cursor").await?;
        ada.get(format_args!("{path}/42")).refused(400, "invalid-id").await?;
        ada.get("/sources/of-nothing").refused(400, "invalid-name").await
    };
    stage.step("what is wrong is refused, each fault by its place", wrong).await?;
    let absent = async {
        let id = "01900000-0000-7000-8000-000000000000";
        ada.get(format_args!("{path}/{id}")).refused(404, "event-not-found").await?;
        ada.get(format_args!("/topics/none-{run}/events")).refused(404, "topic-not-found").await
    };
    stage.step("what is not there is said not to be", absent).await?;
    Ok(())
}
