"""The client: a handle for each thing of the API. A handle sends nothing until one of its methods is called."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TypeVar, Unpack

import httpx

from .. import api
from ..cost import Cost
from ..options import MoreOptions, Options, Shared, SomeOptions
from ..request import Request, part
from .record import Document, Issue
from .timeline import Timeline
from .topic import Topic
from .transport import Transport

T = TypeVar("T")


class AsyncLately:
    """The asynchronous client. Close it with `aclose()` or `async with`. `http` may have settings, as of proxies."""

    def __init__(
        self,
        url: str,
        token: str | Callable[[], str] | None = None,
        *,
        http: httpx.AsyncClient | None = None,
        **options: Unpack[MoreOptions],
    ) -> None:
        self._transport = Transport(Options(url, token, **options), http or httpx.AsyncClient(), Shared())

    async def __aenter__(self) -> "AsyncLately":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._transport.http.aclose()

    def using(self, **options: Unpack[SomeOptions]) -> "AsyncLately":
        """The same client with other options, such as the `on_call` of a single call."""
        client = object.__new__(AsyncLately)
        client._transport = self._transport.using(**options)
        return client

    @property
    def cost(self) -> Cost:
        """The cost of all calls until now."""
        return self._transport.shared.cost

    async def send(self, request: Request[T]) -> T:
        """Sends any request that the functions of `api` build."""
        return await self._transport.value(request)

    def topics(self, **query: Unpack[api.ListTopicsQuery]) -> AsyncIterator[api.TopicSummary]:
        return self._transport.list(api.list_topics, "topics", query)

    def topic(self, name: str) -> Topic:
        return Topic(self._transport, name)

    def actor(self, name: str) -> Timeline[api.TimelinePage, api.TimelineEvent]:
        """The events that an actor did."""
        return Timeline(self._transport, f"/actors/{part(name)}", partial(api.get_actor_events, name))

    def subject(self, name: str) -> Timeline[api.TimelinePage, api.TimelineEvent]:
        """The events about a subject."""
        return Timeline(self._transport, f"/subjects/{part(name)}", partial(api.get_subject_events, name))

    def feed(self, user: str) -> "Feed":
        return Feed(self._transport, user)

    def user(self, name: str) -> "User":
        return User(self._transport, name)

    def source(self, name: str) -> "Source":
        """An actor or a subject that users can follow: `actor:ada`, `subject:repo:octo:hello`."""
        return Source(self._transport, name)

    def settings(self, app: str) -> Document:
        """The settings of an application."""
        return Document(self._transport, app, api.get_settings, api.put_settings, api.delete_settings)

    def repo(self, owner: str, name: str) -> "Repo":
        return Repo(self._transport, owner, name)

    @property
    def sessions(self) -> "Sessions":
        return Sessions(self._transport)

    @property
    def erasures(self) -> "Erasures":
        return Erasures(self._transport)

    async def health(self) -> api.Health:
        return await self._transport.value(api.get_health())


class Feed(Timeline[api.FeedPage, api.TimelineEvent]):
    """A user's feed."""

    def __init__(self, transport: Transport, user: str) -> None:
        super().__init__(transport, f"/feeds/{part(user)}", partial(api.get_feed, user))
        self.user = user

    async def unread(self) -> api.Unread:
        """The exact number of unread entries. The first page of the feed says it for its entries without a price."""
        return await self._transport.value(api.get_unread(self.user))

    async def seen(self, id: str) -> None:
        """Marks the event and all older events as seen. The mark never moves back."""
        await self._transport.value(api.put_seen(self.user, {"id": id}))


class User:
    """A user: the sources that the user follows, and the profile."""

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport, self.name = transport, name

    async def follow(self, source: str, options: api.Follow | None = None) -> api.Following:
        """Makes the user follow a source: `actor:ada`, `subject:repo:octo:hello`."""
        return await self._transport.value(api.put_following(self.name, source, options))

    async def unfollow(self, source: str) -> None:
        await self._transport.value(api.delete_following(self.name, source))

    def following(self, **query: Unpack[api.ListFollowingQuery]) -> AsyncIterator[api.Following]:
        return self._transport.list(partial(api.list_following, self.name), "following", query)

    def profile(self) -> Document:
        return Document(self._transport, self.name, api.get_profile, api.put_profile, api.delete_profile)


class Source:
    def __init__(self, transport: Transport, name: str) -> None:
        self._transport, self.name = transport, name

    async def get(self) -> api.SourceView:
        return await self._transport.value(api.get_source(self.name))

    def followers(self, **query: Unpack[api.ListFollowersQuery]) -> AsyncIterator[api.Follower]:
        return self._transport.list(partial(api.list_followers, self.name), "followers", query)


class Repo:
    """A repository: its issues."""

    def __init__(self, transport: Transport, owner: str, name: str) -> None:
        self._transport, self.owner, self.name = transport, owner, name

    async def open(self, issue: api.NewIssue) -> api.Issue:
        """Opens an issue. The client repeats this only after 429, because a repetition opens another issue."""
        return await self._transport.value(api.post_issue(self.owner, self.name, issue))

    def issues(self, **query: Unpack[api.ListIssuesQuery]) -> AsyncIterator[api.Issue]:
        return self._transport.list(partial(api.list_issues, self.owner, self.name), "issues", query)

    def issue(self, number: int) -> Issue:
        return Issue(self._transport, self.owner, self.name, number)


class Sessions:
    """The sessions of tokens (scope `admin`, but for `self`)."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def self(self) -> api.OwnSession:
        """The session of the client's own token."""
        return await self._transport.value(api.get_own_session())

    async def create(self, session: api.NewSession) -> api.SessionToken:
        """Creates a session. Only this response has the token."""
        return await self._transport.value(api.post_session(session))

    def list(self, **query: Unpack[api.ListSessionsQuery]) -> AsyncIterator[api.Session]:
        return self._transport.list(api.list_sessions, "sessions", query)

    async def get(self, id: str) -> api.Session:
        return await self._transport.value(api.get_session(id))

    async def revoke(self, id: str) -> None:
        await self._transport.value(api.delete_session(id))

    async def revoke_all(self, user: str) -> api.RevokedSessions:
        return await self._transport.value(api.delete_sessions(user=user))


class Erasures:
    """Erasures of actors and users (scope `admin`)."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def begin(self, erasure: api.NewErasure) -> api.Erasure:
        """Erases an actor, a user, or both. This call ends when the erasure has begun; `get` says how far it is."""
        return await self._transport.value(api.post_erasure(erasure))

    def list(self, **query: Unpack[api.ListErasuresQuery]) -> AsyncIterator[api.Erasure]:
        """The erasures of the last days, newest first."""
        return self._transport.list(api.list_erasures, "erasures", query)

    async def get(self, id: str) -> api.Erasure:
        """An erasure; when its state is `done`, the receipt."""
        return await self._transport.value(api.get_erasure(id))
