//! The act on profiles and settings.

use serde_json::json;

use crate::client::scenario::cast::Cast;
use crate::client::scenario::stage::{ActResult, Stage};

pub(super) async fn records(stage: &mut Stage<'_>, cast: &Cast<'_>) -> ActResult {
    let Cast { run, admin, ada, .. } = cast;
    let records = [
        ("a profile", format!("/users/{}/profile", ada.name), ada),
        ("settings", format!("/settings/scenario-{run}"), admin),
    ];
    for (what, path, owner) in records {
        let kept = async {
            let (first, second) = (json!({"name": "first"}), json!({"name": "second"}));
            let made = owner.put(&path).header("if-none-match", "*").json(&first).gives(201).await?;
            let old = made.header("etag")?;
            let shown = ada.get(format_args!("{path}?consistent=true")).gives(200).await?;
            let is_so = shown.header("etag")? == old;
            shown.shows("", first)?.holds(is_so, format_args!("the etag {old}"))?;
            owner.put(&path).json(&second).refused(428, "revision-required").await?;
            let replaced = owner.put(&path).header("if-match", &old).json(&second).gives(200).await?;
            let tag = replaced.header("etag")?;
            let stale = owner.put(&path).header("if-match", &old).json(&second);
            let stale = stale.refused(412, "revision-mismatch").await?;
            let is_so = stale.header("etag")? == tag;
            stale.holds(is_so, format_args!("the etag {tag}"))?;
            owner.delete(&path).header("if-match", &tag).gives(204).await?;
            ada.get(format_args!("{path}?consistent=true")).refused(404, "not-found").await
        };
        stage.step(&format!("{what}: created, read, replaced with its revision, deleted"), kept).await?;
    }
    Ok(())
}
