"""Generated from `aio` by clients/generate. Do not edit.

A topic: its settings, its events, its consumers.
"""

from collections.abc import Iterator, Iterable
from functools import partial
from typing import Any, Unpack
from uuid import uuid4

from .. import api
from ..batches import batches_of
from ..problem import LatelyProblem
from ..request import part
from .timeline import Timeline
from .transport import Transport

RANDOM: Any = object()
"""The default of `key`: a random key."""


class Topic(Timeline[api.Page, api.Event]):
    def __init__(self, transport: Transport, name: str) -> None:
        super().__init__(transport, f"/topics/{part(name)}", partial(api.get_latest, name))
        self.name = name

    def get(self) -> api.Topic:
        return self._transport.value(api.get_topic(self.name))

    def put(self, settings: api.TopicChange | None = None) -> api.Topic:
        """Creates the topic or changes its settings. An absent setting keeps its value."""
        return self._transport.value(api.put_topic(self.name, settings))

    def delete(self) -> api.TopicDeletion:
        """Deletes the topic. This call ends when the deletion has begun; `deletion` says how far it is."""
        begun: Any = self._transport.value(api.delete_topic(self.name, confirm=self.name))
        return begun  # type: ignore[no-any-return]

    def preview_deletion(self) -> api.DeletionPreview:
        """Previews a deletion. Nothing is deleted."""
        preview: Any = self._transport.value(api.delete_topic(self.name, dry_run=True))
        return preview  # type: ignore[no-any-return]

    def deletion(self) -> api.TopicDeletion:
        """The deletion that is under way, or ended within the last day."""
        return self._transport.value(api.get_deletion(self.name))

    def post(self, event: api.NewEvent, *, key: str | None = RANDOM) -> api.Event:
        """Posts an event.

        `key` is the request's name for 24 hours: a repetition under the same key writes nothing twice. The default is a
        random key. `None` sends no key, which costs two write units less; then the client does not repeat a post that
        may be written.
        """
        posted: Any = self._post(event, key)
        return posted  # type: ignore[no-any-return]

    def post_all(self, events: Iterable[api.NewEvent], *, key: str | None = RANDOM) -> list[api.Event]:
        """Posts any number of events, in batches of at most 500.

        A batch that was written in part is finished by a repetition. If this call fails, repeat it with the same key
        and events: it goes on where it failed.
        """
        key = str(uuid4()) if key is RANDOM else key
        posted: list[api.Event] = []
        for number, batch in enumerate(batches_of(events), 1):
            answer: Any = self._post(batch, f"{key}-{number}" if key is not None and number > 1 else key)
            posted += answer["events"]
        return posted

    def event(self, id: str) -> api.Event:
        return self._transport.value(api.get_event(self.name, id))

    def delete_event(self, id: str) -> None:
        self._transport.value(api.delete_event(self.name, id))

    def consumer(self, name: str) -> "Consumer":
        return Consumer(self._transport, self.name, name)

    def _post(self, body: api.NewEvent | api.NewEvents, key: str | None) -> api.Event | api.Accepted:
        key = str(uuid4()) if key is RANDOM else key
        # Other characters cannot be sent in a header.
        if key is not None and not key.isascii():
            raise LatelyProblem(400, "invalid-idempotency-key", detail="Use printable ASCII characters.")
        headers = {} if key is None else {"Idempotency-Key": key}
        return self._transport.value(api.post_events(self.name, body, headers))


class Consumer:
    """A consumer: every event of a topic, late ones included, in batches that are committed."""

    def __init__(self, transport: Transport, topic: str, name: str) -> None:
        self._transport, self.topic, self.name = transport, topic, name

    def get(self) -> api.Consumer:
        return self._transport.value(api.get_consumer(self.topic, self.name))

    def put(self, settings: api.NewConsumer | None = None) -> api.Consumer:
        return self._transport.value(api.put_consumer(self.topic, self.name, settings))

    def delete(self) -> None:
        self._transport.value(api.delete_consumer(self.topic, self.name))

    def poll(self, options: api.Poll | None = None) -> api.Polled:
        return self._transport.value(api.poll(self.topic, self.name, options))

    def commit(self, batch: str) -> None:
        self._transport.value(api.commit(self.topic, self.name, {"batch": batch}))

    def seek(self, to: str) -> api.Consumer:
        return self._transport.value(api.seek(self.topic, self.name, {"to": to}))

    def runs(self, **query: Unpack[api.ListRunsQuery]) -> Iterator[api.Run]:
        return self._transport.list(partial(api.list_runs, self.topic, self.name), "runs", query)

    def batches(self, options: api.Poll | None = None) -> Iterator[api.Polled]:
        """Batches until there are no more events.

        A batch is committed when the loop asks for the next: a batch whose handling failed comes again.
        """
        while True:
            polled = self.poll(options)
            if polled["batch"] is None:
                return
            yield polled
            self.commit(polled["batch"])
