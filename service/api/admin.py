"""The way of an administration call: shape, ledger, answer."""

from pydantic import BaseModel

from service.api.calls import AnyRequest, operation_of
from service.api.fields import fields_of
from service.api.problems import Fault, malformed
from service.api.query import parameters
from service.api.strict import decode

__all__ = ["checked", "no_body"]


def checked(request: AnyRequest, body: bytes, model: type[BaseModel]) -> str:
    """The text of a body that fits ``model``, from a request whose query is in order."""
    parameters(request.scope, operation_of(request))
    _, text = decode(model, fields_of(request.scope), body)
    return text


def no_body(request: AnyRequest, body: bytes) -> dict[str, str]:
    """The query's parameters of a request that must have no body."""
    if body:
        raise malformed([Fault("", "this takes no body")])
    return parameters(request.scope, operation_of(request))
