"""Follows a timeline: each event once, from a position on, through cut connections.

A server that cannot stream (404 `route-not-found`) is polled with oldest-first pages; a server that cannot wait for
events (400 `invalid-query` about `wait`) is polled again and again. The client remembers both.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from ..following import Followed, Seen, Step
from ..model import read_events
from ..problem import LatelyProblem, parse, problem_of, problem_of_body
from ..request import Request
from ..sse import FrameParser
from .transport import Transport

WAIT_SECONDS = 20

Read = Callable[..., Request[Any]]


async def follow(
    transport: Transport,
    live: str,
    read: Read,
    model: type[Any] | None,
    cursor: str | None,
    filters: dict[str, str | None],
) -> AsyncGenerator[Followed[Any], None]:
    """Yields events until the caller stops, or a problem comes that no retry repairs."""
    seen = Seen()
    connected, renewed, failures = False, False, 0
    # After the first success this loop has no bound, because a follower outlives outages. The caller ends it.
    while True:
        problem = None
        streams = transport.shared.streams
        steps = stream(transport, live, filters, cursor) if streams else poll(transport, read, filters, cursor)
        try:
            async with aclosing(steps):
                async for step in steps:
                    connected, renewed, failures = True, False, 0
                    cursor = step.cursor
                    if step.event is not None and seen.add(step.event["id"]):
                        yield Followed(read_events(model, step.event), step.cursor, step.late)
        except LatelyProblem as error:
            if error.code == "route-not-found" and streams:
                transport.shared.streams = False
                continue
            # A poll has made its attempts already.
            attempts = transport.options.attempts if streams else 1
            renews = not renewed and transport.may_renew(error)
            if not (error.is_temporary or renews) or (not connected and failures + 1 >= attempts):
                raise
            renewed = renewed or renews
            problem = error
        failures += 1
        await transport.pause(failures, problem)


async def stream(
    transport: Transport, live: str, filters: dict[str, str | None], cursor: str | None
) -> AsyncGenerator[Step[Any], None]:
    """The steps of one connection to the live route. It ends after some minutes, or when it is cut.

    The server sends something every 15 seconds, so a connection that is silent until the timeout is dead.
    """
    request = Request[Any]("GET", live, query={**filters, "cursor": cursor})
    async with transport.open(request, 1, transport.options.live_url) as response:
        if not response.is_success:
            await response.aread()
            raise problem_of(response)
        parser = FrameParser()
        async for text in response.aiter_text():
            for frame in parser.frames(text):
                cursor = frame.id or cursor
                if frame.event == "problem":
                    raise problem_of_body(parse(response.status_code, frame.data)["status"], frame.data)
                event = parse(response.status_code, frame.data) if frame.event in ("event", "late") else None
                yield Step(cursor, event, frame.event == "late")


async def poll(
    transport: Transport, read: Read, filters: dict[str, str | None], cursor: str | None
) -> AsyncGenerator[Step[Any], None]:
    """The steps of polling."""
    shared, options = transport.shared, transport.options
    if cursor is None:
        cursor = (await transport.value(read(**filters, limit=1)))["newer"]
        yield Step(cursor)
    while True:
        wait = min(WAIT_SECONDS, int(options.timeout / 2)) if shared.waits else None
        try:
            page = await transport.value(read(**filters, cursor=cursor, limit=200, wait=wait))
        except LatelyProblem as problem:
            if wait is None or not cannot_wait(problem):
                raise
            shared.waits = False
            continue
        if page["newer"] is not None:
            raise LatelyProblem(400, "invalid-cursor", detail="The cursor is of a newest-first walk.")
        # The page's own cursor is behind all of its events, so only the last event may carry it.
        last = len(page["events"]) - 1
        for index, event in enumerate(page["events"]):
            yield Step(page["next"] if index == last else cursor, event)
        cursor = page["next"]
        yield Step(cursor)
        if not page["has_more"] and not shared.waits:
            await asyncio.sleep(options.poll_seconds)


def cannot_wait(problem: LatelyProblem) -> bool:
    return problem.code == "invalid-query" and any(error["path"] == "/wait" for error in problem.errors)
