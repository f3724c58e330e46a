"""``provider_usage``: a provider's own usage object, read before the ledger sees the call."""

import json
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field

from service.api.problems import MOST_FAULTS, Fault, Problem
from service.api.strict import json_object
from service.api.values import Body
from service.ledger import KeyRecord, Ledger
from service.pricing.tables import split_variant
from service.pricing.usage import APIS, Reading, UsageUnrecognisedError, read_usage

__all__ = ["ProviderUsage", "has_usage", "with_usage"]

ApiName = Literal[
    "openai_chat",
    "openai_responses",
    "openai_embeddings",
    "openai_compatible",
    "anthropic_messages",
    "google_generate_content",
    "bedrock_converse",
    "mistral_chat",
]
assert set(get_args(ApiName)) == set(APIS)  # noqa: S101  # one list, said twice for the types

PATH = "provider_usage.usage"


class ProviderUsage(Body):
    """What the provider's response says was used, as it stands there."""

    api: ApiName
    """Whose usage object it is; openai_compatible: of a server that speaks OpenAI's chat API."""
    usage: Annotated[dict[str, Any], Field(examples=[{"prompt_tokens": 9, "completion_tokens": 3}])]
    """The object: ``usage`` of a response, ``usageMetadata`` of Google's."""


def has_usage(checked: BaseModel) -> bool:
    """Whether a call tells what its provider says; most models have no such field."""
    return vars(checked).get("provider_usage") is not None


async def with_usage(ledger: Ledger, caller: KeyRecord, checked: BaseModel, text: str) -> str:
    """The text of a call that has ``provider_usage``, with ``usage`` in the place of that.

    Raises:
        Problem: 422 ``usage_unrecognised``, naming the fields.
    """
    given: ProviderUsage = checked.provider_usage  # type: ignore[attr-defined]
    try:
        reading = read_usage(given.api, given.usage)
    except UsageUnrecognisedError as error:
        raise _unrecognised([Fault(_path(f.path), f.message) for f in error.fields]) from None
    if reading.told:
        _check_variant(reading, await _model_of(ledger, caller, checked))
    _, body = json_object(text.encode())
    del body["provider_usage"]
    return json.dumps({**body, "usage": reading.usage})


async def _model_of(ledger: Ledger, caller: KeyRecord, checked: BaseModel) -> str | None:
    """The model that will price the call: a settlement's is its reservation's."""
    if "model" in type(checked).model_fields:
        return checked.model  # type: ignore[attr-defined, no-any-return]
    request_id, account_id = checked.request_id, checked.account_id  # type: ignore[attr-defined]
    found = await ledger.reservation(request_id, account_id, caller.account_id)
    if found.is_problem:
        return None
    model: str | None = json.loads(found.body)["model"]
    return model


def _check_variant(reading: Reading, model: str | None) -> None:
    """Refuse another variant's price. A call without a model is refused by the ledger itself."""
    if model is None:
        return
    variant = split_variant(model)[1]
    faults = [
        Fault(_path(told.path), f"says {told.word}, and the price is that of {model}")
        for told in reading.told
        if variant not in told.variants
    ]
    if faults:
        raise _unrecognised(faults)


def _path(within: str) -> str:
    return f"{PATH}.{within}" if within else PATH


def _unrecognised(faults: list[Fault]) -> Problem:
    errors = [fault.as_json() for fault in faults[:MOST_FAULTS]]
    detail = "{path}: {message}".format(**errors[0])
    return Problem("usage_unrecognised", detail, errors=errors)
