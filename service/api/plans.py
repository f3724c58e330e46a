"""PUT and GET /plans/{plan_id}: budgets that accounts share."""

from typing import Literal

from litestar import Response, get, put
from litestar.params import FromPath, RawBody

from service.api.admin import checked
from service.api.answers.accounts import PlanAnswer
from service.api.budgets import Budget
from service.api.calls import AnyRequest, answer, ledger_of, operation_of
from service.api.operation import ADMIN, AUDIT, Operation
from service.api.paths import path_id
from service.api.query import parameters
from service.api.values import ApplyWhen, Body, Text


class PlanBody(Body):
    """All budgets of a plan; one that is left out is retired."""

    budgets: list[Budget]
    unpriced: Literal["refuse", "count_only"] | None = None
    """What becomes of a request whose cost cannot be told; refuse unless said otherwise. With
    count_only its tokens and requests count, and money budgets that are not hard leave it out."""
    apply: ApplyWhen | None = None
    """now unless said otherwise."""
    reason: Text | None = None


PUT_PLAN = Operation(
    summary="Create or replace a plan",
    tag="Administration",
    roles=ADMIN,
    body=PlanBody,
    answers={200: PlanAnswer},
    example={
        "budgets": [
            {
                "name": "monthly-usd",
                "unit": "usd_nano",
                "window": {"kind": "calendar", "period": "month"},
                "limit_amount": 500000000,
            }
        ]
    },
)
READ_PLAN = Operation(
    summary="A plan with its budgets",
    tag="Reads",
    roles=AUDIT,
    answers={200: PlanAnswer},
    problems=("plan_unknown",),
)


@put("/plans/{plan_id:str}", opt={"operation": PUT_PLAN})
async def put_plan(request: AnyRequest, plan_id: FromPath[str], body: RawBody) -> Response[bytes]:
    """Its accounts are counted by the new budgets at once, or from the next window on."""
    named = path_id(plan_id, "plan_id")
    text = checked(request, body, PlanBody)
    return answer(request, await ledger_of(request).put_plan(named, text, request.user.key_id))


@get("/plans/{plan_id:str}", opt={"operation": READ_PLAN})
async def plan(request: AnyRequest, plan_id: FromPath[str]) -> Response[bytes]:
    """The budgets that apply to every account under the plan."""
    parameters(request.scope, operation_of(request))
    return answer(request, await ledger_of(request).plan(path_id(plan_id, "plan_id")))
