"""The parts that no case of the conformance suite can see."""

import asyncio
import json
import unittest
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any, TypedDict, cast

import httpx
import pydantic

from lately_client import AsyncLately, Call, Lately, LatelyProblem, api
from lately_client.batches import batches_of, encode
from lately_client.cost import parse_cost
from lately_client.following import Seen
from lately_client.request import Request
from lately_client.retry import LONGEST_BACKOFF, pause
from lately_client.sse import FrameParser


def id_at(milliseconds: int) -> str:
    """An id of an event, from its time."""
    digits = f"{milliseconds:012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-000000000000"


def event(n: int, data: str = "") -> api.NewEvent[str]:
    return {"type": "note", "actor": f"actor-{n}", "data": data}


class Note(TypedDict):
    text: str


@dataclass
class Text:
    text: str


class Model(pydantic.BaseModel):
    text: str


def take_two(lately: Lately) -> list[Any]:
    return list(islice(lately.topic("t").follow(), 2))


class Parts(unittest.TestCase):
    def test_a_stream_is_parsed_however_its_text_is_cut(self) -> None:
        text = "event: late\r\nid: c1\r\ndata: {\rdata:\x85}\r\n\r\n: comment\n\nevent:settled\nid: c2\n\nid: c3"
        for step in (1, 2, 3, 7, len(text)):
            parser = FrameParser()
            found = [frame for at in range(0, len(text), step) for frame in parser.frames(text[at : at + step])]
            self.assertEqual(
                [(each.event, each.id, each.data) for each in found],
                [("late", "c1", "{\n\x85}"), ("settled", "c2", "")],
            )

    def test_follow_remembers_the_last_65_536_ids_and_at_most_twice_as_many(self) -> None:
        seen = Seen()
        self.assertTrue(all([seen.add(id_at(n)) for n in range(200_000)]))
        self.assertFalse(any([seen.add(id_at(n)) for n in range(200_000 - 65_536, 200_000)]))
        self.assertTrue(seen.add(id_at(200_000 - 2 * 65_536)))

    def test_batches_have_at_most_500_events_and_3_mib(self) -> None:
        self.assertEqual([len(each) for each in batches_of(event(n) for n in range(1001))], [500, 500, 1])
        large = list(batches_of(event(0, "ü" * 20_000) for _ in range(400)))
        self.assertTrue(all(len(encode(each)) <= 3 * 1024 * 1024 for each in large))
        self.assertEqual([len(each) for each in large], [78, 78, 78, 78, 78, 10])

    def test_pauses_grow_to_a_bound(self) -> None:
        self.assertTrue(all(pause(attempt, 0.1) <= LONGEST_BACKOFF for attempt in range(1, 2000)))
        self.assertTrue(all(pause(1, 0.1) <= 0.1 for _ in range(100)))

    def test_a_cost_is_read_from_its_header(self) -> None:
        self.assertEqual(parse_cost("read_units=4.5, calls=9"), {"read_units": 4.5, "calls": 9})
        self.assertEqual(parse_cost(None), {})

    def test_parameters_are_spelt_as_the_api_spells_them(self) -> None:
        request = api.get_latest("posts", from_="2026-01-01T00:00:00Z", consistent=True, limit=5)
        self.assertEqual(request.parameters, {"from": "2026-01-01T00:00:00Z", "consistent": "true", "limit": "5"})
        self.assertEqual(api.get_event("a b", "c/d").path, "/topics/a%20b/events/c%2Fd")

    def test_a_time_may_be_a_datetime_with_a_time_zone(self) -> None:
        at = datetime(2026, 11, 26, 1, 2, 3, 4000, tzinfo=timezone(timedelta(hours=2)))
        self.assertEqual(api.get_latest("t", from_=at).parameters, {"from": "2026-11-26T01:02:03.004000+02:00"})
        self.assertEqual(encode({"at": at}), b'{"at":"2026-11-26T01:02:03.004000+02:00"}')
        naive = datetime(2026, 11, 26)
        self.assertRaisesRegex(ValueError, "time zone", encode, {"at": naive})
        self.assertRaisesRegex(ValueError, "time zone", lambda: api.get_latest("t", to=naive).parameters)
        self.assertRaisesRegex(TypeError, "object is neither JSON nor", encode, object())

    def test_which_requests_are_repeatable(self) -> None:
        repeatable: list[Request[Any]] = [
            api.get_topic("t"),
            api.put_topic("t"),
            api.delete_event("t", "e"),
            api.post_events("t", event(0), {"Idempotency-Key": "k"}),
            api.poll("t", "c"),
            api.put_seen("u", {"id": "i"}),
        ]
        once: list[Request[Any]] = [
            api.post_events("t", event(0)),
            api.put_profile("u", {}, {"If-Match": '"1"'}),
            api.put_profile("u", {}, {"If-None-Match": "*"}),
            api.patch_issue("o", "r", 1, {}, {"If-Match": '"1"'}),
            api.post_issue("o", "r", {"title": "t"}),
            api.post_session({"scopes": ["read"], "ttl_seconds": 1}),
        ]
        self.assertTrue(all(each.is_repeatable for each in repeatable))
        self.assertFalse(any(each.is_repeatable for each in once))


class Clients(unittest.TestCase):
    def test_a_token_may_come_from_a_function_which_every_attempt_calls(self) -> None:
        sent: list[str] = []

        def answer(request: httpx.Request) -> httpx.Response:
            sent.append(request.headers["Authorization"])
            return httpx.Response(429) if len(sent) == 1 else httpx.Response(200, json={"status": "ok"})

        tokens: Iterator[str] = iter(["old", "new"])
        http = httpx.Client(transport=httpx.MockTransport(answer))
        with Lately("http://x", lambda: next(tokens), http=http, backoff=0) as lately:
            self.assertEqual(lately.health(), {"status": "ok"})
        self.assertEqual(sent, ["Bearer old", "Bearer new"])

    def test_a_token_that_is_refused_is_asked_for_once_more(self) -> None:
        missing, invalid, forbidden = (
            httpx.Response(status, json={"code": code, "title": "A title"})
            for status, code in ((401, "missing-token"), (403, "invalid-token"), (403, "forbidden"))
        )
        gateway = httpx.Response(403, json={"message": "Forbidden"})
        health = httpx.Response(200, json={"status": "ok"})
        frame = httpx.Response(200, text=f'event: event\nid: c1\ndata: {{"id": "{id_at(1)}"}}\n\n')
        other = httpx.Response(200, text=f'event: event\nid: c2\ndata: {{"id": "{id_at(2)}"}}\n\n')
        # The answers, the tokens that are asked for, and whether the call succeeds.
        for call, answers, asked, succeeds in (
            (Lately.health, [missing, health], 2, True),
            (Lately.health, [invalid, health], 2, True),
            (Lately.health, [gateway, health], 2, True),
            (Lately.health, [invalid, invalid], 2, False),
            (Lately.health, [forbidden], 1, False),
            (take_two, [invalid, frame, invalid, other], 4, True),
            (take_two, [frame, invalid, invalid], 3, False),
            (take_two, [frame, forbidden], 2, False),
        ):
            left = [httpx.Response(each.status_code, content=each.content) for each in answers]
            http = httpx.Client(transport=httpx.MockTransport(lambda _: left.pop(0)))
            tokens = [str(n) for n in range(9)]
            lately = Lately("http://x", lambda: tokens.pop(), http=http, backoff=0)
            outcome = nullcontext() if succeeds else self.assertRaises(LatelyProblem)
            with self.subTest(asked=asked, succeeds=succeeds), outcome:
                call(lately)
            self.assertEqual((9 - len(tokens), left), (asked, []))
        http = httpx.Client(transport=httpx.MockTransport(lambda _: invalid))
        with Lately("http://x", "fixed", http=http) as lately, self.assertRaises(LatelyProblem):
            lately.using(attempts=2).health()

    def test_data_is_read_and_written_as_the_class_of_the_caller(self) -> None:
        sent: list[Any] = []

        def answer(request: httpx.Request) -> httpx.Response:
            sent.append(request.content)
            event = {"id": id_at(1), "data": {"text": "Hi"}}
            if request.url.path.endswith("/live"):
                return httpx.Response(200, text=f"event: event\nid: c1\ndata: {json.dumps(event)}\n\n")
            if "/profile" in request.url.path:
                return httpx.Response(200, json=event["data"], headers={"ETag": '"1"'})
            if request.method == "GET" or "/poll" in request.url.path:
                page = {"events": [event, {"id": id_at(2)}], "late": [event], "next": None, "has_more": False}
                return httpx.Response(200, json={**page, "batch": "b"})
            return httpx.Response(200, json=event)

        http = httpx.Client(transport=httpx.MockTransport(answer))
        with Lately("http://x", http=http) as lately:
            for model, value in ((Text, Text("Hi")), (Model, Model(text="Hi")), (Note, Note(text="Hi"))):
                topic = lately.topic("t", cast(type[Any], model))
                self.assertEqual(topic.post({"type": "note", "actor": "ada", "data": value})["data"], value)
                self.assertEqual(json.loads(sent[-1])["data"], {"text": "Hi"})
                self.assertEqual([each.get("data") for each in topic.events()], [value, None])
                self.assertEqual(next(topic.follow()).event["data"], value)
                polled = topic.consumer("c").poll()
                self.assertEqual([each["data"] for each in [polled["events"][0], *polled["late"]]], [value, value])
                feed = lately.feed("ada", cast(type[Any], model))
                self.assertEqual(feed.page()["events"][0]["data"], value)
                profile = lately.user("ada").profile(cast(type[Any], model))
                self.assertEqual(profile.put(profile.get().value).value, value)
                self.assertEqual(json.loads(sent[-1]), {"text": "Hi"})

    def test_a_url_without_a_scheme_is_refused_when_the_client_is_made(self) -> None:
        for url in ("127.0.0.1:3000", "localhost:3000", "", "ftp://x", "http://"):
            with self.assertRaisesRegex(ValueError, "must begin with http:// or https://"):
                Lately(url)
        with self.assertRaises(ValueError):
            AsyncLately("http://x", live_url="x:3000")

    def test_a_problem_says_its_first_fault_or_the_systems_code(self) -> None:
        faults = [{"path": "/type", "message": "is missing"}, {"path": "/actor", "message": "is empty"}]
        body = {"code": "invalid-event", "detail": "There are 2 faults.", "errors": faults}
        http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(422, json=body)))
        with Lately("http://x", http=http) as lately, self.assertRaises(LatelyProblem) as caught:
            lately.health()
        self.assertEqual(str(caught.exception), "422 invalid-event: There are 2 faults. /type: is missing")

        async def unreachable() -> None:
            async with AsyncLately("http://127.0.0.1:2", attempts=1) as lately:
                await lately.health()

        self.assertRaisesRegex(LatelyProblem, r"\(ECONNREFUSED\)$", asyncio.run, unreachable())
        self.assertRaisesRegex(LatelyProblem, r"\(ECONNREFUSED\)$", Lately("http://127.0.0.1:2", attempts=1).health)

    def test_clients_that_using_makes_share_the_sum_of_costs(self) -> None:
        def answer(_: httpx.Request) -> httpx.Response:
            return httpx.Response(200, json={"status": "ok"}, headers={"Lately-Cost": "read_units=1.5, calls=2"})

        calls: list[Call] = []
        with Lately("http://x/", http=httpx.Client(transport=httpx.MockTransport(answer))) as lately:
            lately.health()
            lately.using(on_call=calls.append).health()
            self.assertEqual(lately.cost, {"read_units": 3.0, "calls": 4.0})
        self.assertEqual(calls, [Call("GET", "/health", 200, 1, {"read_units": 1.5, "calls": 2.0})])

    def test_a_follower_that_stops_closes_its_stream(self) -> None:
        closed: list[bool] = []

        class Stream(httpx.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                for n in range(3):
                    yield f'event: event\nid: c{n}\ndata: {{"id": "{id_at(n)}"}}\n\n'.encode()

            def close(self) -> None:
                closed.append(True)

        http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, stream=Stream())))
        with Lately("http://x", http=http) as lately:
            follow = lately.topic("t").follow()
            self.assertEqual([each.cursor for each in islice(follow, 2)], ["c0", "c1"])
            self.assertEqual(closed, [])
            follow.close()
            self.assertEqual(closed, [True])

    def test_a_cancelled_task_ends_follow(self) -> None:
        async def run() -> None:
            http = httpx.AsyncClient(
                transport=httpx.MockTransport(lambda _: httpx.Response(429, headers={"Retry-After": "50"}))
            )
            async with AsyncLately("http://x", http=http) as lately:
                waiting = asyncio.ensure_future(anext(lately.topic("t").follow()))
                await asyncio.sleep(0.02)
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting

        asyncio.run(run())

    def test_a_problem_says_its_status_and_code(self) -> None:
        http = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(403, json={"message": "Forbidden"})))
        with Lately("http://x", http=http) as lately, self.assertRaises(LatelyProblem) as caught:
            lately.health()
        self.assertEqual(str(caught.exception), "403 forbidden: Forbidden")


if __name__ == "__main__":
    unittest.main()
