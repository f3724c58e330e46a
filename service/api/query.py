"""The query string: known parameters, each at most once."""

from typing import Any
from urllib.parse import parse_qsl

from service.api import vendors
from service.api.operation import Operation
from service.api.problems import Fault, malformed

__all__ = ["parameters"]


def parameters(scope: Any, operation: Operation) -> dict[str, str]:
    """The query's parameters.

    Raises:
        Problem: 400 for a parameter that is unknown, repeated or of no sense.
    """
    query: bytes = scope["query_string"]
    if not query:
        return {}
    pairs = _pairs(query)
    known = operation.parameter_names
    faults = [Fault(f"query.{name}", "unknown parameter") for name, _ in pairs if name not in known]
    found = dict(pairs)
    if len(found) != len(pairs):
        faults.append(Fault("query", "a parameter appears twice"))
    if found.get("error_format", "openai") not in vendors.FORMATS:
        faults.append(Fault("query.error_format", "must be openai or anthropic"))
    if faults:
        raise malformed(faults)
    return found


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20
        )
    except ValueError:
        raise malformed([Fault("query", "not a query string in UTF-8")]) from None
