"""A topic: its settings, its events, its consumers."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from datetime import datetime
from functools import partial
from typing import Any, Generic, TypeVar, Unpack, cast
from uuid import uuid4

from .. import api
from ..batches import batches_of
from ..following import Followed
from ..problem import LatelyProblem
from ..request import part
from .timeline import Timeline
from .transport import Transport

T = TypeVar("T")
RANDOM: Any = object()
"""The default of `key`: a random key."""


class Topic(Timeline[api.Page[T], api.Event[T]], Generic[T]):
    def __init__(self, transport: Transport, name: str, model: type[Any] | None) -> None:
        super().__init__(transport, f"/topics/{part(name)}", partial(api.get_latest, name), model)
        self.name = name

    async def page(self, **query: Unpack[api.GetLatestQuery]) -> api.Page[T]:
        """One page."""
        return await self._page(query)

    def pages(self, **query: Unpack[api.GetLatestQuery]) -> AsyncIterator[api.Page[T]]:
        """All pages from a position on: to the end, or oldest first until they have caught up with now."""
        return self._pages(query)

    def events(self, **query: Unpack[api.GetLatestQuery]) -> AsyncIterator[api.Event[T]]:
        """All events of these pages."""
        return self._events(query)

    def follow(
        self, cursor: str | None = None, *, type: str | None = None
    ) -> AsyncGenerator[Followed[api.Event[T]], None]:
        """The events that come from now on, or from a position on: each once, through cut connections."""
        return self._follow(cursor, type=type)

    async def get(self) -> api.Topic:
        return await self._transport.value(api.get_topic(self.name))

    async def put(self, settings: api.TopicChange | None = None) -> api.Topic:
        """Creates the topic or changes its settings. An absent setting keeps its value."""
        return await self._transport.value(api.put_topic(self.name, settings))

    async def delete(self) -> api.TopicDeletion:
        """Deletes the topic. This call ends when the deletion has begun; `deletion` says how far it is."""
        begun: Any = await self._transport.value(api.delete_topic(self.name, confirm=self.name))
        return begun  # type: ignore[no-any-return]

    async def preview_deletion(self) -> api.DeletionPreview:
        """Previews a deletion. Nothing is deleted."""
        preview: Any = await self._transport.value(api.delete_topic(self.name, dry_run=True))
        return preview  # type: ignore[no-any-return]

    async def deletion(self) -> api.TopicDeletion:
        """The deletion that is under way, or ended within the last day."""
        return await self._transport.value(api.get_deletion(self.name))

    async def post(self, event: api.NewEvent[T], *, key: str | None = RANDOM) -> api.Event[T]:
        """Posts an event.

        `key` is the request's name for 24 hours: a repetition under the same key writes nothing twice. The default is a
        random key. `None` sends no key, which costs two write units less; then the client does not repeat a post that
        may be written.
        """
        return cast(api.Event[T], await self._post(event, key))

    async def post_all(self, events: Iterable[api.NewEvent[T]], *, key: str | None = RANDOM) -> list[api.Event[T]]:
        """Posts any number of events, in batches of at most 500.

        A batch that was written in part is finished by a repetition. If this call fails, repeat it with the same key
        and events: it goes on where it failed.
        """
        key = str(uuid4()) if key is RANDOM else key
        posted: list[api.Event[T]] = []
        for number, batch in enumerate(batches_of(events), 1):
            posted += (await self._post(batch, f"{key}-{number}" if key is not None and number > 1 else key))["events"]
        return posted

    async def event(self, id: str) -> api.Event[T]:
        return await self._transport.events(api.get_event(self.name, id), self._model)

    async def delete_event(self, id: str) -> None:
        await self._transport.value(api.delete_event(self.name, id))

    def consumer(self, name: str) -> "Consumer[T]":
        return Consumer(self._transport, self.name, name, self._model)

    async def _post(self, body: api.NewEvent[T] | api.NewEvents[T], key: str | None) -> Any:
        key = str(uuid4()) if key is RANDOM else key
        # Other characters cannot be sent in a header.
        if key is not None and not key.isascii():
            raise LatelyProblem(400, "invalid-idempotency-key", detail="Use printable ASCII characters.")
        headers = {} if key is None else {"Idempotency-Key": key}
        return await self._transport.events(api.post_events(self.name, body, headers), self._model)


class Consumer(Generic[T]):
    """A consumer: every event of a topic, late ones included, in batches that are committed."""

    def __init__(self, transport: Transport, topic: str, name: str, model: type[Any] | None) -> None:
        self._transport, self.topic, self.name, self._model = transport, topic, name, model

    async def get(self) -> api.Consumer:
        return await self._transport.value(api.get_consumer(self.topic, self.name))

    async def put(self, settings: api.NewConsumer | None = None) -> api.Consumer:
        return await self._transport.value(api.put_consumer(self.topic, self.name, settings))

    async def delete(self) -> None:
        await self._transport.value(api.delete_consumer(self.topic, self.name))

    async def poll(self, options: api.Poll | None = None) -> api.Polled[T]:
        return await self._transport.events(api.poll(self.topic, self.name, options), self._model)

    async def commit(self, batch: str) -> None:
        await self._transport.value(api.commit(self.topic, self.name, {"batch": batch}))

    async def seek(self, to: str | datetime) -> api.Consumer:
        return await self._transport.value(api.seek(self.topic, self.name, {"to": to}))

    def runs(self, **query: Unpack[api.ListRunsQuery]) -> AsyncIterator[api.Run]:
        return self._transport.list(partial(api.list_runs, self.topic, self.name), "runs", query)

    async def batches(self, options: api.Poll | None = None) -> AsyncIterator[api.Polled[T]]:
        """Batches until there are no more events.

        A batch is committed when the loop asks for the next: a batch whose handling failed comes again.
        """
        while True:
            polled = await self.poll(options)
            if polled["batch"] is not None:
                yield polled
                await self.commit(polled["batch"])
            elif polled["caught_up"]:
                return
            # Else the poll has reached its read limit. The next one continues there.
