"""Afterwards: is the ledger what its acknowledgements add up to, and can the order be explained?"""

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import psycopg

from tests.e2e.campaign.log import Json, Log, digest
from tests.e2e.campaign.tree import Tree, Window
from tests.histories.linearizability import check
from tests.support.session import Session

__all__ = ["explain_histories", "inside_the_database", "recount_windows", "send_all_again"]

TOGETHER = 200
SINGLE = {"adjust"}


async def send_all_again(session: Session, log: Log) -> None:
    """Send every acknowledged call once more: each must be found as it was acknowledged."""
    by_call: dict[str, list[tuple[Json, bytes]]] = defaultdict(list)
    for (call, _, _), sent in log.acknowledged.items():
        by_call[call].append(sent)
    for call, sent in by_call.items():
        for at in range(0, len(sent), TOGETHER):
            await _again(session, log, call, sent[at : at + TOGETHER])


async def _again(session: Session, log: Log, call: str, sent: list[tuple[Json, bytes]]) -> None:
    for (body, mark), (status, answer) in zip(
        sent, await _say(session, call, [body for body, _ in sent]), strict=True
    ):
        log.figures.counts["acknowledged decisions checked"] += 1
        if not answer.get("replayed"):
            log.figures.mismatch("lost", f"{call} {body} was acknowledged, and is now {answer}")
        elif digest((status, answer)) != mark:
            log.figures.mismatch("mismatches", f"{call} {body} is now answered {status} {answer}")


async def _say(session: Session, call: str, bodies: list[Json]) -> list[tuple[int, Json]]:
    if call != "adjust":
        return [(row.status, row.body) for row in await session.many(call, bodies)]
    return [
        (
            200,
            await session.call(
                "adjust", account_id=body["account_id"], body=_without_account(body)
            ),
        )
        for body in bodies
    ]


def _without_account(body: Json) -> Json:
    return {name: value for name, value in body.items() if name != "account_id"}


async def recount_windows(session: Session, log: Log, tree: Tree) -> dict[Window, int]:
    """Compare each window with what was acknowledged; what each counts."""
    found: dict[Window, int] = {}
    for account in [tree.root, *tree.teams, *tree.users]:
        for line in await session.windows(account):
            if line["scope"] != account:
                continue
            window = (account, line["unit"])
            found[window] = line["settled"] + line["reserved"]
            wanted = (log.settled[window], log.reserved[window])
            got = (line["settled"], line["reserved"])
            log.expect(got == wanted, f"{window}: settled, reserved {got}, acknowledged {wanted}")
            if found[window] > line["limit"] + log.excused[window]:
                log.figures.mismatch("over-admissions", f"{line}")
    log.figures.counts["windows recounted"] += len(found)
    return found


def explain_histories(log: Log) -> None:
    """Look for an order of each window's calls that explains every answer, on every core."""
    limits = [Tree.limit(window) for window in log.histories]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        verdicts = list(pool.map(check, log.histories.values(), limits))
    for (window, ops), verdict in zip(log.histories.items(), verdicts, strict=True):
        log.figures.counts["histories checked"] += 1
        log.figures.counts["calls in histories"] += len(ops)
        if verdict.undecided:
            log.figures.counts["histories undecided"] += 1
        if verdict.fault:
            log.figures.mismatch("not linearizable", f"{window}: {verdict.fault}")


def inside_the_database(url: str) -> Iterator[str]:
    """Faults that only SQL can see: ``verify()``, and ids that moved money twice."""
    with psycopg.connect(url) as connection:
        for row in connection.execute("select * from preauth_api.verify()"):
            yield f"verify() finds {row}"
        for row in connection.execute(
            "select account_id, request_id, count(*) from preauth.usage_event"
            " where window_id is null group by 1, 2 having count(*) > 1"
        ):
            yield f"moved money more than once: {row}"
        for row in connection.execute(
            "select w.account_id, w.window_key, w.settled, w.reserved, w.limit_amount"
            " from preauth.budget_window w where w.settled + w.reserved > w.limit_amount + ("
            " select coalesce(sum(l.settled_amount), 0) from preauth.hold_line l"
            " join preauth.usage_event u using (request_id, account_id)"
            " where l.window_id = w.window_id and u.kind = 'late_charge')"
        ):
            yield f"over its limit: {row}"
