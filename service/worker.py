"""The application of one process of several: what `service.serving.run_workers` starts by name."""

import multiprocessing

from service.api.front import Service
from service.app import create_app
from service.postgres.processes import end_with_parent

__all__ = ["create_worker_app"]


def create_worker_app() -> Service:
    """An application that ends when the workers' supervisor is killed."""
    arrange, supervisor = end_with_parent(), multiprocessing.parent_process()
    if arrange is not None and supervisor is not None:
        arrange()
        if not supervisor.is_alive():  # it ended before the kernel knew that we want to be told
            raise SystemExit(1)
    return create_app()
