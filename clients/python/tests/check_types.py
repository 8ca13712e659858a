"""Checked by mypy and pyright, never run: the calls that must be accepted, and, as ignored errors, those that must not.

mypy fails if an ignored error is none.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypedDict

from lately_client import AsyncLately, Lately, api


class Note(TypedDict):
    text: str


@dataclass
class Text:
    text: str


def accepted(lately: Lately) -> list[str]:
    posts = lately.topic("posts", Note)
    posted = posts.post({"type": "note", "actor": "ada", "data": {"text": "Hi"}, "at": datetime.now(UTC)})
    texts = [posted["data"]["text"]]
    texts += [each["data"]["text"] for each in posts.events(from_=datetime(2026, 1, 1, tzinfo=UTC), limit=2)]
    texts += [each.event["data"]["text"] for each in lately.actor("ada", Note).follow(topic="posts")]
    texts += [each["data"].text for each in lately.subject("thing:1", Text).events(month="2026-11")]
    texts += [each["data"].text for page in lately.feed("ada", Text).pages(wait_for="1") for each in page["events"]]
    lately.topic("posts", Text).post_all([{"type": "note", "actor": "ada", "data": Text("Hi")}])
    for batch in posts.consumer("log").batches():
        texts += [text(each) for each in [*batch["events"], *batch["late"]]]
    posts.consumer("log").put({"start": datetime.now(UTC)})
    posts.consumer("log").seek(datetime.now(UTC))
    lately.user("ada").profile(Text).update(lambda current: current or Text(""))
    untyped: Any = lately.topic("posts").event("1").get("data")
    return [*texts, lately.settings("web", Note).get().value["text"], str(untyped)]


def text(event: api.Event[Note]) -> str:
    return event["data"]["text"]


async def awaited(lately: AsyncLately) -> str:
    async for followed in lately.feed("ada", Text).follow():
        return followed.event["data"].text
    return (await lately.topic("posts", Note).event("1"))["data"]["text"]


def refused(lately: Lately) -> None:
    posts = lately.topic("posts", Note)
    posts.post({"type": "note", "actor": "ada", "data": {"txt": "Hi"}})  # type: ignore[typeddict-item]
    posts.post({"type": "note", "actor": "ada", "data": "Hi"})  # type: ignore[typeddict-item]
    posts.page(wait_for="1")  # type: ignore[call-arg]
    posts.events(month="2026-11")  # type: ignore[call-arg]
    posts.follow(topic="posts")  # type: ignore[call-arg]
    lately.feed("ada").page(topic="posts")  # type: ignore[call-arg]
    lately.feed("ada").follow(topic="posts")  # type: ignore[call-arg]
    lately.actor("ada").page(colour="red")  # type: ignore[call-arg]
    lately.actor("ada").post  # type: ignore[attr-defined]
