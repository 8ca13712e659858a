//! A user's feed, and the sources that the user follows.

use std::fmt::Display;
use std::ops::Deref;

use lately_model::{FeedPage, FollowView, FollowingList, TimelineEvent, Unread};
use reqwest::Method;
use serde::Serialize;
use serde_json::json;

use crate::operation::{List, Operation};
use crate::place::Place;
use crate::query::{ListQuery, PageQuery};
use crate::record::Document;
use crate::timeline::Timeline;

/// A user's feed. It is also a [`Timeline`].
#[derive(Clone, Debug)]
pub struct Feed {
    pub(crate) timeline: Timeline<TimelineEvent>,
}

impl Deref for Feed {
    type Target = Timeline<TimelineEvent>;

    fn deref(&self) -> &Timeline<TimelineEvent> {
        &self.timeline
    }
}

impl Feed {
    /// One page. The first page of the feed also says how many of its entries are unread, without a price.
    pub fn page(&self, query: &PageQuery) -> Operation<FeedPage> {
        self.place.transport.call(self.reading(query))
    }

    /// The number of unread entries. `more` says that the count stopped, and that there are at least so many.
    pub fn unread(&self) -> Operation<Unread> {
        self.place.call(Method::GET, &["unread"])
    }

    /// Marks the event and all older events as seen. The mark never moves back.
    pub fn seen(&self, id: impl Display) -> Operation<()> {
        let body = json!({ "id": id.to_string() });
        self.place.send(Method::PUT, &["seen"], &body)
    }
}

/// A user: the sources that the user follows, and the profile.
#[derive(Clone, Debug)]
pub struct User {
    pub(crate) place: Place,
}

impl User {
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
        self.place.send(Method::PUT, &["following", &source.to_string()], options)
    }

    /// Makes the user unfollow a source.
    pub fn unfollow(&self, source: impl Display) -> Operation<()> {
        self.place.call(Method::DELETE, &["following", &source.to_string()])
    }

    /// The followed sources, sorted by source.
    pub fn following(&self, query: ListQuery) -> List<FollowingList, FollowView> {
        self.place.list(&["following"], &query, |page| (page.following, page.next))
    }

    /// The user's profile.
    pub fn profile(&self) -> Document {
        Document { place: self.place.below(&["profile"]) }
    }
}
