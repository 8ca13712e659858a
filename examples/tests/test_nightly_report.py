"""The nightly report on a running program and a bucket of MiniStack: each event is in one report, with its sums."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from ministack import ministack  # noqa: E402

PROGRAM = ROOT / "examples/nightly-report/nightly-report"
REGION, TOPIC = "eu-west-1", "paid"
# A report contains the events that are old enough to be sorted, so these are not of this moment.
AT = datetime.now(UTC) - timedelta(minutes=10)


class NightlyReport(unittest.TestCase):
    def setUp(self) -> None:
        url, _ = self.enterContext(ministack(REGION, "lately-report-"))
        # The script runs `lately`.
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "lately").symlink_to(Path(os.environ["LATELY_PROGRAM"]).resolve())
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": REGION}
        # The table of the running program, and the buckets of MiniStack.
        places = {"AWS_ENDPOINT_URL_DYNAMODB": os.environ["LATELY_DYNAMODB"], "AWS_ENDPOINT_URL": url}
        path = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "LATELY_URL": os.environ["LATELY_URL"]}
        self.environment = {**path, **keys, **places, "LATELY_TABLE": "lately"}
        self.bucket = boto3.resource(
            "s3", endpoint_url=url, aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION
        ).Bucket("acme")
        self.bucket.create(CreateBucketConfiguration={"LocationConstraint": REGION})

    def run_it(self, *command: object, given: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [str(each) for each in command], env=self.environment, input=given, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def pay(self, *paid: tuple[str, str]) -> None:
        at = AT.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        events = [
            f'{{"type":"invoice.paid","actor":"{actor}","at":"{at}","data":{{"amount":{amount}}}}}'
            for actor, amount in paid
        ]
        self.run_it("lately", "post", TOPIC, "--file", "-", given="\n".join(events))

    def report(self) -> str:
        return self.run_it(PROGRAM, TOPIC, "amount", "s3://acme/reports")

    def test_each_night_reports_what_is_new(self) -> None:
        self.run_it("lately", "topic", "create", TOPIC)
        self.pay(("ada", "0.10"), ("ada", "0.20"), ("bob", "7"))
        first = self.report()
        self.assertRegex(first, r"ada +2 +0\.30\n")
        self.assertRegex(first, r"bob +1 +7\n")
        self.pay(("bob", "5"))
        second = self.report()
        self.assertRegex(second, r"bob +1 +5\n")
        self.assertNotIn("ada", second)
        quiet = self.report()
        self.assertIn(": 0 events, 0 of them late\n", quiet)
        objects = [each for each in self.bucket.objects.filter(Prefix="reports/") if each.key.endswith(".ndjson")]
        lines = [line for each in objects for line in each.get()["Body"].read().splitlines()]
        self.assertEqual(sorted(json.loads(line)["actor"] for line in lines), ["ada", "ada", "bob", "bob"])
        self.assertEqual(len(objects), 3)
        for each in objects:
            self.assertIn(f"\ns3://acme/{each.key}\n", first + second + quiet)

    def test_a_missing_argument_is_told(self) -> None:
        self.run_it(PROGRAM, TOPIC, code=2)


if __name__ == "__main__":
    unittest.main()
