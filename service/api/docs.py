"""GET /openapi.json and /docs: the interface described, without a network."""

import json
from functools import cache
from importlib.resources import files
from typing import Final, cast

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from service.api.calls import AnyRequest
from service.api.front import Service
from service.api.openapi import document
from service.api.operation import Operation

OPENAPI = Operation(summary="This document", tag="Operations")
DOCS = Operation(
    summary="This document, to read and to try", tag="Operations", media_type="text/html"
)
ASSET = Operation(
    summary="A file of the documentation page",
    tag="Operations",
    media_type="text/plain",
    problems=("not_found",),
)

_STATIC: Final = files("service") / "static" / "swagger-ui"
_ASSETS: Final = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "start.js": "text/javascript",
    "favicon-32x32.png": "image/png",
    "LICENSE": "text/plain",
    "NOTICE": "text/plain",
}
_PAGE: Final = b"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Preauth API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline';"
    " frame-ancestors 'none'"
)


@get("/openapi.json", opt={"operation": OPENAPI}, sync_to_thread=False)
def openapi(request: AnyRequest) -> Response[bytes]:
    """OpenAPI 3.1."""
    state = request.app.state
    if "openapi" not in state:
        described = document(cast("Service", request.app))
        state.openapi = json.dumps(described, ensure_ascii=False).encode()
    return Response(state.openapi, media_type="application/json")


@get("/docs", opt={"operation": DOCS}, sync_to_thread=False)
def docs() -> Response[bytes]:
    """Swagger UI, served from here: the policy forbids it any other host."""
    return Response(_PAGE, media_type="text/html", headers={"Content-Security-Policy": _POLICY})


@get("/docs/{name:str}", opt={"operation": ASSET}, sync_to_thread=True)
def asset(name: FromPath[str]) -> Response[bytes]:
    """One of the few files that the page needs."""
    if name not in _ASSETS:
        raise NotFoundException
    headers = {"Cache-Control": "public, max-age=3600", "X-Content-Type-Options": "nosniff"}
    return Response(_content(name), media_type=_ASSETS[name], headers=headers)


@cache
def _content(name: str) -> bytes:
    return (_STATIC / name).read_bytes()
