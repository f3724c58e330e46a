"""Which user PostgreSQL runs as. It refuses to run as root, so root hands it to another user."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from service.postgres.errors import PostgresError

__all__ = ["Identity", "choose_identity"]

CANDIDATES = ("postgres", "nobody")


@dataclass(frozen=True)
class Identity:
    """A user to run programs as."""

    uid: int
    gid: int
    name: str
    switched: bool
    """False: simply the user who calls."""

    def arguments(self) -> dict[str, Any]:
        """What subprocess needs to run a program as this user, without any of our groups."""
        if not self.switched:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def choose_identity(home: Path) -> Identity:
    """The owner of an existing cluster; else the caller, or for root ``postgres`` or ``nobody``."""
    caller = os.geteuid()
    owner = home.stat().st_uid if home.exists() else None
    if caller != 0:
        if owner not in {None, caller}:
            raise PostgresError(f"{home} belongs to another user: start it as that user or as root")
        return Identity(caller, os.getegid(), str(caller), switched=False)
    if owner:
        return _known(owner)
    return _first_candidate()


def _known(uid: int) -> Identity:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Identity(uid, uid, str(uid), switched=True)
    return Identity(entry.pw_uid, entry.pw_gid, entry.pw_name, switched=True)


def _first_candidate() -> Identity:
    for name in CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Identity(entry.pw_uid, entry.pw_gid, name, switched=True)
    raise PostgresError("PostgreSQL does not run as root, and there is no user postgres or nobody")
