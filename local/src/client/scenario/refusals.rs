//! The act on refusals: invalid requests get the documented error.

use serde_json::json;

use crate::client::scenario::cast::Cast;
use crate::client::scenario::stage::{ActResult, Stage};

pub(super) async fn refusals(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let Cast { run, topic, ada, bob, nobody, stranger, .. } = cast;
    let path = format!("/topics/{topic}/events");
    // A gateway may answer these requests itself, with errors of its own.
    let outside = async {
        nobody.get(&path).gives(401).await?;
        stranger.get(&path).gives(403).await?;
        ada.get("/nowhere").gives(404).await
    };
    stage.step("a missing token, an invalid token and an unknown route are rejected", outside).await?;
    let forbidden = async {
        let event = json!({"type": "post.created", "actor": ada.name});
        bob.post(&path).json(&event).refused(403, "forbidden").await?;
        bob.get(format_args!("/feeds/{}", ada.name)).refused(403, "forbidden").await?;
        ada.put(format_args!("/topics/{topic}")).json(&json!({})).refused(403, "forbidden").await
    };
    stage.step("nobody may act as another user or beyond their scopes", forbidden).await?;
    let wrong = async {
        let events = json!([{"type": "a", "actor": ada.name}, {"type": "No", "actor": "#", "more": 1}]);
        let refused = ada.post(&path).json(&events).refused(422, "invalid-event").await?;
        let faults = refused.list("/errors", "path");
        let named = ["/1/type", "/1/actor", "/1/more"].iter().all(|path| faults.iter().any(|it| it == path));
        refused.holds(named, "a list of all faults")?;
        ada.post(&path).text("application/json", "{").refused(400, "malformed-json").await?;
        ada.get(format_args!("{path}?limit=0")).refused(400, "invalid-query").await?;
        ada.get(format_args!("{path}?cursor=never")).refused(400, "invalid-cursor").await?;
        ada.get(format_args!("{path}/42")).refused(400, "invalid-id").await?;
        ada.get("/sources/of-nothing").refused(400, "invalid-name").await
    };
    stage.step("invalid requests are rejected, with the place of each fault", wrong).await?;
    let absent = async {
        let id = "01900000-0000-7000-8000-000000000000";
        ada.get(format_args!("{path}/{id}")).refused(404, "event-not-found").await?;
        ada.get(format_args!("/topics/none-{run}/events")).refused(404, "topic-not-found").await
    };
    stage.step("a missing event and a missing topic are not found", absent).await?;
    Ok(())
}
