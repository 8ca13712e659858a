//! Following: the bodies that clients send, and the views that they get.

use lately_keys::{Source, UnixMillis, User};
use serde::{Deserialize, Serialize};

use crate::body::{self, BodyError};
use crate::bounded::bounded;
use crate::limits::{BACKFILL, BACKFILL_DEFAULT};

bounded! {
    /// The number of earlier events that a follow copies into the feed: 0 to 200, default 50.
    Backfill(u16): 0..=BACKFILL, default BACKFILL_DEFAULT;
    /// The number of events is too high.
    BackfillError = "must be a whole number from {} to {}";
}

/// The body of a follow.
///
/// ```
/// use lately_model::{Backfill, Follow};
///
/// assert_eq!(Follow::parse(br#"{"backfill": 10}"#)?.backfill.get(), 10);
/// assert_eq!(Follow::parse(b"")?.backfill, Backfill::default());
/// assert!(Follow::parse(br#"{"backfill": 201}"#).is_err());
/// # Ok::<(), lately_model::BodyError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct Follow {
    /// The number of the source's events from before the follow that the feed will show.
    pub backfill: Backfill,
}

impl Follow {
    /// Reads the body of a follow. An empty body means the same as `{}`.
    ///
    /// # Errors
    /// If the body is not JSON, or with all its faults.
    pub fn parse(body: &[u8]) -> Result<Self, BodyError> {
        body::object_or_empty(body, ["backfill"], |[backfill], found| {
            Some(Self { backfill: backfill.json(BackfillError, found).unwrap_or_default() })
        })
    }
}

/// A source that a user follows: `{"source","since"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = Following))]
pub struct FollowView {
    /// The followed source.
    pub source: Source,
    /// When the follow began.
    pub since: UnixMillis,
}

/// A page of the sources that a user follows, sorted by source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct FollowingList {
    /// The followed sources.
    pub following: Vec<FollowView>,
    /// The cursor of the next page; null at the end.
    #[cfg_attr(feature = "document", schema(required, value_type = Option<crate::schemas::Cursor>))]
    pub next: Option<String>,
}

/// A follower of a source: `{"user","since"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = Follower))]
pub struct FollowerView {
    /// The follower.
    pub user: User,
    /// When the follow began.
    pub since: UnixMillis,
}

/// A page of a source's followers, in an arbitrary order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct FollowerList {
    /// The followers.
    pub followers: Vec<FollowerView>,
    /// The cursor of the next page; null at the end.
    #[cfg_attr(feature = "document", schema(required, value_type = Option<crate::schemas::Cursor>))]
    pub next: Option<String>,
}

/// A source: `{"source","followers","mode"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema))]
pub struct SourceView {
    /// Its name.
    pub source: Source,
    /// The number of its followers.
    pub followers: u64,
    /// `push`: events are copied into feeds. `pull`: events are read at each read of a feed. `promoting`: the source
    /// changes from push to pull.
    pub mode: SourceMode,
}

/// The way in which a source's events come into its followers' feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "document", derive(utoipa::ToSchema), schema(as = inline::SourceMode))]
#[serde(rename_all = "lowercase")]
pub enum SourceMode {
    /// Each event is copied into each feed.
    Push,
    /// The source moves from push to pull: its events are still copied while its followers' feeds learn to read its
    /// timeline.
    Promoting,
    /// Feeds read the events from the source's timeline whenever they are read.
    Pull,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backfill_is_0_to_200_events_default_50() {
        for (body, events) in
            [("", 50), (" ", 50), ("{}", 50), (r#"{"backfill":0}"#, 0), (r#"{"backfill":200}"#, 200)]
        {
            assert_eq!(Follow::parse(body.as_bytes()).unwrap().backfill.get(), events, "{body}");
        }
    }

    #[test]
    fn views_are_written_as_the_contract_says() {
        let since = "2026-11-20T09:30:00Z".parse().unwrap();
        let source: Source = "actor:ada".parse().unwrap();
        let follow = FollowView { source: source.clone(), since };
        assert_eq!(
            serde_json::to_string(&FollowingList { following: vec![follow], next: None }).unwrap(),
            r#"{"following":[{"source":"actor:ada","since":"2026-11-20T09:30:00.000Z"}],"next":null}"#
        );
        let follower = FollowerView { user: "bob".parse().unwrap(), since };
        assert_eq!(
            serde_json::to_string(&FollowerList { followers: vec![follower], next: Some("AQ".to_owned()) })
                .unwrap(),
            r#"{"followers":[{"user":"bob","since":"2026-11-20T09:30:00.000Z"}],"next":"AQ"}"#
        );
        let modes = [SourceMode::Push, SourceMode::Promoting, SourceMode::Pull];
        assert_eq!(serde_json::to_string(&modes).unwrap(), r#"["push","promoting","pull"]"#);
        assert_eq!(
            serde_json::to_string(&SourceView { source, followers: 7, mode: SourceMode::Push }).unwrap(),
            r#"{"source":"actor:ada","followers":7,"mode":"push"}"#
        );
    }
}
