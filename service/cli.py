"""The command line: ``preauth COMMAND``. Settings come from the environment, PREAUTH_*."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from pydantic import ValidationError

from service import __version__
from service.pricing.commands import prices
from service.settings import Settings
from service.text import is_text

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from service.plan_file import Declared, PlanFileError, Source

__all__ = ["main"]

NOT_UTF_8 = "preauth.not_utf_8"


class Cli(click.Group):
    """Tells what is wrong in a line; a traceback is for defects."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note whether all of them are text: a file may have any name, the ledger's words not."""
        ctx.meta[NOT_UTF_8] = not all(map(is_text, args))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except ValidationError as error:
            raise click.ClickException(_settings_errors(error)) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if (complaint := _complaint(error, ctx)) is None:
                raise
            raise click.ClickException(complaint) from None


def _complaint(error: Exception, ctx: click.Context) -> str | None:
    from service.complaints import complaint_of

    complaint = complaint_of(error, ctx.invoked_subcommand)
    if complaint is None and isinstance(error, UnicodeEncodeError) and ctx.meta[NOT_UTF_8]:
        return "an argument is not UTF-8"
    return complaint


def _settings_errors(error: ValidationError) -> str:
    return "\n".join(map(_settings_error, error.errors()))


def _settings_error(error: "ErrorDetails") -> str:
    """One that is of several settings together names them itself."""
    name = ".".join(map(str, error["loc"])).upper()
    return f"PREAUTH_{name}: {error['msg']}" if name else error["msg"].removeprefix("Value error, ")


@click.group(cls=Cli, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Preauth: authorization holds for metered spend."""


@main.command()
def dev() -> None:
    """Run PostgreSQL and the service on this machine (what `make run` does)."""
    from service.dev import run
    from service.jobs.outgoing import check_environment

    settings = Settings()
    check_environment(settings)
    run(settings)


@main.command()
@click.option("--migrate", "first", is_flag=True, help="Migrate before serving.")
@click.option("--workers", type=click.IntRange(1, 128), help="Processes; PREAUTH_WORKERS.")
def serve(first: bool, workers: int | None) -> None:
    """Run the service on PREAUTH_DATABASE_URL, once that is at head."""
    from service.jobs.outgoing import check_environment
    from service.ledger import Ledger
    from service.migrate import upgrade
    from service.serving import run_workers, wait_for_head

    settings = Settings()
    if settings.database_url is None:
        raise click.UsageError("PREAUTH_DATABASE_URL is not set (`preauth dev` brings its own)")
    Ledger.of(settings)  # refuses here, and not in each worker, what it cannot connect to
    check_environment(settings)
    if first:
        upgrade(settings.database_url)
    wait_for_head(settings.database_url)
    run_workers(settings, workers or settings.workers)


@main.command()
def migrate() -> None:
    """Bring the database to this release's newest revision."""
    from service.migrate import current, upgrade
    from service.store import database

    with database(Settings()) as dsn:
        before = current(dsn)
        upgrade(dsn)
        click.echo(f"revision {before} -> {current(dsn)}")


@main.command()
def verify() -> None:
    """Recompute every window; print each mismatch, one JSON object a line; fail if there is one."""
    import psycopg

    from service.store import database, rows

    with database(Settings()) as dsn, psycopg.connect(dsn) as connection:
        found = rows(connection, "verify")
    _tell_mismatches(found)


def _tell_mismatches(found: list[dict[str, Any]]) -> None:
    for row in found:
        click.echo(json.dumps(row, default=str))
    if found:
        sys.exit(1)
    click.echo("the ledger is consistent", err=True)


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
def backup(file: Path) -> None:
    """Write the ledger, as of this instant, to a new FILE that only you can read (pg_dump)."""
    from service import backup as files
    from service.store import database

    with database(Settings()) as dsn:
        files.backup(dsn, file)
    click.echo(f"{file}: {file.stat().st_size} bytes", err=True)


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def restore(file: Path) -> None:
    """Put a backup into a database without a ledger, whole or not at all, and verify it."""
    import psycopg

    from service import backup as files
    from service.migrate import current, head, remedy
    from service.store import database, rows

    with database(Settings()) as dsn:
        files.restore(dsn, file)
        revision = current(dsn)
        with psycopg.connect(dsn) as connection:
            found = rows(connection, "verify")
    _tell_mismatches(found)
    if revision != head():
        click.echo(f"it is at revision {revision}: {remedy(revision)}", err=True)


@main.command()
@click.option(
    "--archive", "directory", required=True, type=click.Path(file_okay=False, path_type=Path)
)
@click.option("--months", type=click.IntRange(1, 1200), help="Move out what is older.")
@click.option("--check", is_flag=True, help="Compare the files with what was moved out.")
def retention(directory: Path, months: int | None, check: bool) -> None:
    """Move settled and denied reservations into files, and keep what proves the windows."""
    import psycopg

    from service import retention as files
    from service.store import database

    if months is None and not check:
        raise click.UsageError("say --months, or --check")
    with database(Settings()) as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        if months is not None:
            before = files.subtract_months(datetime.now(UTC), months)
            moved = files.archive(connection, directory, before)
            click.echo(f"moved {moved} reservations from before {before:%Y-%m-%d} out")
        missing = files.check(connection, directory) if check else []
    for line in missing:
        click.echo(line)
    if missing:
        sys.exit(1)
    if check:
        click.echo("the archive holds all that was moved out", err=True)


@main.command()
@click.argument("account_id")
@click.option("--reason", required=True, help="Kept in the change log.")
def forget(account_id: str, reason: str) -> None:
    """Give an account another name everywhere, drop what callers said of it, keep the sums."""
    import psycopg

    from service.store import call, database

    with database(Settings()) as dsn, psycopg.connect(dsn) as connection:
        found = call(
            connection, "forget", account_id=account_id, reason=reason, actor="preauth forget"
        )
    click.echo(json.dumps(found))


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def validate(file: Path) -> None:
    """Check a YAML file of plans, accounts, budgets and prices. It needs no database."""
    declared, _ = _checked(file)
    found = f"{len(declared.plans)} plans, {len(declared.accounts)} accounts"
    if declared.price_tables:
        found += f", {len(declared.price_tables)} price tables"
    click.echo(f"{file}: {found}, no faults")


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Print what would change; write nothing.")
@click.option(
    "--apply",
    "when",
    type=click.Choice(["now", "next_window"]),
    default="now",
    show_default=True,
    help="Whether current windows take new limits and plans, or only those to come.",
)
@click.option("--reason", help="Recorded with every change.")
def apply(
    file: Path, dry_run: bool, when: Literal["now", "next_window"], reason: str | None
) -> None:
    """Bring the ledger to what a YAML file says. Twice is as good as once."""
    import psycopg

    from service.plan_file import PlanFileError, apply_changes, changes_of
    from service.store import database

    declared, source = _checked(file)
    with database(Settings()) as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        try:
            changes = changes_of(connection, declared, source, when, reason)
            for change in changes if dry_run else apply_changes(connection, changes, source):
                click.echo("\n".join(change.lines()))
        except PlanFileError as error:
            raise _faulty(file, error) from None
    made = "would be made, nothing was written" if dry_run else "made"
    click.echo(f"{len(changes)} changes {made}" if changes else "nothing to change", err=True)


def _checked(file: Path) -> "tuple[Declared, Source]":
    from service.plan_file import PlanFileError, check

    try:
        return check(file.read_text("utf-8"))
    except UnicodeDecodeError:
        raise click.ClickException(f"{file}: not UTF-8") from None
    except PlanFileError as error:
        raise _faulty(file, error) from None


def _faulty(file: Path, error: "PlanFileError") -> click.ClickException:
    return click.ClickException("\n".join(f"{file}, {fault}" for fault in error.faults))


@main.command()
def version() -> None:
    """Print the version and the schema revision it needs."""
    from service.migrate import head

    click.echo(f"preauth {__version__} (schema {head()})")


@main.group()
def keys() -> None:
    """API keys. Only their SHA-256 is stored."""


@keys.command("create")
@click.option("--name", required=True, help="What it is for.")
@click.option("--role", type=click.Choice(["spend", "audit", "admin"]), required=True)
@click.option("--account", "account_id", help="Bind a spend key to this account and all below it.")
def keys_create(name: str, role: str, account_id: str | None) -> None:
    """Make a key and print it, this once, as JSON."""
    import psycopg

    from service.admin_key import create_key
    from service.store import database

    with database(Settings()) as dsn, psycopg.connect(dsn) as connection:
        secret, made = create_key(connection, name=name, role=role, account_id=account_id)
    click.echo(json.dumps({**made, "secret": secret}))


@keys.command("list")
def keys_list() -> None:
    """Print every key, without its secret, one JSON object a line."""
    import psycopg

    from service.store import call, database

    with database(Settings()) as dsn, psycopg.connect(dsn) as connection:
        for key in call(connection, "keys"):
            click.echo(json.dumps(key))


@keys.command("revoke")
@click.argument("key_id")
def keys_revoke(key_id: str) -> None:
    """Make a key useless, within PREAUTH_KEY_CACHE_SECONDS everywhere."""
    import psycopg

    from service.store import call, database

    with database(Settings()) as dsn, psycopg.connect(dsn) as connection:
        click.echo(json.dumps(call(connection, "revoke_key", key_id=key_id, actor="preauth keys")))


main.add_command(prices)


if __name__ == "__main__":
    main()
