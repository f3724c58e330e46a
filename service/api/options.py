"""OPTIONS of every path: which methods it knows."""

from collections.abc import Iterable

from litestar import Response
from litestar.handlers import HTTPRouteHandler

__all__ = ["options_for"]


def options_for(handlers: Iterable[HTTPRouteHandler]) -> list[HTTPRouteHandler]:
    """One handler a path. Litestar's own tells only the method that was registered first."""
    allowed: dict[str, set[str]] = {}
    for handler in handlers:
        for path in handler.paths:
            allowed.setdefault(path, {"OPTIONS"}).update(handler.http_methods)
    return [_options(path, methods) for path, methods in allowed.items()]


def _options(path: str, methods: set[str]) -> HTTPRouteHandler:
    def options() -> Response[None]:
        return Response(None, status_code=204, headers={"Allow": ", ".join(sorted(methods))})

    return HTTPRouteHandler(path, http_method="OPTIONS", status_code=204, sync_to_thread=False)(
        options
    )
