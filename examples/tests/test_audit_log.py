"""The audit log on a running program: nothing is missing and nothing is there twice, whatever interrupts the writer."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lately_client import Lately

PROGRAM = Path(__file__).parents[1] / "audit-log/audit_log.py"
# The consumer reads events that are at least ten seconds old.
AT = datetime.now(UTC) - timedelta(seconds=50)


class AuditLog(unittest.TestCase):
    def setUp(self) -> None:
        self.lately = self.enterContext(Lately(os.environ["LATELY_URL"], "dev"))
        self.topic = self.lately.topic(f"audited-{os.getpid()}-{self._testMethodName[-20:].replace('_', '-')}")
        self.topic.put()
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "audit.ndjson"

    def post(self, *numbers: int) -> None:
        self.topic.post_all([{"type": "login", "actor": "ada", "at": AT, "data": number} for number in numbers])

    def log(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(PROGRAM), "--once", *(arguments or [self.topic.name, str(self.file)])]
        return subprocess.run(command, capture_output=True, text=True)

    def logged(self) -> list[int]:
        return sorted(json.loads(line)["data"] for line in self.file.read_text("utf-8").splitlines())

    def test_each_run_adds_what_is_new(self) -> None:
        self.post(1, 2, 3)
        self.assertEqual(self.log().returncode, 0)
        self.assertEqual(self.logged(), [1, 2, 3])
        self.post(4)
        self.assertEqual(self.log().returncode, 0)
        self.assertEqual(self.logged(), [1, 2, 3, 4])

    def test_a_batch_that_comes_again_is_written_once(self) -> None:
        self.post(1, 2, 3)
        self.log()
        # The writer died in the middle of a line, before it committed: so the whole topic comes again.
        whole = self.file.read_bytes()
        self.file.write_bytes(whole[:-20])
        self.topic.consumer("audit-log").seek("earliest")
        self.assertEqual(self.log().returncode, 0)
        self.assertEqual(self.logged(), [1, 2, 3])
        self.assertEqual(len(self.file.read_bytes()), len(whole))

    def test_a_problem_ends_the_program_with_its_code(self) -> None:
        done = self.log("no-such-topic", str(self.file))
        self.assertEqual(done.returncode, 1)
        self.assertIn("topic-not-found", done.stderr)


if __name__ == "__main__":
    unittest.main()
