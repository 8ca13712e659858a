"""Makes the packages of a built program, and those of the clients. scripts/package starts and describes this program."""

import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib

import image
import licences

BIN = pathlib.Path(sys.executable).parent
SOURCES = pathlib.Path("local/packages")
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")
# The licences of the crates that the program contains.
THIRD_PARTY = "LICENSE-THIRD-PARTY"
VERSION = tomllib.loads(pathlib.Path("Cargo.toml").read_text())["workspace"]["package"]["version"]
# A machine as Docker, Node.js and Rust call it.
MACHINES = {"x86_64": ("amd64", "x64", "x86_64"), "aarch64": ("arm64", "arm64", "aarch64")}
MACHINE = platform.machine().replace("arm64", "aarch64").replace("AMD64", "x86_64")
DOCKER, NODE, RUST = MACHINES[MACHINE]
SYSTEM = sys.platform
# The platforms that have a package: one for each job of .github/workflows/release.yml.
PLATFORMS = ("linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64")
# The workflow of a release knows the repository's address, and a clone does not.
REPOSITORY = "GITHUB_REPOSITORY" in os.environ and "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format_map(os.environ)


def run(*command, **options):
    """Runs a command. Its output is shown if it fails."""
    command = [str(each) for each in command]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def copied(folder, *files):
    folder.mkdir()
    for file in files:
        shutil.copy(file, folder)
    return folder


def npm_pack(folder, described, out):
    """Packs a folder with this package.json."""
    linked = {"repository": {"type": "git", "url": f"git+{REPOSITORY}.git"}} if REPOSITORY else {}
    (folder / "package.json").write_text(json.dumps(described | {"version": VERSION} | linked, indent=2))
    run("npm", "pack", "--silent", "--pack-destination", out.resolve(), cwd=folder)


def hatch(folder):
    """Builds the wheel of a folder."""
    if REPOSITORY:
        with (folder / "pyproject.toml").open("a") as file:
            file.write(f'\n[project.urls]\nRepository = "{REPOSITORY}"\n')
    environment = {**os.environ, "LATELY_VERSION": VERSION}
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", cwd=folder, env=environment)
    [built] = (folder / "dist").iterdir()
    return built


def wheel(program, out, work):
    """A wheel with the program as its script."""
    sources = [SOURCES / "README.md", *(SOURCES / "wheel").iterdir(), *LICENCES, work / THIRD_PARTY, program]
    built = hatch(copied(work / "wheel", *sources))
    if SYSTEM == "linux":
        # Finds the oldest glibc that the program runs on, and names the wheel after it.
        tools = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
        run(BIN / "auditwheel", "repair", "--wheel-dir", out, built, env=tools)
    else:
        shutil.copy(built, out)


def npm(program, out, work):
    """The package that has the command, and the package of this platform, which has the program."""

    def package(name):
        return f"@lately/cli-{name}"

    described = json.loads((SOURCES / "npm/package.json").read_text())
    command = copied(work / "npm", SOURCES / "README.md", SOURCES / "npm/lately.js", *LICENCES)
    optional = {package(name): VERSION for name in PLATFORMS}
    npm_pack(command, described | {"optionalDependencies": optional}, out)
    carrier = copied(work / "npm-platform", *LICENCES, work / THIRD_PARTY, program)
    name = f"{SYSTEM}-{NODE}"
    about = {
        **{field: described[field] for field in ("keywords", "author", "license")},
        "name": package(name),
        "description": f"The program of @lately/cli for {name}",
        "os": [SYSTEM],
        "cpu": [NODE],
        # Yarn would keep the package in an archive, where no program can be started.
        "preferUnplugged": True,
    }
    if SYSTEM == "linux":
        about["libc"] = ["glibc"]
    npm_pack(carrier, about, out)


def archive(program, out, work):
    target = f"{RUST}-{'apple-darwin' if SYSTEM == 'darwin' else 'unknown-linux-gnu'}"
    files = [SOURCES / "README.md", *LICENCES, work / THIRD_PARTY, program]
    folder = copied(work / f"lately-{VERSION}-{target}", *files)
    with tarfile.open(out / f"{folder.name}.tar.gz", "w:gz", compresslevel=6) as tar:
        tar.add(folder, folder.name)


def container(program, out, work):
    if SYSTEM == "linux":
        texts = [*map(pathlib.Path, LICENCES), work / THIRD_PARTY]
        image.write(out / f"lately-{VERSION}-linux-{DOCKER}.image.tar", program, texts, VERSION, DOCKER)


def clients(out, work):
    """The packages of the clients in TypeScript and Python, from copies without anything that was built before."""
    unbuilt = shutil.ignore_patterns("node_modules", "dist", "__pycache__")
    typescript = shutil.copytree("clients/typescript", work / "typescript", ignore=unbuilt)
    (typescript / "node_modules").symlink_to(pathlib.Path("target/tools/clients/node_modules").resolve())
    npm_pack(typescript, json.loads((typescript / "package.json").read_text()), out)
    shutil.copy(hatch(shutil.copytree("clients/python", work / "python", ignore=unbuilt)), out)


def sums(out):
    """Writes the checksums as `sha256sum --check` reads them, and prints the sizes."""
    files = sorted(file for file in out.iterdir() if file.name != "SHA256SUMS")
    digests = {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    (out / "SHA256SUMS").write_text("".join(f"{digest}  {file.name}\n" for file, digest in digests.items()))
    for file in files:
        print(f"{file.stat().st_size / 1e6:6.1f} MB  {file.name}")


def main(program, out):
    out = pathlib.Path(out)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        # All packages call the program so.
        shutil.copy(program, work / "lately")
        (work / THIRD_PARTY).write_text(licences.text("lately"))
        if SYSTEM == "linux":
            # A debug build without its names of symbols. A release build has none.
            run("strip", work / "lately")
        for make in (wheel, npm, archive, container):
            make(work / "lately", out, work)
        clients(out, work)
    sums(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
