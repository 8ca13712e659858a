"""Generated from `aio` by clients/generate. Do not edit.

A timeline: pages of events, newest first or oldest first, and the events that come.
"""

from collections.abc import Generator, Iterator, Callable
from functools import partial
from typing import Any, Generic, TypeVar, Unpack, cast

from .. import api
from ..following import Followed
from ..request import Request, part
from .follow import follow
from .transport import Transport

P = TypeVar("P")
E = TypeVar("E")
T = TypeVar("T")


class Timeline(Generic[P, E]):
    """Reads a timeline. Its kinds have the methods, each with the parameters that the server takes."""

    def __init__(
        self, transport: Transport, path: str, read: Callable[..., Request[Any]], model: type[Any] | None
    ) -> None:
        self._transport, self._path, self._model = transport, path, model
        self._read: Callable[..., Request[Any]] = read

    def _page(self, query: Any) -> P:
        return cast(P, self._transport.events(self._read(**query), self._model))

    def _pages(self, query: Any) -> Iterator[P]:
        page: Any = self._page(query)
        while True:
            yield page
            if not page["has_more"] or page["next"] is None:
                return
            # Only a page without a cursor can wait for an event.
            page = self._page({**query, "cursor": page["next"], "wait_for": None})

    def _events(self, query: Any) -> Iterator[E]:
        page: Any
        for page in self._pages(query):
            for event in page["events"]:
                yield event

    def _follow(self, cursor: str | None, **filters: str | None) -> Generator[Followed[E], None, None]:
        given = {name: value for name, value in filters.items() if value is not None}
        return follow(self._transport, self._path + "/live", self._read, self._model, cursor, {**given})


class Activity(Timeline[api.TimelinePage[T], api.TimelineEvent[T]], Generic[T]):
    """The events that an actor did, or those about a subject."""

    def page(self, **query: Unpack[api.GetActorEventsQuery]) -> api.TimelinePage[T]:
        """One page."""
        return self._page(query)

    def pages(self, **query: Unpack[api.GetActorEventsQuery]) -> Iterator[api.TimelinePage[T]]:
        """All pages from a position on: to the end, or oldest first until they have caught up with now."""
        return self._pages(query)

    def events(self, **query: Unpack[api.GetActorEventsQuery]) -> Iterator[api.TimelineEvent[T]]:
        """All events of these pages."""
        return self._events(query)

    def follow(
        self, cursor: str | None = None, *, type: str | None = None, topic: str | None = None
    ) -> Generator[Followed[api.TimelineEvent[T]], None, None]:
        """The events that come from now on, or from a position on: each once, through cut connections."""
        return self._follow(cursor, type=type, topic=topic)


class Feed(Timeline[api.FeedPage[T], api.TimelineEvent[T]], Generic[T]):
    """A user's feed."""

    def __init__(self, transport: Transport, user: str, model: type[Any] | None) -> None:
        super().__init__(transport, f"/feeds/{part(user)}", partial(api.get_feed, user), model)
        self.user = user

    def page(self, **query: Unpack[api.GetFeedQuery]) -> api.FeedPage[T]:
        """One page."""
        return self._page(query)

    def pages(self, **query: Unpack[api.GetFeedQuery]) -> Iterator[api.FeedPage[T]]:
        """All pages from a position on: to the end, or oldest first until they have caught up with now."""
        return self._pages(query)

    def events(self, **query: Unpack[api.GetFeedQuery]) -> Iterator[api.TimelineEvent[T]]:
        """All events of these pages."""
        return self._events(query)

    def follow(
        self, cursor: str | None = None, *, type: str | None = None
    ) -> Generator[Followed[api.TimelineEvent[T]], None, None]:
        """The events that come from now on, or from a position on: each once, through cut connections."""
        return self._follow(cursor, type=type)

    def unread(self) -> api.Unread:
        """The number of unread entries; `more` says that the count stopped, and that there are at least so many.

        The first page of the feed says the number for its own entries without a price.
        """
        return self._transport.value(api.get_unread(self.user))

    def seen(self, id: str) -> None:
        """Marks the event and all older events as seen. The mark never moves back."""
        self._transport.value(api.put_seen(self.user, {"id": id}))
