"""Generated from `aio` by clients/generate. Do not edit.

A timeline: pages of events, newest first or oldest first, and the events that come.
"""

from collections.abc import Generator, Iterator, Callable
from typing import Generic, TypeVar, Unpack

from .. import api
from ..following import Followed
from ..request import Request
from .follow import follow
from .transport import Transport

P = TypeVar("P", api.Page, api.TimelinePage, api.FeedPage)
E = TypeVar("E", api.Event, api.TimelineEvent)


class Timeline(Generic[P, E]):
    """Topics know neither `topic` nor `month` nor `wait_for`, feeds neither `topic` nor `month`."""

    def __init__(self, transport: Transport, path: str, read: Callable[..., Request[P]]) -> None:
        self._transport, self._path = transport, path
        self._read: Callable[..., Request[P]] = read

    def page(self, **query: Unpack[api.GetActorEventsQuery]) -> P:
        """One page."""
        return self._transport.value(self._read(**query))

    def pages(self, **query: Unpack[api.GetActorEventsQuery]) -> Iterator[P]:
        """All pages from a position on: to the end, or oldest first until they have caught up with now."""
        page = self.page(**query)
        # Only a page without a cursor can wait for an event.
        query.pop("wait_for", None)
        while True:
            yield page
            if not page["has_more"] or page["next"] is None:
                return
            query["cursor"] = page["next"]
            page = self.page(**query)

    def events(self, **query: Unpack[api.GetActorEventsQuery]) -> Iterator[E]:
        """All events of these pages."""
        for page in self.pages(**query):
            for event in page["events"]:
                yield event  # type: ignore[misc]  # pyright: ignore

    def follow(
        self, cursor: str | None = None, *, type: str | None = None, topic: str | None = None
    ) -> Generator[Followed[E], None, None]:
        """The events that come from now on, or from a position on: each once, through cut connections."""
        filters = {name: value for name, value in (("type", type), ("topic", topic)) if value is not None}
        return follow(self._transport, self._path + "/live", self._read, cursor, {**filters})
