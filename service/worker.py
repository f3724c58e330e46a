"""The application of one process of several: what `service.serving.run_workers` starts by name."""

import multiprocessing

from service.api.observe import Service
from service.app import create_app
from service.postgres.processes import end_with_parent

__all__ = ["create_worker_app"]


def create_worker_app() -> Service:
    """An application that ends when the workers' supervisor is killed."""
    arrange = end_with_parent()
    if arrange is not None and multiprocessing.parent_process() is not None:
        arrange()
    return create_app()
