"""The admin key of ``preauth dev``: made once, kept in a file that only its owner can read."""

import os
from pathlib import Path

from service.api.auth import digest, new_secret
from service.store import Connection, call

__all__ = ["create_key", "local_admin_key"]

FILE = "admin.key"


def local_admin_key(connection: Connection, data_dir: Path) -> tuple[str, Path]:
    """The key in ``data_dir/admin.key`` while this database knows it, else a new one."""
    path = data_dir / FILE
    kept = path.read_text().strip() if path.exists() else ""
    if kept and call(connection, "key_by_hash", key_hash=digest(kept.encode())) is not None:
        return kept, path
    secret, _ = create_key(connection, name="preauth dev", role="admin")
    _keep(path, secret)
    return secret, path


def create_key(
    connection: Connection, *, name: str, role: str, account_id: str | None = None
) -> tuple[str, dict[str, object]]:
    """Make a key; its secret, which nobody can show again, and what is stored about it."""
    secret = new_secret()
    made = call(
        connection,
        "create_key",
        name=name,
        role=role,
        key_hash=digest(secret.encode()),
        account_id=account_id,
        actor="preauth keys",
    )
    return secret, made


def _keep(path: Path, secret: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(f"{secret}\n")
