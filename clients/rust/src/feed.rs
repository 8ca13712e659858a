//! A user's feed, and the sources that the user follows.

use std::fmt::Display;
use std::ops::Deref;

use lately_model::{FeedPage, FollowView, FollowingList, TimelineEvent, Unread};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;

use crate::query::{ListQuery, PageQuery};
use crate::record::Document;
use crate::request::Request;
use crate::timeline::Timeline;
use crate::transport::Transport;
use crate::{Result, Stream};

/// A user's feed. It is also a [`Timeline`].
#[derive(Clone, Debug)]
pub struct Feed {
    timeline: Timeline<TimelineEvent>,
    user: String,
}

impl Deref for Feed {
    type Target = Timeline<TimelineEvent>;

    fn deref(&self) -> &Timeline<TimelineEvent> {
        &self.timeline
    }
}

impl Feed {
    pub(crate) fn new(transport: Transport, user: String) -> Self {
        Self { timeline: Timeline::new(transport, &["feeds", &user], &[]), user }
    }

    /// One page. The first page of the feed also says how many of its entries are unread, without a price.
    pub async fn page(&self, query: &PageQuery) -> Result<FeedPage> {
        self.transport().value(&self.reading(query)).await
    }

    /// The exact number of unread entries.
    pub async fn unread(&self) -> Result<Unread> {
        self.transport().value(&Request::to(Method::GET, ["feeds", &self.user, "unread"])).await
    }

    /// Marks the event and all older events as seen. The mark never moves back.
    pub async fn seen(&self, id: impl Display) -> Result<()> {
        let request = Request::to(Method::PUT, ["feeds", &self.user, "seen"]);
        self.transport().value(&request.json(&json!({ "id": id.to_string() }))).await
    }
}

/// A user: the sources that the user follows, and the profile.
#[derive(Clone, Debug)]
pub struct User {
    transport: Transport,
    name: String,
}

impl User {
    pub(crate) fn new(transport: Transport, name: String) -> Self {
        Self { transport, name }
    }

    /// Makes the user follow a source: `actor:ada`, `subject:repo:octo:hello`.
    pub async fn follow(&self, source: impl Display) -> Result<FollowView> {
        self.follow_with(source, &json!({})).await
    }

    /// Follows with options: `{"backfill"}` is the number of earlier events that the feed will show.
    pub async fn follow_with(
        &self,
        source: impl Display,
        options: &(impl Serialize + ?Sized),
    ) -> Result<FollowView> {
        self.transport.value(&self.to(Method::PUT, Some(&source.to_string())).json(options)).await
    }

    /// Makes the user unfollow a source.
    pub async fn unfollow(&self, source: impl Display) -> Result<()> {
        self.transport.value(&self.to(Method::DELETE, Some(&source.to_string()))).await
    }

    /// The followed sources, sorted by source.
    pub fn following(&self, ListQuery { limit, cursor }: ListQuery) -> Stream<FollowView> {
        let request = self.to(Method::GET, None).query(&ListQuery { limit, cursor: None });
        self.transport.list(request, cursor, |FollowingList { following, next }| (following, next))
    }

    /// The user's profile.
    pub fn profile(&self) -> Document {
        let parts = ["users", &self.name, "profile"];
        Document::new(self.transport.clone(), parts.map(str::to_owned).into())
    }

    fn to(&self, method: Method, source: Option<&str>) -> Request {
        Request::to(method, ["users", &self.name, "following"].into_iter().chain(source))
    }
}
