"""The licence texts of the crates that a program contains: `text("lately")` is the content of a package's
LICENSE-THIRD-PARTY. The texts are those of the crates' own packages; equal texts are written once."""

import collections
import json
import pathlib
import re
import subprocess
import sys

NAMES = re.compile(r"^(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)


def dependencies(programs):
    """The packages that are part of the programs of these packages: neither for tests, nor run by a build only."""
    host = re.search(r"^host: (.*)$", subprocess.check_output(["rustc", "-vV"], text=True), re.M)[1]
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host]
    metadata = json.loads(subprocess.check_output(command))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    queue = [package["id"] for package in metadata["packages"] if package["name"] in programs and not package["source"]]
    if len(queue) != len(programs):
        sys.exit(f"not all of these are packages of the workspace: {', '.join(programs)}")
    reached = set()
    while queue:
        node = queue.pop()
        if node in reached or any("proc-macro" in target["kind"] for target in packages[node]["targets"]):
            continue
        reached.add(node)
        used = (dep["pkg"] for dep in nodes[node]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"]))
        queue.extend(used)
    return sorted((packages[each] for each in reached if packages[each]["source"]), key=lambda it: it["name"])


def texts_of(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and NAMES.match(file.name)]
    return [file.read_text(errors="replace").replace("\r\n", "\n").strip() for file in files]


def text(*programs):
    """The licences of all crates in the programs of these packages."""
    crates, without = collections.defaultdict(list), []
    for package in dependencies(programs):
        name = f"{package['name']} {package['version']} ({package['license'] or 'see its text'})"
        found = texts_of(package)
        for each in found:
            crates[each].append(name)
        if not found:
            without.append(f"{name} {package['repository'] or ''}".rstrip())
    parts = ["This program contains the following libraries, under the licences below.\n"]
    for licence, names in sorted(crates.items(), key=lambda it: it[1]):
        parts.append("\n".join(["=" * 80, *names, "-" * 80, licence, ""]))
    if without:
        parts.append("\n".join(["=" * 80, "The packages of these libraries have no text of their licence:", *without, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    print(text(*sys.argv[1:]), end="")
