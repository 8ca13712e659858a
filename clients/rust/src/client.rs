//! The client: a handle for each thing of the API. A handle sends nothing until one of its methods is called.

use std::fmt::Display;

use lately_model::{
    Erasure, ErasureList, FollowerList, FollowerView, Issue as IssueView, IssueList, OwnSession,
    RevokedSessions, Session, SessionList, SessionToken, SourceView, TimelineEvent, TopicList, TopicSummary,
};
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::cost::Cost;
use crate::feed::{Feed, User};
use crate::operation::{List, Operation};
use crate::options::{Options, Token};
use crate::place::Place;
use crate::query::{IssueQuery, ListQuery, SessionQuery};
use crate::record::{Document, Issue};
use crate::request::Request;
use crate::response::Response;
use crate::timeline::Timeline;
use crate::topic::Topic;
use crate::transport::Transport;

/// The client of a Lately. Clones are cheap and share their connections.
#[derive(Clone, Debug)]
pub struct Lately {
    pub(crate) transport: Transport,
}

impl Lately {
    /// A client of the API at an address, with a token.
    ///
    /// # Panics
    /// Like [`Lately::with`].
    pub fn new(url: impl Into<String>, token: impl Into<Token>) -> Self {
        Self::with(Options { token: token.into(), ..Options::new(url) })
    }

    /// A client with options of its own.
    ///
    /// # Panics
    /// If the options have no HTTP client, and TLS cannot be prepared for a new one.
    pub fn with(options: Options) -> Self {
        Self { transport: Transport::new(options) }
    }

    /// The same client with other options, such as the `on_call` of a single call.
    pub fn using(&self, change: impl FnOnce(&mut Options)) -> Self {
        Self { transport: self.transport.using(change) }
    }

    /// The price of all calls until now, also of the clients that `using` made.
    pub fn cost(&self) -> Cost {
        self.transport.cost()
    }

    /// Any request, as an operation.
    pub fn send<T: DeserializeOwned>(&self, request: Request) -> Operation<T> {
        self.transport.call(request)
    }

    /// Sends any request once. The response may have any status.
    ///
    /// # Errors
    /// If there was no response.
    pub async fn send_once(&self, request: &Request) -> Result<Response> {
        self.transport.attempt(request, 1).await
    }

    /// All topics, by name.
    pub fn topics(&self, query: ListQuery) -> List<TopicList, TopicSummary> {
        self.place(&["topics"]).list(&[], &query, |page| (page.topics, page.next))
    }

    /// A topic.
    pub fn topic(&self, name: impl Display) -> Topic {
        Topic::new(&self.transport, name.to_string())
    }

    /// The events that an actor did.
    pub fn actor(&self, name: impl Display) -> Timeline<TimelineEvent> {
        Timeline::new(&self.transport, &["actors", &name.to_string()], &["events"])
    }

    /// The events about a subject.
    pub fn subject(&self, name: impl Display) -> Timeline<TimelineEvent> {
        Timeline::new(&self.transport, &["subjects", &name.to_string()], &["events"])
    }

    /// A user's feed.
    pub fn feed(&self, user: impl Display) -> Feed {
        Feed { timeline: Timeline::new(&self.transport, &["feeds", &user.to_string()], &[]) }
    }

    /// A user.
    pub fn user(&self, name: impl Display) -> User {
        User { place: self.place(&["users", &name.to_string()]) }
    }

    /// An actor or a subject that users can follow: `actor:ada`, `subject:repo:octo:hello`.
    pub fn source(&self, name: impl Display) -> Source {
        Source { place: self.place(&["sources", &name.to_string()]) }
    }

    /// The settings of an application.
    pub fn settings(&self, app: impl Display) -> Document {
        Document { place: self.place(&["settings", &app.to_string()]) }
    }

    /// A repository.
    pub fn repo(&self, owner: impl Display, name: impl Display) -> Repo {
        Repo { place: self.place(&["repos", &owner.to_string(), &name.to_string(), "issues"]) }
    }

    /// The sessions of tokens (scope `admin`, but for [`Sessions::own`]).
    pub fn sessions(&self) -> Sessions {
        Sessions { place: self.place(&["sessions"]) }
    }

    /// Erasures of actors and users (scope `admin`).
    pub fn erasures(&self) -> Erasures {
        Erasures { place: self.place(&["erasures"]) }
    }

    /// Checks that the service runs.
    ///
    /// # Errors
    /// If it does not.
    pub async fn health(&self) -> Result<()> {
        self.transport.send(&Request::to(Method::GET, ["health"])).await.map(drop)
    }

    fn place(&self, parts: &[&str]) -> Place {
        Place::new(&self.transport, parts)
    }
}

/// An actor or a subject that users can follow.
#[derive(Clone, Debug)]
pub struct Source {
    place: Place,
}

impl Source {
    /// The number of followers, and the way in which events reach their feeds.
    pub fn get(&self) -> Operation<SourceView> {
        self.place.call(Method::GET, &[])
    }

    /// The followers.
    pub fn followers(&self, query: ListQuery) -> List<FollowerList, FollowerView> {
        self.place.list(&["followers"], &query, |page| (page.followers, page.next))
    }
}

/// A repository: its issues.
#[derive(Clone, Debug)]
pub struct Repo {
    place: Place,
}

impl Repo {
    /// Opens an issue ([`NewIssue`](lately_model::NewIssue), or anything with its JSON). The client repeats this only
    /// after 429, because a repetition opens another issue.
    pub fn open(&self, issue: &(impl Serialize + ?Sized)) -> Operation<IssueView> {
        self.place.send(Method::POST, &[], issue)
    }

    /// The issues.
    pub fn issues(&self, query: IssueQuery) -> List<IssueList, IssueView> {
        self.place.list(&[], &query, |page| (page.issues, page.next))
    }

    /// One issue.
    pub fn issue(&self, number: u32) -> Issue {
        Issue { place: self.place.below(&[&number.to_string()]) }
    }
}

/// The sessions of tokens.
#[derive(Clone, Debug)]
pub struct Sessions {
    place: Place,
}

impl Sessions {
    /// The session of the client's own token.
    pub fn own(&self) -> Operation<OwnSession> {
        self.place.call(Method::GET, &["self"])
    }

    /// Creates a session ([`NewSession`](lately_model::NewSession), or anything with its JSON). Only this response has
    /// the token.
    pub fn create(&self, session: &(impl Serialize + ?Sized)) -> Operation<SessionToken> {
        self.place.send(Method::POST, &[], session)
    }

    /// The sessions that have not ended, newest first.
    pub fn list(&self, query: SessionQuery) -> List<SessionList, Session> {
        self.place.list(&[], &query, |page| (page.sessions, page.next))
    }

    /// A session, without its token.
    pub fn get(&self, id: impl Display) -> Operation<Session> {
        self.place.call(Method::GET, &[&id.to_string()])
    }

    /// Revokes a session.
    pub fn revoke(&self, id: impl Display) -> Operation<()> {
        self.place.call(Method::DELETE, &[&id.to_string()])
    }

    /// Revokes all sessions of a user.
    pub fn revoke_all(&self, user: impl Display) -> Operation<RevokedSessions> {
        let request = self.place.to(Method::DELETE, &[]).parameter("user", Some(&user.to_string()));
        self.place.transport.call(request)
    }
}

/// Erasures of actors and users.
#[derive(Clone, Debug)]
pub struct Erasures {
    place: Place,
}

impl Erasures {
    /// Erases an actor, a user, or both ([`NewErasure`](lately_model::NewErasure), or anything with its JSON). The call
    /// ends when the erasure has begun; [`Erasures::get`] says how far it is.
    pub fn begin(&self, erasure: &(impl Serialize + ?Sized)) -> Operation<Erasure> {
        self.place.send(Method::POST, &[], erasure)
    }

    /// The erasures of the last days, newest first.
    pub fn list(&self, query: ListQuery) -> List<ErasureList, Erasure> {
        self.place.list(&[], &query, |page| (page.erasures, page.next))
    }

    /// An erasure; when its state is `done`, the receipt.
    pub fn get(&self, id: impl Display) -> Operation<Erasure> {
        self.place.call(Method::GET, &[&id.to_string()])
    }
}
