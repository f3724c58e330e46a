"""All of them, one after the other, each in a process of its own."""

import subprocess
import sys

ALL = ("sql", "rest", "prices", "pairs", "peers", "shapes", "growth", "audit")


def main() -> int:
    """Options are passed on; one that fails doesn't stop the others."""
    failed = [name for name in ALL if _run(name) != 0]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


def _run(name: str) -> int:
    command = [sys.executable, "-m", f"bench.{name}", *sys.argv[1:]]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
