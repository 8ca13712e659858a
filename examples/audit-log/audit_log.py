"""An audit log: every event of a topic in a file, a line of JSON each, in the order in which a consumer reads them.

`python audit_log.py TOPIC FILE` runs until Ctrl-C; `--once` ends when the file has caught up, as for cron. The consumer
`audit-log` remembers the position. A batch is committed after its lines are on the disk, so no event is lost if the
process or the machine stops at any point. Then the batch comes again, and the lines that the file has are left out.
Only one process may write to the file.
"""

import argparse
import json
import os
import sys
import time
from types import TracebackType
from typing import Any, BinaryIO

from lately_client import Lately, LatelyProblem
from lately_client.api import Event

URL, TOKEN = os.environ.get("LATELY_URL", "http://127.0.0.1:3000"), os.environ.get("LATELY_TOKEN", "dev")
BATCH = 500
"""The most events of a batch."""
TAIL = 4 << 20
"""The last batch is within so many bytes of the file's end: a response has at most 2.5 MB."""
PAUSE_SECONDS = 5.0
"""The time between two polls of a topic without new events."""


class Log:
    """The file. It ends with a whole line, whatever interrupted the writer before."""

    def __init__(self, path: str) -> None:
        self.file: BinaryIO = open(path, "a+b")
        begin = max(0, self.file.seek(0, os.SEEK_END) - TAIL)
        self.file.seek(begin)
        tail = self.file.read()
        whole = tail.rfind(b"\n") + 1
        self.file.truncate(begin + whole)
        # The first line of the tail may be cut, unless it is the file's first.
        lines = tail[:whole].splitlines()[1 if begin else 0 :]
        self.last = {json.loads(line)["id"] for line in lines[-BATCH:]}

    def __enter__(self) -> "Log":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()

    def append(self, events: list[Event[Any]]) -> int:
        """Appends the events that the last batch did not have, and returns their number when they are on the disk."""
        added = [event for event in events if event["id"] not in self.last]
        lines = (json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in added)
        self.file.write("".join(lines).encode())
        self.file.flush()
        os.fsync(self.file.fileno())
        self.last = {event["id"] for event in events}
        return len(added)


def run(topic: str, path: str, once: bool) -> None:
    with Lately(URL, TOKEN) as lately, Log(path) as log:
        consumer = lately.topic(topic).consumer("audit-log")
        consumer.put({"start": "earliest"})
        while True:
            for batch in consumer.batches({"limit": BATCH}):
                added = log.append([*batch["events"], *batch["late"]])
                print(f"{added} events, {len(batch['late'])} of the batch late", file=sys.stderr)
            if once:
                return
            time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Appends every event of a topic to a file.")
    parser.add_argument("--once", action="store_true", help="end when the file has caught up")
    parser.add_argument("topic")
    parser.add_argument("file")
    asked = parser.parse_args()
    try:
        run(asked.topic, asked.file, asked.once)
    except LatelyProblem as problem:
        sys.exit(f"{problem.code}: {problem.detail}")
    except KeyboardInterrupt:
        pass
