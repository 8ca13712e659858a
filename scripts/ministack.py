"""Starts MiniStack, an AWS on this machine, for the time of a block."""

import contextlib
import os
import pathlib
import tempfile

from processes import answers, free_ports, running, until

MINISTACK = pathlib.Path("target/tools/ministack/bin/ministack")


@contextlib.contextmanager
def ministack(region, prefix):
    """An empty MiniStack, on a port and in a folder of its own. Yields its URL and the path of its log."""
    [port] = free_ports(1)
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | {
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_REGION": region,
            "STATE_DIR": f"{folder}/state",
            "S3_DATA_DIR": f"{folder}/s3",
            "TMPDIR": folder,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        }
        log_path = pathlib.Path(folder) / "ministack.log"
        with open(log_path, "w") as log, running([MINISTACK], log, env=environment) as process:
            until("MiniStack", process, lambda: answers(port))
            yield f"http://127.0.0.1:{port}", log_path
