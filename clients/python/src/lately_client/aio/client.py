"""The client: a handle for each thing of the API. A handle sends nothing until one of its methods is called."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, TypeVar, Unpack, overload

import httpx

from .. import api
from ..cost import Cost
from ..options import MoreOptions, Options, Shared, SomeOptions
from ..request import Request, part
from .record import Document, Issue
from .timeline import Activity, Feed
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

    @overload
    def topic(self, name: str) -> Topic[Any]: ...
    @overload
    def topic(self, name: str, data: type[T]) -> Topic[T]: ...
    def topic(self, name: str, data: type[Any] | None = None) -> Topic[Any]:
        """A topic. `data` is the class of its events' data: a TypedDict, a dataclass or a model of Pydantic."""
        return Topic(self._transport, name, data)

    @overload
    def actor(self, name: str) -> Activity[Any]: ...
    @overload
    def actor(self, name: str, data: type[T]) -> Activity[T]: ...
    def actor(self, name: str, data: type[Any] | None = None) -> Activity[Any]:
        """The events that an actor did."""
        return Activity(self._transport, f"/actors/{part(name)}", partial(api.get_actor_events, name), data)

    @overload
    def subject(self, name: str) -> Activity[Any]: ...
    @overload
    def subject(self, name: str, data: type[T]) -> Activity[T]: ...
    def subject(self, name: str, data: type[Any] | None = None) -> Activity[Any]:
        """The events about a subject."""
        return Activity(self._transport, f"/subjects/{part(name)}", partial(api.get_subject_events, name), data)

    @overload
    def feed(self, user: str) -> Feed[Any]: ...
    @overload
    def feed(self, user: str, data: type[T]) -> Feed[T]: ...
    def feed(self, user: str, data: type[Any] | None = None) -> Feed[Any]:
        return Feed(self._transport, user, data)

    def user(self, name: str) -> "User":
        return User(self._transport, name)

    def source(self, name: str) -> "Source":
        """An actor or a subject that users can follow: `actor:ada`, `subject:repo:octo:hello`."""
        return Source(self._transport, name)

    @overload
    def settings(self, app: str) -> Document[api.Document]: ...
    @overload
    def settings(self, app: str, data: type[T]) -> Document[T]: ...
    def settings(self, app: str, data: type[Any] | None = None) -> Document[Any]:
        """The settings of an application."""
        return Document(self._transport, app, data, api.get_settings, api.put_settings, api.delete_settings)

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

    @overload
    def profile(self) -> Document[api.Document]: ...
    @overload
    def profile(self, data: type[T]) -> Document[T]: ...
    def profile(self, data: type[Any] | None = None) -> Document[Any]:
        return Document(self._transport, self.name, data, api.get_profile, api.put_profile, api.delete_profile)


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
