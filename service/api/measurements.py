"""GET /metrics, for Prometheus."""

from litestar import Response, get

from service import metrics
from service.api.operation import Operation

METRICS = Operation(
    summary="Counters and histograms for Prometheus", tag="Operations", media_type="text/plain"
)


@get("/metrics", opt={"operation": METRICS}, sync_to_thread=False)
def measurements() -> Response[bytes]:
    """No account, key or model id is a label."""
    return Response(metrics.exposition(), media_type=metrics.CONTENT_TYPE)
