"""The options of a client."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from .cost import Cost


@dataclass(frozen=True)
class Call:
    """One attempt of a call."""

    method: str
    path: str
    status: int
    """0 if no response came."""
    attempt: int
    """Counted from 1."""
    cost: Cost


@dataclass(frozen=True)
class Options:
    url: str
    """The API's address."""
    token: str | Callable[[], str] | None = None
    """A token, or a function that returns the current token."""
    live_url: str | None = None
    """The address of the live routes, if it is another one (on AWS)."""
    attempts: int = 5
    """The most attempts of one call."""
    timeout: float = 30
    """The seconds of silence after which an attempt has failed."""
    backoff: float = 0.1
    """The longest first pause in seconds; the pauses double."""
    poll_seconds: float = 1
    """The seconds between two polls of `follow()` against a server that cannot stream or wait."""
    on_call: Callable[[Call], None] | None = None
    """Sees each attempt and its cost."""

    def __post_init__(self) -> None:
        for url in (self.url, self.live_url or self.url):
            if not re.match("https?://.", url):
                raise ValueError(f'the URL must begin with http:// or https://: "{url}"')


class MoreOptions(TypedDict, total=False):
    """Options that have defaults."""

    live_url: str | None
    attempts: int
    timeout: float
    backoff: float
    poll_seconds: float
    on_call: Callable[[Call], None] | None


class SomeOptions(MoreOptions, total=False):
    """Options to replace."""

    url: str
    token: str | Callable[[], str] | None


class Shared:
    """What clients share that `using` makes: the cost until now, and what the server is known not to do."""

    def __init__(self) -> None:
        self.cost: Cost = {}
        self.streams = True
        self.waits = True
