"""Names the wheel's platform: the wheel has no Python code, so any Python 3 of this platform can install it."""

import platform
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The oldest systems that Rust's programs run on. On Linux, auditwheel finds the oldest glibc that this program runs on.
MACOS = {"arm64": "macosx_11_0_arm64", "x86_64": "macosx_10_12_x86_64"}


class Platform(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        machine = platform.machine()
        name = MACOS[machine] if sys.platform == "darwin" else f"linux_{machine}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{name}"
