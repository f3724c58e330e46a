"""Problem documents everywhere, and one vocabulary of codes."""

import re
from pathlib import Path

import pytest
from litestar import get

from service.api.operation import Operation
from service.api.problems import CODES
from tests.api.client import Api
from tests.support.checks import assert_problem
from tests.support.ledger import Ledger

ERRORS = (Path(__file__).parents[2] / "docs" / "errors.md").read_text()


async def test_an_unknown_path_is_a_404(api: Api) -> None:
    for path in ("/", "/nope", "/reserve/x", "/accounts", "/docs/../pyproject.toml", "/docs/x.js"):
        response = await api.get(path)
        assert response.headers["content-type"] == "application/problem+json", path
        assert_problem(response.json(), 404, "not_found")


async def test_options_tells_every_method_of_a_path(api: Api) -> None:
    for path, allowed in [("/accounts/a", "GET, OPTIONS, PUT"), ("/keys", "GET, OPTIONS, POST")]:
        response = await api.send("OPTIONS", path, key=None)
        assert (response.status_code, response.headers["allow"]) == (204, allowed)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/reserve", "OPTIONS, POST"),
        ("POST", "/accounts/a/b", "GET, OPTIONS, PUT"),
        ("GET", "/accounts/a/budgets/x", "DELETE, OPTIONS, PUT"),
        ("DELETE", "/healthz", "GET, OPTIONS"),
        ("PATCH", "/reserve", "OPTIONS, POST"),
    ],
)
async def test_a_wrong_method_is_a_405_with_allow(
    served: Api, method: str, path: str, allowed: str
) -> None:
    response = await served.send(method, path)
    assert response.headers["allow"] == allowed
    assert response.headers["content-type"] == "application/problem+json"
    assert_problem(response.json(), 405, "method_not_allowed")


async def test_an_unforeseen_error_is_a_500_that_tells_nothing(
    api: Api, capfd: pytest.CaptureFixture[str]
) -> None:
    @get("/boom", opt={"operation": Operation(summary="", tag="")})
    async def boom() -> None:
        raise RuntimeError("account user_42 has secret 0xdead")

    api.app.register(boom)
    response = await api.get("/boom")
    assert_problem(response.json(), 500, "internal")
    written = response.text + "".join(capfd.readouterr())
    assert "user_42" not in written
    assert "0xdead" not in written
    assert "RuntimeError" not in response.text


async def test_a_route_without_an_operation_is_closed(api: Api) -> None:
    @get("/forgotten")
    async def forgotten() -> str:
        return "open"

    api.app.register(forgotten)
    assert (await api.get("/forgotten")).status_code == 403


async def test_the_codes_of_the_ledger_are_known_here_with_status_and_title(ledger: Ledger) -> None:
    text = (Path(__file__).parents[2] / "sql" / "040_internal" / "_problem.sql").read_text()
    found = re.findall(r"\('(\w+)', (\d+), '((?:[^']|'')*)'\)", text)
    assert found
    for code, status, title in found:
        assert CODES[code] == (int(status), title.replace("''", "'"))


def test_every_code_is_documented_with_its_status() -> None:
    documented = dict(re.findall(r"^\| `(\w+)` \| (\d+)", ERRORS, re.MULTILINE))
    assert documented == {code: str(status) for code, (status, _) in CODES.items()}
