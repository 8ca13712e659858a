"""Generated from `aio` by clients/generate. Do not edit.

Sends requests: the token, retries with back-off, problems, and the cost of each attempt.
"""

import time
from collections.abc import Generator, Iterator, Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, Unpack, cast

import httpx

from ..batches import encode
from ..cost import add_costs, parse_cost
from ..model import read_events
from ..options import Call, Options, Shared, SomeOptions
from ..problem import LatelyProblem, parse, problem_of, revision_of, unreachable
from ..request import Request
from ..retry import may_repeat, pause

T = TypeVar("T")
E = TypeVar("E")


@dataclass(frozen=True)
class Answer(Generic[T]):
    value: T
    revision: str
    """The revision of a record."""


class Transport:
    def __init__(self, options: Options, http: httpx.Client, shared: Shared) -> None:
        self.options, self.http, self.shared = options, http, shared

    def using(self, **options: Unpack[SomeOptions]) -> "Transport":
        """The same transport with other options."""
        return Transport(replace(self.options, **options), self.http, self.shared)

    def send(self, request: Request[T]) -> Answer[T]:
        """Sends a request, and again if that is safe."""
        attempt, renewed = 1, False
        while True:
            try:
                return self._attempt(request, attempt)
            except LatelyProblem as problem:
                renews = not renewed and self.may_renew(problem)
                if attempt >= self.options.attempts or not (renews or may_repeat(request, problem)):
                    raise
                renewed = renewed or renews
                self.pause(attempt, problem)
            attempt += 1

    def may_renew(self, problem: LatelyProblem) -> bool:
        """Whether the token's function may return another token, which the server accepts."""
        return problem.refuses_token and callable(self.options.token)

    def value(self, request: Request[T]) -> T:
        """The body of a request's response."""
        return (self.send(request)).value

    def events(self, request: Request[T], model: type[Any] | None) -> T:
        """The body of a response with events, whose data has the caller's class."""
        return cast(T, read_events(model, self.value(request)))

    def list(self, read: Callable[..., Request[Any]], entries: str, query: Any) -> Iterator[Any]:
        """All entries of a list, page by page."""
        page = self.value(read(**query))
        while True:
            for entry in page[entries]:
                yield entry
            if page["next"] is None:
                return
            # Only a page without a cursor can wait for an entry.
            page = self.value(read(**{**query, "cursor": page["next"], "wait_for": None}))

    @contextmanager
    def open(
        self, request: Request[Any], attempt: int, url: str | None = None
    ) -> Generator[httpx.Response, None, None]:
        """Opens a response whose body is read by the caller."""
        options = self.options
        headers = dict(request.headers)
        token = options.token() if callable(options.token) else options.token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        status, cost = 0, parse_cost(None)
        told = False
        try:
            with self.http.stream(
                request.method,
                (url or options.url).rstrip("/") + request.path,
                params=request.parameters,
                headers=headers,
                content=None if request.body is None else encode(request.body),
                timeout=options.timeout,
            ) as response:
                status, cost = response.status_code, parse_cost(response.headers.get("Lately-Cost"))
                told = self._tell(Call(request.method, request.path, status, attempt, cost))
                yield response
        except httpx.RequestError as error:
            raise unreachable(error) from error
        finally:
            if not told:
                self._tell(Call(request.method, request.path, status, attempt, cost))

    def pause(self, attempt: int, problem: LatelyProblem | None = None) -> None:
        """Waits before the next attempt."""
        time.sleep(pause(attempt, self.options.backoff, problem))

    def _attempt(self, request: Request[T], attempt: int) -> Answer[T]:
        with self.open(request, attempt) as response:
            response.read()
        if not response.is_success:
            raise problem_of(response)
        value: Any = parse(response.status_code, response.text) if response.text else None
        return Answer(value, revision_of(response))

    def _tell(self, call: Call) -> bool:
        self.shared.cost = add_costs(self.shared.cost, call.cost)
        if self.options.on_call is not None:
            self.options.on_call(call)
        return True
