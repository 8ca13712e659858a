"""Records: profiles, settings and issues.

Each has a revision, and a write names the revision that it replaces, so that no update is lost. The client repeats no
such write after a failure that leaves open whether it was done (503, or no response): read the record to know.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic, TypeVar

from .. import api
from ..model import read
from ..problem import LatelyProblem
from ..request import Request
from .transport import Answer, Transport

T = TypeVar("T")


def if_match(revision: str | int) -> dict[str, str]:
    return {"If-Match": f'"{revision}"'}


class Document(Generic[T]):
    """A profile or the settings of an application: any JSON object, or a class of the caller."""

    def __init__(
        self,
        transport: Transport,
        name: str,
        model: type[Any] | None,
        get: Callable[..., Request[api.Document]],
        put: Callable[..., Request[api.Document]],
        delete: Callable[..., Request[None]],
    ) -> None:
        self._transport, self._model = transport, model
        self._get, self._put, self._delete = partial(get, name), partial(put, name), partial(delete, name)

    async def get(self, *, consistent: bool = False) -> Answer[T]:
        return await self._send(self._get(consistent=consistent or None))

    async def put(self, value: T, revision: str | None = None) -> Answer[T]:
        """Creates the record, or replaces the given revision."""
        headers = {"If-None-Match": "*"} if revision is None else if_match(revision)
        return await self._send(self._put(value, headers))

    async def delete(self, revision: str | None = None) -> None:
        """Deletes the given revision. Without a revision, only a record that does not exist is "deleted"."""
        await self._transport.value(self._delete({} if revision is None else if_match(revision)))

    async def update(self, change: Callable[[T | None], T]) -> Answer[T]:
        """Reads, changes and writes the record, and begins again if somebody else wrote meanwhile.

        `change` gets None if there is no record yet.
        """

        async def update() -> Answer[T]:
            try:
                current = await self.get(consistent=True)
            except LatelyProblem as problem:
                if problem.code != "not-found":
                    raise
                return await self.put(change(None))
            return await self.put(change(current.value), current.revision)

        return await until_current(self._transport, update)

    async def _send(self, request: Request[Any]) -> Answer[T]:
        answer = await self._transport.send(request)
        return Answer(read(self._model, answer.value), answer.revision)


class Issue:
    def __init__(self, transport: Transport, owner: str, repo: str, number: int) -> None:
        self._transport, self.owner, self.repo, self.number = transport, owner, repo, number

    async def get(self, *, consistent: bool = False) -> api.Issue:
        query: dict[str, Any] = {"consistent": True} if consistent else {}
        return await self._transport.value(api.get_issue(self.owner, self.repo, self.number, **query))

    async def change(self, change: api.IssueChange, revision: int | str) -> api.Issue:
        """Changes the given revision of the issue."""
        request = api.patch_issue(self.owner, self.repo, self.number, change, if_match(revision))
        return await self._transport.value(request)

    async def update(self, change: Callable[[api.Issue], api.IssueChange]) -> api.Issue:
        """Reads and changes the issue, and begins again if somebody else wrote meanwhile."""

        async def update() -> api.Issue:
            issue = await self.get(consistent=True)
            return await self.change(change(issue), issue["revision"])

        return await until_current(self._transport, update)


async def until_current(transport: Transport, update: Callable[[], Awaitable[T]]) -> T:
    """Runs an update again while its revision is not the current one."""
    attempt = 1
    while True:
        try:
            return await update()
        except LatelyProblem as problem:
            if problem.code != "revision-mismatch" or attempt >= transport.options.attempts:
                raise
            await transport.pause(attempt)
        attempt += 1
