"""Run the campaign and print what came of it; the exit status says whether the ledger held."""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from service.postgres import PostgresServer
from tests.e2e.campaign import recount
from tests.e2e.campaign.client import Client, Json, Log
from tests.e2e.campaign.stories import Storyteller
from tests.support.daemon import Daemon

__all__ = ["Campaign", "Options", "main"]

USD_PER_CALL = 1_000_000
TOKENS_PER_CALL = 1_000


def say(what: str) -> None:
    """One line, at once, also into a file."""
    print(what, flush=True)


@dataclass(frozen=True)
class Options:
    """How much of it."""

    clients: int = 64
    calls: int = 20_000
    kills: int = 3
    accounts: int = 20
    seed: int = 1


@dataclass
class Campaign:
    """One campaign against a service in ``directory``."""

    options: Options
    daemon: Daemon
    say: Callable[[str], None] = say
    log: Log = field(default_factory=Log)
    recoveries: list[float] = field(default_factory=list)

    @property
    def accounts(self) -> list[str]:
        return [f"account-{n}" for n in range(self.options.accounts)]

    def run(self) -> list[str]:
        """All of it; what is wrong with the ledger afterwards."""
        self.daemon.start()
        try:
            asyncio.run(self._under_load())
            self.daemon.stop()
            with PostgresServer(self.daemon.data_dir) as server:
                self.log.faults.extend(recount.inside_the_database(server.dsn))
        finally:
            self.daemon.end()
        return self.log.faults

    async def _under_load(self) -> None:
        limits = httpx.Limits(max_connections=self.options.clients)
        async with httpx.AsyncClient(
            base_url=self.daemon.url, headers=self.daemon.headers, limits=limits, timeout=30
        ) as http:
            await self._prepare(http)
            began = time.monotonic()
            await asyncio.gather(self._killer(), *map(self._work, self._storytellers(http)))
            self._report(time.monotonic() - began)
            await self._check(http)

    async def _prepare(self, http: httpx.AsyncClient) -> None:
        """Room for about half of what will be asked, so that some is denied."""
        share = self.options.calls // (8 * self.options.accounts)
        await self._put(http, "/plans/campaign", {"budgets": _budgets(share)})
        await self._put(
            http, "/plans/root", {"budgets": _budgets(share * len(self.accounts) * 4 // 5)}
        )
        await self._put(http, "/accounts/root", {"plan_id": "root"})
        for account in self.accounts:
            await self._put(
                http, f"/accounts/{account}", {"plan_id": "campaign", "parent_id": "root"}
            )

    async def _put(self, http: httpx.AsyncClient, path: str, body: Json) -> None:
        response = await http.put(path, json=body)
        assert response.status_code == httpx.codes.OK, response.text

    def _storytellers(self, http: httpx.AsyncClient) -> list[Storyteller]:
        client = Client(http, self.log)
        return [
            Storyteller(client, f"c{n}", self.accounts, random.Random(self.options.seed * 1000 + n))
            for n in range(self.options.clients)
        ]

    async def _work(self, teller: Storyteller) -> None:
        while self.log.counts["calls"] < self.options.calls:
            await teller.tell()

    async def _killer(self) -> None:
        """Kill everything so many times, evenly spread over the calls."""
        for n in range(1, self.options.kills + 1):
            while self.log.counts["calls"] < n * self.options.calls // (self.options.kills + 1):
                await asyncio.sleep(0.01)
            self.daemon.kill()
            began = time.monotonic()
            await asyncio.to_thread(self.daemon.start)
            self.recoveries.append(time.monotonic() - began)
            self.say(
                f"killed after {n}/{self.options.kills + 1} of the calls, back in {self.recoveries[-1]:.1f} s"
            )

    def _report(self, seconds: float) -> None:
        calls = self.log.counts.pop("calls")
        self.say(f"{calls} calls acknowledged in {seconds:.1f} s ({calls / seconds:.0f}/s)")
        for name, count in sorted(self.log.counts.items()):
            self.say(f"  {name:<30} {count:>8}")

    async def _check(self, http: httpx.AsyncClient) -> None:
        again = await recount.send_all_again(Client(http, self.log), self.log)
        self.say(f"{again} acknowledged calls sent again, each found as acknowledged")
        settled, reserved = recount.expected_windows(self.log)
        found = await recount.found_windows(http, ["root", *self.accounts], self.log)
        for key, window in found.items():
            wanted = (settled[key], reserved[key])
            got = (window["settled"], window["reserved"])
            self.log.expect(got == wanted, f"{key}: settled, reserved {got}, recounted {wanted}")
        self.say(f"{len(found)} windows recounted from the acknowledgements")
        root = {unit: settled["root", unit] for unit in recount.UNITS}
        self.say(f"settled under root: {root}")


def _budgets(share: int) -> list[Json]:
    amounts = {
        "usd_nano": share * USD_PER_CALL,
        "tokens": share * TOKENS_PER_CALL,
        "requests": 10**9,
    }
    return [
        {
            "name": unit.replace("_", "-"),
            "unit": unit,
            "window": {"kind": "lifetime"},
            "limit_amount": limit,
            "overage": "reject",
        }
        for unit, limit in amounts.items()
    ]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.campaign", description=__doc__)
    for name, default in vars(Options()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = Options(**vars(parser.parse_args()))
    with Daemon.scratch() as directory:
        faults = Campaign(options, Daemon(Path(directory))).run()
    for fault in faults[:20]:
        print("FAULT", fault)
    print(f"{len(faults)} faults" if faults else "the ledger held: no faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
