"""The documentation works without a network."""

import re

from tests.api.client import Api

FOREIGN = re.compile(r"(?:https?:)?//[a-z0-9]", re.IGNORECASE)


async def test_the_page_and_what_it_loads_come_from_here(api: Api) -> None:
    page = await api.get("/docs", key=None)
    assert page.headers["content-type"].startswith("text/html")
    assert not FOREIGN.search(page.text)
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert loaded
    for path in loaded:
        assert (await api.get(path, key=None)).status_code == 200, path


async def test_the_browser_is_told_to_load_nothing_from_elsewhere(api: Api) -> None:
    policy = (await api.get("/docs")).headers["content-security-policy"]
    assert policy.startswith("default-src 'self'")
    assert not FOREIGN.search(policy)


async def test_no_validator_on_the_internet_is_asked(api: Api) -> None:
    start = (await api.get("/docs/start.js")).text
    assert "validatorUrl: null" in start
    assert not FOREIGN.search(start.replace("// the default", ""))


async def test_the_style_sheet_loads_nothing_from_elsewhere(api: Api) -> None:
    style = await api.get("/docs/swagger-ui.css")
    assert style.headers["content-type"].startswith("text/css")
    assert all(
        url.strip("\"'").startswith("data:") for url in re.findall(r"url\(([^)]+)", style.text)
    )


async def test_the_licence_is_served_with_it(api: Api) -> None:
    assert "Apache License" in (await api.get("/docs/LICENSE")).text
    assert "SmartBear" in (await api.get("/docs/NOTICE")).text
