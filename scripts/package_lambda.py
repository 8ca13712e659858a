"""Packages the functions that scripts/build built: a zip file for each, and their template, whose `CodeUri`s are these
files. `sam deploy` deploys the unpacked archive without a build. scripts/package starts this program.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import licences

BUILT = pathlib.Path(".aws-sam/build")
SAM = pathlib.Path("target/tools/sam/bin/sam")
VERSION = tomllib.loads(pathlib.Path("Cargo.toml").read_text())["workspace"]["package"]["version"]
# Lambda starts this program.
PROGRAM = "bootstrap"
# Always the same, so that the same program is the same zip file.
DATE = (1980, 1, 1, 0, 0, 0)


def add(archive, name, content, mode):
    entry = zipfile.ZipInfo(name, DATE)
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def main(architecture):
    out = pathlib.Path("target/packages-lambda")
    shutil.rmtree(out, ignore_errors=True)
    folder = out / f"lately-{VERSION}-lambda-{architecture}"
    folder.mkdir(parents=True)
    functions = []

    def zipped(found):
        """Zips a function, and returns the line that names the zip file."""
        functions.append(found[2])
        with zipfile.ZipFile(folder / f"{found[2]}.zip", "w") as archive:
            add(archive, PROGRAM, (BUILT / found[2] / PROGRAM).read_bytes(), 0o755)
        return f"{found[1]}{found[2]}.zip"

    template = re.sub(r"^( +CodeUri: )(\w+)$", zipped, (BUILT / "template.yaml").read_text(), flags=re.M)
    # The default is the processor that the programs are built for.
    template, changed = re.subn(
        r"^(  Architecture:\n(?:    .*\n)*?    Default: )\w+$", rf"\g<1>{architecture}", template, flags=re.M
    )
    declared = template.count("Type: AWS::Serverless::Function")
    if not (len(functions) == declared and changed == 1):
        sys.exit(f"{len(functions)} of {declared} functions are zipped, {changed} defaults changed")
    (folder / "template.yaml").write_text(template)
    for file in ("samconfig.toml", "LICENSE-APACHE", "LICENSE-MIT"):
        shutil.copy(file, folder)
    programs = [f"lately-{manifest.parent.name}" for manifest in pathlib.Path("functions").glob("*/Cargo.toml")]
    (folder / "LICENSE-THIRD-PARTY").write_text(licences.text(*programs))
    subprocess.run([SAM.resolve(), "validate", "--lint", "--template", "template.yaml"], cwd=folder, check=True)
    archive = shutil.make_archive(str(folder), "zip", out, folder.name)
    for file in (*sorted(folder.glob("*.zip")), pathlib.Path(archive)):
        print(f"{os.stat(file).st_size / 1e6:6.1f} MB  {file.name}")


main(*sys.argv[1:])
