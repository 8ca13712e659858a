"""Installs each package into an empty environment, starts the system from it, and runs the quickstart there.

scripts/package starts and describes this program. The quickstart's commands are those of docs/quickstart.md, as they
stand there; `lately` is the package's, and the program's free port takes the place of port 3000.
"""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import zipfile

import image
from package import THIRD_PARTY, VERSION, run
from processes import end, free_ports, until

BIN = pathlib.Path(sys.executable).parent.resolve()
PAGE = pathlib.Path("docs/quickstart.md").read_text()
# Commands that get the program in another way.
NOT_RUN = ("cargo run", "cargo install --path local")
# From `pip install` to the first event.
TARGET_SECONDS, TARGET_MEGABYTES = 10, 15


def quickstart():
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines() if line and line not in NOT_RUN]
    # Without this, curl calls a refusal a success.
    return [line.replace("curl -s ", "curl -s --fail-with-body ") for line in lines]


def first(found):
    return next(iter(found), None)


class Installed:
    """A package that is installed in an empty environment: `command` starts its program.

    `server` starts the system, if that is another command, and `url` is the system's address if it is known before.
    SIGTERM to this command ends the system. If `is_asked_by_terminal`, a terminal's SIGINT for Ctrl-C does.
    """

    def __init__(self, folder, command, environment=(), server=None, url=None, is_asked_by_terminal=False):
        self.folder, self.command = folder, [str(each) for each in command]
        # No setting of this machine is used, and nothing is fetched: the package needs no other package.
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        self.environment = {"HOME": str(folder), "PATH": path, "TMPDIR": str(folder), **dict(environment)}
        server = server or [*self.command, "--port", "0", "--dynamodb-port", "0"]
        self.server, self.url = [str(each) for each in server], url
        self.is_asked_by_terminal = is_asked_by_terminal
        (folder / "bin").mkdir(exist_ok=True)
        caller = folder / "bin/lately"
        caller.write_text(f'#!/bin/sh\nexec {shlex.join(self.command)} "$@"\n')
        caller.chmod(0o755)

    @contextlib.contextmanager
    def started(self):
        """Starts the system, and yields the URL of its API."""
        log_path = self.folder / "log"
        with open(log_path, "w") as log:
            process = subprocess.Popen(
                self.server, stdout=log, stderr=log, env=self.environment, start_new_session=True
            )
        try:
            said = r"^  API  *(http:\S+)"
            try:
                url = until("the program", process, lambda: first(re.findall(said, log_path.read_text(), re.M)))
                yield self.url or url
            except SystemExit:
                print(log_path.read_text())
                raise
            if self.is_asked_by_terminal:
                # Every process of the command gets it.
                os.killpg(process.pid, signal.SIGINT)
            else:
                process.terminate()
            process.wait(30)
            if not log_path.read_text().endswith("stopping\n"):
                sys.exit(f"the program did not end in order:\n{log_path.read_text()}")
        finally:
            end(process)

    def shell(self, line, url):
        environment = {**self.environment, "LATELY_URL": url}
        line = line.replace("http://127.0.0.1:3000", url)
        return run("sh", "-c", line, env=environment)


def unpacked(packages, folder):
    """The archive, after its checksum."""
    check = ["sha256sum"] if shutil.which("sha256sum") else ["shasum", "-a", "256"]
    run(*check, "--check", "SHA256SUMS", cwd=packages)
    [archive] = packages.glob("*.tar.gz")
    run("tar", "-xzf", archive, "-C", folder, "--strip-components=1")
    return Installed(folder, [folder / "lately"])


def pip(packages, folder):
    run(sys.executable, "-m", "venv", folder / "venv")
    [wheel] = packages.glob("lately-*.whl")
    begun = time.monotonic()
    run(folder / "venv/bin/pip", "install", "--no-index", "--disable-pip-version-check", wheel)
    installed = Installed(folder, [folder / "venv/bin/lately"])
    with installed.started() as url:
        installed.shell("lately topic create first", url)
        installed.shell("lately post first --type greeting --actor ada", url)
        seconds = time.monotonic() - begun
        print(f"  from pip install to the first event: {seconds:.1f} s (target: {TARGET_SECONDS} s)")
    return installed


def uvx(packages, folder):
    [wheel] = packages.glob("lately-*.whl")
    return Installed(
        folder, [BIN / "uvx", "--offline", "--quiet", "--python", sys.executable, "--from", wheel, "lately"]
    )


def pipx(packages, folder):
    [wheel] = packages.glob("lately-*.whl")
    command = [BIN / "pipx", "run", "--quiet", "--pip-args=--no-index", "--spec", wheel, "lately"]
    return Installed(folder, command, {"PIPX_DEFAULT_PYTHON": sys.executable})


def npm(packages, folder):
    tarballs = sorted(packages.glob("lately-cli-*.tgz"))
    install = ["npm", "install", "--offline", "--no-audit", "--no-fund", "--prefix", folder]
    run(*install, *tarballs, env={**os.environ, "HOME": str(folder)})
    return Installed(folder, [folder / "node_modules/.bin/lately"])


def npx(packages, folder):
    """`npx` starts the system. The commands are those of `npm install`, because npx needs seconds for each."""
    named = [f"--package={each}" for each in sorted(packages.glob("lately-cli-*.tgz"))]
    server = [
        "npx",
        "--yes",
        "--offline",
        "--loglevel=error",
        *named,
        "--",
        "lately",
        "--port",
        "0",
        "--dynamodb-port",
        "0",
    ]
    command = npm(packages, folder).command
    # npm does not pass on SIGTERM.
    return Installed(folder, command, server=server, is_asked_by_terminal=True)


def container(packages, folder):
    """The image: with Docker if it runs here, and otherwise its unpacked root."""
    [file] = packages.glob("*.image.tar")
    if subprocess.run(["docker", "info"], capture_output=True).returncode == 0:
        run("docker", "load", "--input", file)
        # Podman and rootless engines find their settings by these.
        own = {name: value for name, value in os.environ.items() if name.startswith(("DOCKER_", "XDG_"))}
        [port] = free_ports(1)
        docker, name = ["docker", "run", "--rm"], f"lately:{VERSION}"
        return Installed(
            folder,
            [*docker, "--network=host", "--env=LATELY_URL", name],
            own,
            server=[*docker, f"--publish=127.0.0.1:{port}:3000", name],
            url=f"http://127.0.0.1:{port}",
        )
    root = folder / "root"
    config = image.unpack(file, root)
    assert (root / "usr/share/doc/lately" / THIRD_PARTY).exists(), f"the image lacks {THIRD_PARTY}"
    print("  without Docker: the image's root, with chroot")
    as_user = (
        ["chroot", f"--userspec={config['User']}"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "chroot"]
    )
    inside = [*as_user, root, *config["Entrypoint"]]
    given = dict(each.split("=", 1) for each in config["Env"]) | {
        "LATELY_HOST": "127.0.0.1",
        "LATELY_DYNAMODB_HOST": "127.0.0.1",
        "TMPDIR": "/tmp",
    }
    return Installed(folder, ["env", *(f"{name}={value}" for name, value in given.items()), *inside])


def check_licences(packages):
    """Each archive that carries the program has the licences of the crates in it. `container` checks the image."""
    for file in packages.glob("lately-*"):
        if file.suffix == ".whl":
            with zipfile.ZipFile(file) as opened:
                texts = [opened.read(name) for name in opened.namelist() if name.endswith(THIRD_PARTY)]
        elif file.suffix in (".tgz", ".gz"):
            with tarfile.open(file) as opened:
                members = [member for member in opened if member.name.endswith(THIRD_PARTY)]
                texts = [opened.extractfile(member).read() for member in members]
        else:
            continue
        has_program = file.name not in (f"lately-cli-{VERSION}.tgz", f"lately-client-{VERSION}.tgz")
        assert not has_program or (len(texts) == 1 and b"\ntokio " in texts[0]), f"{file.name} lacks {THIRD_PARTY}"


def main(packages):
    packages = pathlib.Path(packages).resolve()
    check_licences(packages)
    ways = {"archive": unpacked, "pip install": pip, "uvx": uvx, "pipx run": pipx, "npm install": npm, "npx": npx}
    if list(packages.glob("*.image.tar")):
        ways["image"] = container
    for name, install in ways.items():
        print(f"{name}", flush=True)
        with tempfile.TemporaryDirectory(prefix="lately-package-") as place:
            folder = pathlib.Path(place)
            # Another user runs the program in the image's root.
            folder.chmod(0o755)
            installed = install(packages, folder)
            shown = run(*installed.command, "--version", env=installed.environment)
            assert shown.strip() == f"lately {VERSION}", shown
            begun = time.monotonic()
            with installed.started() as url:
                print(f"  started in {time.monotonic() - begun:.1f} s", flush=True)
                with urllib.request.urlopen(url) as page:
                    assert b"<title>" in page.read(), "no console"
                lines = quickstart()
                for line in lines:
                    installed.shell(line, url)
                installed.shell("lately latest talks -n 3 | grep -q talk.rated", url)
            print(f"  {len(lines)} commands of the quickstart in {time.monotonic() - begun:.1f} s", flush=True)


main(*sys.argv[1:])
