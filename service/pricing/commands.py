"""``preauth prices``: import, list and re-rate."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from service.settings import Settings

__all__ = ["prices"]

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


class Instant(click.ParamType[datetime]):
    """A time with its offset, or a date: its midnight in UTC."""

    name = "time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Read RFC 3339."""
        text = str(value)
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text} is not a time such as 2026-11-30T09:00:00Z", param, ctx)
        if _DATE.fullmatch(text):
            found = found.replace(tzinfo=UTC)
        if found.tzinfo is None:
            self.fail(f"{text} has no offset, such as Z or +01:00", param, ctx)
        return found


@click.group()
def prices() -> None:
    """Price tables: versions of what a model costs. A published one never changes."""


@prices.group("import")
def import_() -> None:
    """Publish prices from a list, exactly as they stand there, or say why not."""


_only = click.option(
    "--only", multiple=True, metavar="PATTERN", help="Names such as openai/gpt-5*; may be repeated."
)
_table_id = click.IntRange(1, 2**63 - 1)
_dry_run = click.option("--dry-run", is_flag=True, help="Say what would change; publish nothing.")


@import_.command("genai")
@_only
@_dry_run
def import_genai(only: tuple[str, ...], dry_run: bool) -> None:
    """Import the prices that are installed with genai-prices."""
    from service.pricing.importers.genai import catalogue
    from service.pricing.publishing import publish_catalogue

    publish_catalogue(Settings(), catalogue(), only, dry_run=dry_run)


@import_.command("litellm")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_only
@_dry_run
def import_litellm(file: Path, only: tuple[str, ...], dry_run: bool) -> None:
    """Import LiteLLM's model_prices_and_context_window.json."""
    from service.pricing.importers.litellm import NotAPriceListError, catalogue
    from service.pricing.publishing import publish_catalogue

    try:
        found = catalogue(file)
    except NotAPriceListError as error:
        raise click.ClickException(f"{file}: {error}") from None
    publish_catalogue(Settings(), found, only, dry_run=dry_run)


@prices.command("list")
@click.option("--model", help="Only the versions of this name.")
@click.option("--at", type=Instant(), help="Only what is in effect at this time.")
def list_(model: str | None, at: datetime | None) -> None:
    """Print the published tables, one JSON object a line, the newest version of a name first."""
    from service.pricing.publishing import published_lines

    _echo(published_lines(Settings(), model, at))


@prices.command("rerate")
@click.option("--wrong", type=_table_id, required=True, help="The price_table_id that was used.")
@click.option("--right", type=_table_id, required=True, help="The one that should have been.")
@click.option("--since", type=Instant(), required=True, help="Spend at this time or later.")
@click.option("--until", type=Instant(), required=True, help="Spend before this time.")
@click.option("--reason", help="Why, for the audit.")
@click.option("--confirm", is_flag=True, help="Write the adjustments.")
def rerate(  # noqa: PLR0917
    wrong: int, right: int, since: datetime, until: datetime, reason: str | None, confirm: bool
) -> None:
    """Say what spend under a wrong table would have cost; with --confirm, correct it, once."""
    from service.pricing.rerating import rerate_lines

    _echo(
        rerate_lines(
            Settings(),
            wrong_table=wrong,
            right_table=right,
            since=since,
            until=until,
            confirm=confirm,
            reason=reason,
        )
    )
    if not confirm:
        click.echo("nothing was written: --confirm writes the adjustments", err=True)
        click.echo("a window that was reset since would move all the same", err=True)


def _echo(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
