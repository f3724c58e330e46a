"""Programs that come from Debian."""

import os
import shutil
import subprocess

from bench.harness.measure import say

__all__ = ["need"]


def need(program: str, package: str) -> bool:
    """Whether there is such a program; installs its package where we may."""
    if shutil.which(program) is None and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"installing {package}")
        _apt("update")
        _apt("install", "--yes", "--no-install-recommends", package)
    found = shutil.which(program) is not None
    if not found:
        say(f"{program} is missing (Debian: apt-get install {package}): left out")
    return found


def _apt(*arguments: str) -> None:
    subprocess.run(
        ["apt-get", "-qq", *arguments],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        timeout=600,
    )
