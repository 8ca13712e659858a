"""A request as data: the functions of `api` build requests, the transports send them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

from .model import time_text
from .problem import LatelyProblem

T = TypeVar("T")
Headers: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class Request(Generic[T]):
    """A request whose successful response has a body of type `T`."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])
    headers: Headers = field(default_factory=dict[str, str])
    body: Any = None

    @property
    def is_repeatable(self) -> bool:
        """Whether sending the request twice ends like sending it once."""
        if "Idempotency-Key" in self.headers:
            return True
        # The first sending raises the revision, so the second would be refused.
        if "If-Match" in self.headers or "If-None-Match" in self.headers:
            return False
        return self.method in ("GET", "PUT", "DELETE") or self.path.endswith(("/poll", "/commit", "/seek", "/erasures"))

    @property
    def parameters(self) -> dict[str, str]:
        """The query as text. `from_` stands for `from`, which is a keyword of Python."""
        return {name.rstrip("_"): text(value) for name, value in self.query.items() if value is not None}


def text(value: object) -> str:
    """A value of a query."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return time_text(value) if isinstance(value, datetime) else str(value)


def part(value: str | int) -> str:
    """A part of a path, percent-encoded."""
    # A URL cannot contain these parts: they would be taken away, and the request would ask another route.
    if str(value) in ("", ".", ".."):
        raise LatelyProblem(400, "invalid-name", detail=f'"{value}" cannot be a part of a path.')
    return quote(str(value), safe="")
