"""Starts processes for a script, on free ports, and ends them when the script ends."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

SECONDS_TO_START = 60
SECONDS_TO_END = 10

# SIGTERM ends the script as Ctrl-C does, so the script ends its processes.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def free_ports(count):
    """Different free ports."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for it in sockets:
            it.bind(("127.0.0.1", 0))
        return [it.getsockname()[1] for it in sockets]


def answers(port):
    with socket.socket() as it:
        return it.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def running(command, log, **options):
    """Runs a process for the time of the block, then ends it with all processes that it started."""
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, **options)
    try:
        yield process
    finally:
        end(process)


def end(process):
    for which in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, which)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
            break
    # Processes that it started and left behind.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def until(what, process, ask):
    """Calls `ask` until it returns an answer; exits if the process ends or does not start in time."""
    latest = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < latest and process.poll() is None:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.05)
    sys.exit(f"{what} did not start")
