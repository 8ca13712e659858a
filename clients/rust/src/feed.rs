//! A user's feed, and the sources that the user follows.

use std::fmt::Display;
use std::ops::Deref;

use lately_model::{FeedPage, FollowView, FollowingList, TimelineEvent, Unread};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;

use crate::operation::{List, Operation};
use crate::query::{ListQuery, PageQuery};
use crate::record::Document;
use crate::request::Request;
use crate::timeline::Timeline;
use crate::transport::Transport;

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
    pub fn page(&self, query: &PageQuery) -> Operation<FeedPage> {
        self.transport().call(self.reading(query))
    }

    /// The exact number of unread entries.
    pub fn unread(&self) -> Operation<Unread> {
        self.transport().call(Request::to(Method::GET, ["feeds", &self.user, "unread"]))
    }

    /// Marks the event and all older events as seen. The mark never moves back.
    pub fn seen(&self, id: impl Display) -> Operation<()> {
        let request = Request::to(Method::PUT, ["feeds", &self.user, "seen"]);
        self.transport().call(request.json(&json!({ "id": id.to_string() })))
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
    pub fn follow(&self, source: impl Display) -> Operation<FollowView> {
        self.follow_with(source, &json!({}))
    }

    /// Follows with options: `{"backfill"}` is the number of earlier events that the feed will show.
    pub fn follow_with(
        &self,
        source: impl Display,
        options: &(impl Serialize + ?Sized),
    ) -> Operation<FollowView> {
        self.transport.call(self.to(Method::PUT, Some(&source.to_string())).json(options))
    }

    /// Makes the user unfollow a source.
    pub fn unfollow(&self, source: impl Display) -> Operation<()> {
        self.transport.call(self.to(Method::DELETE, Some(&source.to_string())))
    }

    /// The followed sources, sorted by source.
    pub fn following(&self, query: ListQuery) -> List<FollowingList, FollowView> {
        self.transport.list(self.to(Method::GET, None), &query, |page| (page.following, page.next))
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
