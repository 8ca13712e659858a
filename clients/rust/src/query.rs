//! The queries of pages and lists. A field that is `None` is not sent.

use lately_keys::Order;
use serde::{Deserialize, Serialize};

/// The query of a page of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageQuery {
    /// The most entries of a page: 1 to 200, 50 if absent.
    pub limit: Option<u16>,
    /// The order; newest first if absent. Optional with a cursor.
    pub order: Option<Order>,
    /// The `next` or `newer` of a page, with the filters of that page.
    pub cursor: Option<String>,
    /// Events of this time and later, in RFC 3339.
    pub from: Option<String>,
    /// Events before this time.
    pub to: Option<String>,
    /// Events of this type.
    #[serde(rename = "type")]
    pub event_type: Option<String>,
    /// If true, the read shows every acknowledged write, at twice the price.
    pub consistent: Option<bool>,
    /// On timelines of actors and subjects, and on feeds: waits at most 5 s until this event shows.
    pub wait_for: Option<String>,
    /// On timelines of actors and subjects: events of this topic.
    pub topic: Option<String>,
    /// On timelines of actors and subjects: events of this month.
    pub month: Option<String>,
}

/// The query of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    /// The most entries of a page.
    pub limit: Option<u16>,
    /// The cursor of the first page.
    pub cursor: Option<String>,
}

/// The query of the list of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionQuery {
    /// Only sessions of this user.
    pub user: Option<String>,
    /// The most entries of a page.
    pub limit: Option<u16>,
    /// The cursor of the first page.
    pub cursor: Option<String>,
}

/// The query of a repository's list of issues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IssueQuery {
    /// Only issues of this status. Not with `priority`.
    pub status: Option<String>,
    /// Only issues of this priority. Not with `status`.
    pub priority: Option<String>,
    /// Issues of this number and higher.
    pub from: Option<u32>,
    /// Issues of this number and lower.
    pub to: Option<u32>,
    /// The order; newest first if absent.
    pub order: Option<Order>,
    /// The most entries of a page.
    pub limit: Option<u16>,
    /// The cursor of the first page.
    pub cursor: Option<String>,
    /// The `<number>@<revision>` of an issue: waits at most 5 s until the list shows it.
    pub wait_for: Option<String>,
    /// If true, the read shows every acknowledged write, at twice the price.
    pub consistent: Option<bool>,
}

/// The query of one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordQuery {
    /// If true, the read shows every acknowledged write, at twice the price.
    pub consistent: Option<bool>,
}

impl RecordQuery {
    /// A read that shows every acknowledged write.
    pub(crate) const CONSISTENT: Self = Self { consistent: Some(true) };
}
