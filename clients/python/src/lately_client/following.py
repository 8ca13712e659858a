"""The parts of `follow()` without I/O."""

from dataclasses import dataclass
from typing import Generic, TypeVar

E = TypeVar("E")

# A server repeats events of two seconds at most. An id of an event begins with its time: 12 digits of milliseconds.
REPEATED_MILLISECONDS = 10_000


@dataclass(frozen=True)
class Followed(Generic[E]):
    event: E
    cursor: str | None
    """Store this position to go on after this event later. None only for late events at the very beginning."""
    late: bool
    """Whether the event arrived behind the position, as imports do."""


@dataclass(frozen=True)
class Step(Generic[E]):
    """A step of a stream: an event, or only a new position."""

    cursor: str | None
    event: E | None = None
    late: bool = False


class Seen:
    """The ids that may come again."""

    def __init__(self) -> None:
        # A dict keeps the order of insertion.
        self._ids: dict[str, None] = {}
        self._newest = 0

    def add(self, id: str) -> bool:
        """Adds an id, and says whether it is new."""
        if id in self._ids:
            return False
        self._ids[id] = None
        self._newest = max(self._newest, time_of(id))
        while time_of(oldest := next(iter(self._ids))) < self._newest - REPEATED_MILLISECONDS:
            del self._ids[oldest]
        return True

    def __len__(self) -> int:
        return len(self._ids)


def time_of(id: str) -> int:
    return int(id[:8] + id[9:13], 16)
