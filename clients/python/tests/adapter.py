"""The adapter of the conformance suite: reads calls as JSON lines, makes them, and writes their results.

`adapter.py sync` tests the blocking client, `adapter.py async` the asynchronous one.
"""

import asyncio
import dataclasses
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from lately_client import AsyncLately, Call, Lately, LatelyProblem

# The handles' names take one argument each, but these.
NAMES = {"profile": 0, "sessions": 0, "erasures": 0, "repo": 2}


class Adapter:
    def __init__(self, is_async: bool) -> None:
        self.client_type: Any = AsyncLately if is_async else Lately
        # All cases share it, because it takes httpx long to make one.
        self.http = httpx.AsyncClient() if is_async else httpx.Client()
        self.client: Any = None
        self.calls: list[Call] = []
        self.iterators: dict[str, Any] = {}

    async def handle(self, message: dict[str, Any]) -> Any:
        if "client" in message:
            self.iterators.clear()
            options = {"backoff": 0.02, **message["client"], "on_call": self.calls.append, "http": self.http}
            self.client = self.client_type(**options)
        elif "start" in message:
            self.iterators[message["start"]] = self.begin(message)
        elif "next" in message:
            return await take(self.iterators[message["next"]], message.get("count", 1))
        elif "stop" in message:
            await close(self.iterators[message["stop"]])
        else:
            result = self.begin(message)
            if inspect.isawaitable(result):
                return await result
            if hasattr(result, "__anext__") or hasattr(result, "__next__"):
                found = await take(result, message.get("take"))
                await close(result)
                return found
            return result
        return None

    def begin(self, message: dict[str, Any]) -> Any:
        path, values = message["do"], message.get("with", [])
        named = {name + "_" * (name == "from"): value for name, value in message.get("named", {}).items()}
        if path.endswith(".update"):
            values = [change(**each) for each in values]
        return self.method(path, list(message.get("of", [])))(*values, **named)

    def method(self, path: str, names: list[Any]) -> Any:
        """`topic.consumer.poll` of two names: the method of its handle."""
        *steps, last = path.split(".")
        handle = self.client
        for step in steps:
            member = getattr(handle, step)
            count = NAMES.get(step, 1)
            handle = member(*names[:count]) if inspect.ismethod(member) else member
            del names[:count]
        return getattr(handle, last)


def change(increment: str | None = None, set: Any = None) -> Callable[[Any], Any]:
    """Functions cannot be sent, so a case says which change it means."""

    def incremented(value: dict[str, Any] | None) -> dict[str, Any]:
        value = value or {}
        return {**value, str(increment): value.get(str(increment), 0) + 1}

    return incremented if increment is not None else lambda _: set


async def take(iterator: Any, count: int | None) -> list[Any]:
    found: list[Any] = []
    while count is None or len(found) < count:
        try:
            found.append(await anext(iterator) if hasattr(iterator, "__anext__") else next(iterator))
        except (StopAsyncIteration, StopIteration):
            break
    return found


async def close(iterator: Any) -> None:
    if hasattr(iterator, "aclose"):
        await iterator.aclose()
    else:
        iterator.close()


def problem(error: LatelyProblem) -> dict[str, Any]:
    return {name: value for name, value in vars(error).items() if not name.startswith("_")}


async def main() -> None:
    adapter = Adapter(sys.argv[1] == "async")
    for line in sys.stdin:
        adapter.calls.clear()
        try:
            answer: dict[str, Any] = {"value": await adapter.handle(json.loads(line))}
        except LatelyProblem as error:
            answer = {"problem": problem(error)}
        answer["calls"] = adapter.calls
        print(json.dumps(answer, default=dataclasses.asdict), flush=True)


asyncio.run(main())
