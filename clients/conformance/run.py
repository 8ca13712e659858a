#!/usr/bin/env python3
"""Runs the conformance cases against a client, through the proxy, and prints a table.

`run.py --program PATH CLIENT...` runs all cases for these clients; `--only TEXT` runs the cases whose names contain the
text. A client is an adapter: a process that reads calls as JSON lines and writes their results (README.md).
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path

import yaml

from matching import Mismatch, at, match
from proxy import CaseTraffic, Proxy, ask

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target"), os.environ.get("CARGO_BUILD_TARGET", ""))
CLIENTS = {
    "typescript": ["node", HERE.parent / "typescript/tests/adapter.mjs"],
    "python": [sys.executable, HERE.parent / "python/tests/adapter.py", "sync"],
    "python-async": [sys.executable, HERE.parent / "python/tests/adapter.py", "async"],
    "rust": [TARGET / "debug/examples/adapter"],
}
# This page has the table of all cases.
PAGE = HERE.parents[1] / "docs/clients.md"
# The cases mostly wait, so all clients run at the same time, each in a process, and this many cases of each.
AT_ONCE = 8
# Only failures reach this bound.
PATIENCE = 90


class Program:
    """A local program of Lately, with its data in a temporary folder. Only the demo's topic `billing` has reports."""

    def __init__(self, path, reports=False):
        self.path, self.folder = path, tempfile.TemporaryDirectory()
        self.options = ["--report-every", "1s"] if reports else ["--no-demo", "--report-every", "never"]
        self.process = None
        self.url = "http://127.0.0.1:1"

    def start(self):
        log = Path(self.folder.name) / "log"
        with log.open("wb") as output:
            data = ["--data", str(Path(self.folder.name) / "data")]
            arguments = ["--port", "0", "--dynamodb-port", "0", *self.options, *data]
            self.process = subprocess.Popen([self.path, *arguments], stdout=output, stderr=output)
        latest = time.monotonic() + PATIENCE
        while not (found := re.search(r"^  API  *(http:\S*)", log.read_text(), re.M)):
            if time.monotonic() > latest or self.process.poll() is not None:
                sys.exit(f"The program does not start:\n{log.read_text()}")
            time.sleep(0.05)
        self.url = found[1]
        return self

    def stop(self, crash=False):
        if self.process:
            (self.process.kill if crash else self.process.terminate)()
            self.process.wait()


class Adapter:
    """A client in a process."""

    def __init__(self, client):
        self.process = subprocess.Popen(
            [str(each) for each in CLIENTS[client]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def tell(self, **message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        if not line:
            raise Mismatch(f"the client ended, or did not answer within {PATIENCE} s: {message}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Case:
    numbers = itertools.count(1)

    def __init__(self, suite, case, adapter):
        self.suite, self.case, self.adapter = suite, case, adapter
        number = str(next(self.numbers))
        unique = f"{os.getpid()}-{number}"
        self.names = {name: f"{name}-{unique}" for name in ("topic", "user", "other", "app", "repo", "name")}
        self.names["report"] = "billing"
        self.starting = None
        reports = case.get("needs") == "report"
        self.has_own_program = case.get("own_program") or reports
        self.program = Program(suite.path, reports).start() if self.has_own_program else suite.program
        live = case.get("live", "served")
        if live == "served" and not suite.serves_live:
            live = "emulated"
        self.traffic = CaseTraffic(lambda: self.program.url, self.restart, live)
        suite.proxy.cases[number] = self.traffic
        self.names["url"] = f"{suite.proxy.url}/{number}"

    def run(self):
        try:
            if "topic" not in self.case or self.case["topic"] is not None:
                self.ask("PUT", "/topics/$topic", self.case.get("topic") or {})
            self.traffic.faults = self.filled(self.case.get("faults", []))
            if "token" in self.case:
                token = self.filled(self.case["token"])
            else:
                # An admin by default, as `dev`, but with a session of its own: a session may have 10 open streams.
                wanted = {"user": "$user", **self.case["session"]} if "session" in self.case else {"scopes": ["admin"]}
                token = self.ask("POST", "/sessions", self.filled({"ttl_seconds": 600, **wanted}))["token"]
            options = self.filled(self.case.get("client", {}))
            self.adapter.tell(client={"url": self.names["url"], "token": token, **options})
            for number, step in enumerate([*self.case["steps"], *self.case.get("finally", [])], 1):
                try:
                    self.step(self.filled(step))
                except Mismatch as mismatch:
                    raise Mismatch(f"step {number}: {mismatch}") from None
            unused = [fault for fault in self.traffic.faults if fault.get("times", 1) > 0 and not fault.get("may_stay")]
            if unused:
                raise Mismatch(f"faults that met no request: {unused}")
        finally:
            self.traffic.ended = True
            if self.starting:
                self.starting.join()
            if self.has_own_program:
                self.program.stop()

    def step(self, step):
        if "start" in step:
            self.adapter.tell(**step)
        elif "do" in step and "until" in step:
            self.until(lambda: self.call({**step, "expect": step["until"]}))
        elif "do" in step or "next" in step:
            self.call(step)
        elif "http" in step:
            method, _, path = step["http"].partition(" ")
            status, body = ask(
                self.program.url, method, path, step.get("body"), step.get("token", "dev"), step.get("headers")
            )
            match(step.get("status", {"$min": 200}), status, "status")
            self.check(step, body)
        elif "fill" in step:
            event = {"type": "note", "actor": "ada", **step.get("event", {})}
            events = [{**event, "data": {"n": n}} for n in step["fill"]]
            for n, each in zip(step["fill"], events):
                # An import into the past: no page has to wait until such an event is settled.
                each |= {"at": step["at"].format(n)} if "at" in step else {}
            self.ask("POST", f"/topics/{step.get('into', self.names['topic'])}/events", events)
        elif "faults" in step:
            self.traffic.faults = step["faults"]
        elif "stop" in step:
            self.adapter.tell(stop=step["stop"])
        elif "sleep" in step:
            time.sleep(step["sleep"])
        elif "until" in step:
            asked = {"http": step["until"]["http"], "expect": {"value": step["until"]["value"]}}
            self.until(lambda: self.step(asked))
        elif "restart" in step:
            self.restart(**step["restart"])
        else:
            raise Mismatch(f"no such step: {step}")

    def call(self, step):
        if step.get("do") == "topic.consumer.put":
            self.wait_for_fan_out()
        before, started = len(self.traffic.requests), time.monotonic()
        names = ("do", "of", "with", "named", "take", "next", "count")
        answer = self.adapter.tell(**{name: step[name] for name in names if name in step})
        self.sent, self.seconds = self.traffic.requests[before:], time.monotonic() - started
        expect = step.get("expect", {})
        if "problem" in answer and "problem" not in expect:
            raise Mismatch(f"{step.get('do', step)} failed: {answer['problem']}")
        if "problem" in expect:
            match(expect["problem"], answer.get("problem"), "problem")
        self.check(step, answer.get("value"))
        match(expect.get("requests", {"$min": 0}), len(self.sent), "the number of requests")
        if "sent" in expect:
            match(expect["sent"], self.sent, "sent")
        if "statuses" in expect:
            match(expect["statuses"], [call["status"] for call in answer["calls"]], "statuses")
        if "cost" in expect:
            total = {}
            for call in answer["calls"]:
                for name, value in call["cost"].items():
                    total[name] = total.get(name, 0) + value
            match(expect["cost"], total, "cost")
        if "pauses" in expect:
            times = [request["at"] for request in self.sent]
            pauses = [later - earlier for earlier, later in zip(times, times[1:])]
            match([{"$min": least} for least in expect["pauses"]], pauses, "pauses")
        if expect.get("one_key"):
            keys = {request["headers"].get("idempotency-key") for request in self.sent}
            if len(keys) != 1 or None in keys:
                raise Mismatch(f"the requests have the keys {keys}")

    def check(self, step, value):
        expect = step.get("expect", {})
        if "value" in expect:
            match(expect["value"], value)
        for name, path in step.get("save", {}).items():
            self.names[name] = at(value, path) if path else value

    def until(self, attempt):
        """Repeats an attempt until its result is as expected."""
        latest = time.monotonic() + PATIENCE
        while True:
            try:
                return attempt()
            except Mismatch:
                if time.monotonic() > latest:
                    raise
                time.sleep(0.1)

    def wait_for_fan_out(self):
        """Waits until fan-out has processed all records of before. An event that it processes after a consumer got it
        counts as late."""
        began = time.monotonic()

        def attempt():
            waited = time.monotonic() - began
            # Reported in tenths of a second.
            oldest = max(shard["lag_seconds"] for shard in self.ask("GET", "/local/state", None)["stream"])
            if oldest + 0.1 >= waited:
                raise Mismatch(f"fan-out is {oldest} s behind")

        self.until(attempt)

    def restart(self, down=0, crash=False):
        """Ends the program. It starts again after some seconds, while the next steps run."""
        self.program.stop(crash)
        self.program.url = "http://127.0.0.1:1"
        self.starting = threading.Timer(down, self.program.start)
        self.starting.start()

    def ask(self, method, path, body):
        status, answer = ask(self.program.url, method, self.filled(path), body)
        if status >= 300:
            raise Mismatch(f"{method} {path} was answered {status}: {answer}")
        return answer

    def filled(self, node):
        """Puts in the names of this case and what earlier steps saved, and unfolds `$repeat` and `$range`."""
        if isinstance(node, str):
            if node.startswith("$") and node[1:] in self.names:
                return deepcopy(self.names[node[1:]])
            names = "|".join(sorted(self.names, key=len, reverse=True))
            return re.sub(rf"\$({names})\b", lambda found: str(self.names[found[1]]), node)
        if isinstance(node, list):
            return [self.filled(each) for each in node]
        if isinstance(node, dict):
            if "$repeat" in node:
                times, each = node["$repeat"]
                return [json.loads(json.dumps(self.filled(each)).replace('"$n"', str(n))) for n in range(times)]
            if "$range" in node:
                return list(range(*node["$range"]))
            if "$text" in node:
                return "x" * node["$text"]
            if "$event" in node:
                n = node["$event"]
                id = f"019aa0b7-9a40-7000-8000-{n:012}"
                event = {"id": id, "at": "2025-11-20T10:02:58.496Z", "type": "note", "actor": "ada", "data": n}
                # Topics do not name themselves, but a client ignores fields that it does not know.
                return {**event, "topic": "posts", "of_a_later_server": {}}
            # A saved value may be known only when its step runs.
            return {self.filled(name): self.filled(each) for name, each in node.items()}
        return node


class Suite:
    """The cases for a client, with a program and a proxy of its own."""

    def __init__(self, path, client):
        self.path, self.client, self.program, self.proxy = path, client, Program(path).start(), Proxy()
        status, body = ask(self.program.url, "GET", "/topics/none/live")
        self.serves_live = body["code"] != "route-not-found"

    def run(self, cases):
        """Runs the cases. Returns the failures."""
        adapters = {}

        def run(case):
            adapter = adapters.get(threading.get_ident())
            if adapter is None or adapter.process.poll() is not None:
                adapter = adapters[threading.get_ident()] = Adapter(self.client)
            try:
                Case(self, deepcopy(case), adapter).run()
            except Mismatch as mismatch:
                return str(mismatch)
            except Exception:
                return traceback.format_exc()
            return None

        # A case with such a limit waits for the end of a minute, so it begins first.
        cases = sorted(cases, key=lambda case: "reads_per_minute" not in case.get("session", {}))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            failures = {case["name"]: failure for case, failure in zip(cases, pool.map(run, cases)) if failure}
        for adapter in adapters.values():
            adapter.close()
        return failures


def load():
    cases = []
    for file in sorted((HERE / "cases").glob("*.yaml")):
        for case in yaml.safe_load(file.read_text("utf-8")):
            cases.append({**case, "group": file.stem.replace("-", " ")})
    names = [case["name"] for case in cases]
    if repeated := {name for name in names if names.count(name) > 1}:
        sys.exit(f"Two cases have the same name: {repeated}")
    return cases


def run(path, client, cases):
    suite = Suite(path, client)
    try:
        return suite.run(cases)
    finally:
        suite.program.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the program lately")
    parser.add_argument("--only", default="", help="a part of the cases' names")
    parser.add_argument("clients", nargs="*", default=list(CLIENTS), help=", ".join(CLIENTS))
    arguments = parser.parse_args()
    cases = [case for case in load() if arguments.only in case["name"] or arguments.only == case["group"]]
    started = time.monotonic()
    with ProcessPoolExecutor(len(arguments.clients)) as pool:
        runs = {client: pool.submit(run, arguments.program, client, cases) for client in arguments.clients}
    failures = {client: its.result() for client, its in runs.items()}
    for client, its_failures in failures.items():
        for name, failure in its_failures.items():
            print(f"FAILED {client}: {name}\n    {failure}")
    print(f"{len(cases)} cases in {time.monotonic() - started:.0f} s")
    print(found := table(cases, arguments.clients, failures))
    failed = sum(map(len, failures.values()))
    print(f"{len(cases) * len(arguments.clients) - failed} passed, {failed} failed")
    is_whole = not arguments.only and arguments.clients == list(CLIENTS)
    if is_whole and not failed and found not in PAGE.read_text("utf-8"):
        sys.exit("docs/clients.md has another table. Put this one there.")
    return 1 if failed else 0


def table(cases, clients, failures):
    """The table of docs/clients.md."""
    groups = list(dict.fromkeys(case["group"] for case in cases))
    lines = [f"| cases | | {' | '.join(clients)} |", f"| --- | --- |{' --- |' * len(clients)}"]
    for group in [*groups, "all"]:
        names = {case["name"] for case in cases if group in (case["group"], "all")}
        passed = [str(len(names - failures[client].keys())) for client in clients]
        lines.append(f"| {group} | {len(names)} | {' | '.join(passed)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
