"""Three ways to say the same to the ledger: REST, PostgREST, SQL. Each answers (status, JSON)."""

import json
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

import asyncpg
import httpx

from tests.api.client import Api
from tests.support.money import Json
from tests.support.postgrest import token

__all__ = ["OverPostgREST", "OverRest", "OverSql", "Said", "Speaker"]

CLIENT_ERROR = ("message", "code", "details", "hint")
"""What PostgREST's clients need in an error, and no other way has."""


@dataclass(frozen=True)
class Said:
    """An answer: its HTTP status, and its body."""

    status: int
    body: Any


class Speaker(Protocol):
    """A way to call a function of the contract with its arguments by name."""

    async def say(self, call: str, arguments: Json) -> Said:
        """Call it."""


class OverRest:
    """The service's routes."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def say(self, call: str, arguments: Json) -> Said:
        method, path, query, body = _request(call, dict(arguments))
        response = await self._api.send(method, path, body, params=query or None)
        return Said(response.status_code, response.json())


def _request(call: str, given: Json) -> tuple[str, str, Json, Json | None]:
    if call.startswith("audit_"):
        if "by" in given:
            given["by"] = ",".join(given["by"])
        return "GET", f"/audit/{call.removeprefix('audit_').replace('_', '-')}", given, None
    if call == "resolve":
        return "POST", f"/reservations/{_segment(given.pop('request_id'))}/resolve", {}, given
    if call == "reservation":
        return "GET", f"/reservations/{_segment(given.pop('request_id'))}", given, None
    if call in {"balance", "account", "put_account", "put_budget", "delete_budget"}:
        return _account_request(call, given)
    if call in {"plan", "put_plan"}:
        path = f"/plans/{_segment(given['plan_id'])}"
        return "PUT" if call == "put_plan" else "GET", path, {}, given.get("body")
    return "POST", f"/{call}", {}, given


def _account_request(call: str, given: Json) -> tuple[str, str, Json, Json | None]:
    path = f"/accounts/{_segment(given['account_id'])}"
    if call == "balance":
        return "GET", f"{path}/balance", {}, None
    if call.endswith("_budget"):
        path += f"/budgets/{_segment(given['name'])}"
    method = {"account": "GET", "delete_budget": "DELETE"}.get(call, "PUT")
    return method, path, {}, given.get("body")


def _segment(value: str) -> str:
    return quote(value, safe="")


class OverPostgREST:
    """PostgREST's ``/rpc`` with the service key."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def say(self, call: str, arguments: Json) -> Said:
        response = await self._http.post(
            f"/rpc/{call}",
            json=_for_sql(call, arguments),
            headers={
                "Authorization": f"Bearer {token('service_role')}",
                "Content-Profile": "preauth_api",
            },
        )
        body = response.json()
        if response.is_error:
            assert body["details"] == {k: v for k, v in body.items() if k not in CLIENT_ERROR}
            body = body["details"]
        return Said(response.status_code, body)


class OverSql:
    """A statement; the status is the one that the body of a denial or a refusal names."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def say(self, call: str, arguments: Json) -> Said:
        given = _for_sql(call, arguments)
        names = ", ".join(f"{name} => {_literal(value)}" for name, value in given.items())
        found = json.loads(
            await self._connection.fetchval(f"select preauth_api.{call}({names})::text")
        )
        refused = isinstance(found, dict) and "type" in found and "status" in found
        return Said(found["status"] if refused else 200, found)


def _literal(value: Any) -> str:
    """A value as people type it."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return f"array[{', '.join(map(_literal, value))}]::text[]"
    if isinstance(value, (dict, list)):
        return f"{_literal(json.dumps(value))}::jsonb"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "null" if value is None else str(value).lower()


def _for_sql(call: str, arguments: Json) -> Json:
    """REST knows from the key whether one may audit; SQL is told."""
    return {**arguments, "audit": True} if call == "balance" else arguments
