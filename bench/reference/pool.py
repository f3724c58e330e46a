"""The usual pool: asyncpg's own default of ten connections, opened at the start."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from litestar import Litestar

__all__ = ["pool"]


@asynccontextmanager
async def pool(app: Litestar) -> AsyncIterator[None]:
    """Put it into the application's state while that runs."""
    async with asyncpg.create_pool(os.environ["BENCH_DATABASE_URL"]) as made:
        app.state.pool = made
        yield
