"""schemathesis over the whole document, with every check on, as each role and as nobody.

``PREAUTH_TEST_EXAMPLES`` says how many requests of each operation are drawn besides those that the
document's examples and bounds give: a few unless set, more in a nightly run.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from service.migrate import head
from service.paths import SQL
from tests.api.client import Api
from tests.support.ledger import Ledger

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
NIGHTLY = "PREAUTH_TEST_EXAMPLES" in os.environ
EXAMPLES = os.environ.get("PREAUTH_TEST_EXAMPLES", "3")
PHASES = {
    "admin": "examples,coverage,fuzzing,stateful" if NIGHTLY else "examples,fuzzing,stateful",
    "audit": "examples,coverage,fuzzing,stateful" if NIGHTLY else "examples,fuzzing,stateful",
    "spend": "examples,coverage,fuzzing,stateful" if NIGHTLY else "examples,fuzzing,stateful",
    "nobody": "examples,coverage,fuzzing" if NIGHTLY else "examples,fuzzing",
}
WRITES = {
    "audit": set[str](),
    "nobody": set[str](),
    "spend": {
        "reservation", "reservation_event", "hold_line", "usage_event", "budget_window", "window_slice",
        "route", "outbox",
    },
}  # fmt: skip
"""The tables that a role may change."""


@pytest.mark.parametrize("role", PHASES)
async def test_every_answer_is_documented_and_true_to_its_schema(
    served: Api, ledger: Ledger, role: str
) -> None:
    await furnish(served, ledger)
    key = None if role == "nobody" else await served.key(role)
    before = await ledger.contents()
    found, report = await schemathesis(served, key, PHASES[role])
    assert found == 0, report
    if role in WRITES:
        after = await ledger.contents()
        assert {name for name in after if after[name] != before[name]} <= WRITES[role]


async def schemathesis(served: Api, key: str | None, phases: str) -> tuple[int | None, str]:
    """Its exit status and what it printed."""
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis.toml"),
        "run", f"{served.http.base_url}/openapi.json", "--phases", phases, "--max-examples", EXAMPLES,
        "--continue-on-failure", "--warnings", "off", "--output-sanitize", "false",
        *(() if NIGHTLY else ("--seed", "1")),
        *(("--header", f"Authorization: Bearer {key}") if key else ()),
    ]  # fmt: skip
    running = await asyncio.create_subprocess_exec(
        *command,
        cwd=SQL.parent,
        env={**os.environ, "PYTHONPATH": str(SQL.parent)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await running.communicate()
    return running.returncode, printed.decode()


async def furnish(api: Api, ledger: Ledger) -> None:
    """What the document's examples speak of."""
    await ledger.connection.execute("insert into preauth.alembic_version values ($1)", head())
    month = {"kind": "calendar", "period": "month"}
    cap = {"name": "monthly-usd", "unit": "usd_nano", "window": month, "limit_amount": 10**12}
    for plan_id in ("free", "pro"):
        await api.ok("PUT", f"/plans/{plan_id}", {"budgets": [cap]})
    await api.ok("PUT", "/accounts/org-7", {})
    await api.ok("PUT", "/accounts/user_42", {"plan_id": "free", "parent_id": "org-7"})
    rates = {"input_tokens": {"micro_usd": 250000, "per": 1000000}}
    for model in ("openai/gpt-5-mini", "m"):
        await api.ok("POST", "/price-tables", {"model": model, "rates": rates})
    held = {"account_id": "user_42", "amounts": {"usd_nano": 100000000}}
    for request_id in ("chat-8d1f", "0", "a"):
        await api.ok("POST", "/reserve", {"request_id": request_id, **held})
