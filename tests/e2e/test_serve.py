"""`preauth serve` with several workers: they serve together and end together."""

import signal
import socket

import httpx
import pytest

from service.settings import Settings
from tests.support.waits import until_sync


@pytest.mark.e2e
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_supervisor_ends_no_worker_goes_on_serving(serve, end):
    served = serve(2)
    served.process.send_signal(end)
    served.process.wait(timeout=30)
    until_sync(lambda: not served.answers(), "nobody answers any more")


def speaks_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.e2e
@pytest.mark.skipif(not speaks_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("workers", [1, 2])
def test_every_address_means_the_same_with_one_worker_and_with_several(serve, workers):
    served = serve(workers, PREAUTH_HOST="::")
    announced = Settings(host="::", port=served.port).base_url
    for url in (announced, served.url):
        assert httpx.get(f"{url}/healthz").status_code == 200


@pytest.mark.e2e
def test_workers_count_together_where_the_directory_of_the_metrics_is_empty(serve):
    served = serve(2, PROMETHEUS_MULTIPROC_DIR="")
    for _ in range(3):
        found = httpx.get(f"{served.url}/metrics").text
        assert "preauth_request_seconds_count" in found
