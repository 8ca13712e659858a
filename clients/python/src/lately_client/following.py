"""The parts of `follow()` without I/O."""

from dataclasses import dataclass
from typing import Generic, TypeVar

E = TypeVar("E")

# After a cut, a server repeats the late events of the last minute, whose ids may be of any time. These are the ids of
# a minute with 1,000 events a second.
REMEMBERED = 65_536


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
    """The ids that may come again: the last 65,536, and at most twice as many."""

    def __init__(self) -> None:
        self._newer: set[str] = set()
        self._older: set[str] = set()

    def add(self, id: str) -> bool:
        """Adds an id, and says whether it is new."""
        if id in self._newer or id in self._older:
            return False
        self._newer.add(id)
        if len(self._newer) == REMEMBERED:
            self._older, self._newer = self._newer, set()
        return True
