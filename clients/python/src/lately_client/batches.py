"""Splits a list of events into the batches of single requests."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from .api import NewEvent
from .model import written

T = TypeVar("T")
MOST_EVENTS = 500
MOST_BYTES = 3 * 1024 * 1024


def encode(body: Any) -> bytes:
    """A body as it is sent."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=written).encode()


def batches_of(events: Iterable[NewEvent[T]]) -> Iterator[list[NewEvent[T]]]:
    """Batches that the API accepts. The same events give the same batches, so that a repetition has the same bodies."""
    batch: list[NewEvent[T]] = []
    # Two brackets around the batch, and a comma behind each event.
    size = 2
    for event in events:
        more = len(encode(event)) + 1
        if len(batch) == MOST_EVENTS or (batch and size + more > MOST_BYTES):
            yield batch
            batch, size = [], 2
        batch.append(event)
        size += more
    if batch:
        yield batch
