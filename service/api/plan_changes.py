"""POST /accounts/{account_id}/plan: another plan, now or later, and nothing spent is forgotten."""

from typing import Any

from litestar import Response, post
from litestar.params import FromPath, RawBody
from pydantic import ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from service.api.admin import checked
from service.api.answers.accounts import AccountAnswer
from service.api.calls import AnyRequest, answer, ledger_of
from service.api.operation import ADMIN, Operation
from service.api.paths import path_id
from service.api.values import ApplyWhen, Body, Id, Instant, Text


class PlanChangeBody(Body):
    """The plan to come, and when."""

    plan_id: Id
    apply: ApplyWhen | None = None
    """now unless said otherwise; next_window: when the plan's longest current window ends."""
    at: Instant | None = None
    """Instead of apply: the instant, in the future, from which the plan applies."""
    reason: Text | None = None

    @field_validator("at")
    @classmethod
    def _instead_of_apply(cls, value: Any, info: ValidationInfo) -> Any:
        if value is not None and info.data.get("apply") is not None:
            raise PydanticCustomError("presence", "is instead of apply")
        return value


CHANGE_PLAN = Operation(
    summary="Put an account under another plan",
    tag="Administration",
    roles=ADMIN,
    body=PlanChangeBody,
    answers={200: AccountAnswer},
    problems=("account_unknown", "reference_unknown"),
    example={"plan_id": "pro", "apply": "now", "reason": "upgrade"},
)


@post("/accounts/{account_id:str}/plan", status_code=200, opt={"operation": CHANGE_PLAN})
async def change_plan(
    request: AnyRequest, account_id: FromPath[str], body: RawBody
) -> Response[bytes]:
    """What was spent goes on counting where the new plan has a budget that counts the same."""
    named = path_id(account_id, "account_id")
    text = checked(request, body, PlanChangeBody)
    return answer(request, await ledger_of(request).switch_plan(named, text, request.user.key_id))
