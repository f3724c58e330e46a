"""`preauth serve` with several workers: they serve together and end together."""

import signal

import pytest

from tests.support.waits import until_sync


@pytest.mark.e2e
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_supervisor_ends_no_worker_goes_on_serving(serve, end):
    served = serve(2)
    served.process.send_signal(end)
    served.process.wait(timeout=30)
    until_sync(lambda: not served.answers(), "nobody answers any more")
