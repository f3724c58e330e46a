"""POST, GET and DELETE /keys: who may call."""

import json
from typing import Literal

from litestar import Response, delete, get, post
from litestar.params import FromPath, RawBody
from pydantic import ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from service.api.admin import no_body
from service.api.answers.service import KeyAnswer, NewKey
from service.api.auth import digest, new_secret
from service.api.calls import AnyRequest, answer, ledger_of, operation_of
from service.api.fields import fields_of
from service.api.operation import ADMIN, AUDIT, Operation
from service.api.paths import path_id
from service.api.query import parameters
from service.api.strict import decode
from service.api.values import Body, Id, ShortText


class KeyBody(Body):
    """A key to be made."""

    name: ShortText
    """What it is for."""
    role: Literal["spend", "audit", "admin"]
    account_id: Id | None = None
    """Binds a spend key to this account and all below it."""

    @field_validator("account_id")
    @classmethod
    def _spend_only(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("role", "spend") != "spend":
            raise PydanticCustomError("presence", "is for the role spend only")
        return value


CREATE_KEY = Operation(
    summary="Make an API key",
    tag="Administration",
    roles=ADMIN,
    body=KeyBody,
    answers={201: NewKey},
    problems=("account_unknown", "reference_unknown"),
    example={"name": "chat backend", "role": "spend", "account_id": "org-7"},
)
LIST_KEYS = Operation(
    summary="Every API key, without its secret",
    tag="Reads",
    roles=AUDIT,
    answers={200: KeyAnswer},
    many=True,
)
REVOKE_KEY = Operation(
    summary="Revoke an API key",
    tag="Administration",
    roles=ADMIN,
    answers={200: KeyAnswer},
    problems=("key_unknown",),
)


@post("/keys", opt={"operation": CREATE_KEY})
async def create_key(request: AnyRequest, body: RawBody) -> Response[bytes]:
    """The secret is in this answer and nowhere else: only its SHA-256 is kept."""
    parameters(request.scope, operation_of(request))
    wish, _ = decode(KeyBody, fields_of(request.scope), body)
    secret = new_secret()
    outcome = await ledger_of(request).create_key(
        wish.name, wish.role, digest(secret.encode()), wish.account_id, request.user.key_id
    )
    if not outcome.is_problem:
        shown = json.loads(outcome.body) | {"secret": secret}
        outcome = outcome._replace(
            body=json.dumps(shown).encode(), headers={"Cache-Control": "no-store"}
        )
    return answer(request, outcome, success=201)


@get("/keys", opt={"operation": LIST_KEYS})
async def keys(request: AnyRequest) -> Response[bytes]:
    """Revoked ones too."""
    parameters(request.scope, operation_of(request))
    return answer(request, await ledger_of(request).keys())


@delete("/keys/{key_id:str}", status_code=200, opt={"operation": REVOKE_KEY})
async def revoke_key(request: AnyRequest, key_id: FromPath[str], body: RawBody) -> Response[bytes]:
    """It stops working at once here, and everywhere within PREAUTH_KEY_CACHE_SECONDS."""
    no_body(request, body)
    found = path_id(key_id, "key_id")
    outcome = await ledger_of(request).revoke_key(found, request.user.key_id)
    request.app.state.key_ring.forget(found)
    return answer(request, outcome)
