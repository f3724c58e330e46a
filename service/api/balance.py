"""GET /accounts/{account_id}/balance: what is left."""

from litestar import Response, get
from litestar.params import FromPath

from service.api.answers.windows import Balance
from service.api.calls import AnyRequest, answer, ledger_of, operation_of
from service.api.operation import AUDIT, BALANCE, Operation
from service.api.paths import path_id
from service.api.query import parameters

READ_BALANCE = Operation(
    summary="Every current window of an account",
    tag="Reads",
    roles=BALANCE,
    answers={200: Balance},
    problems=("account_unknown",),
    vendor_errors=True,
)


@get("/accounts/{account_id:str}/balance", opt={"operation": READ_BALANCE})
async def balance(request: AnyRequest, account_id: FromPath[str]) -> Response[bytes]:
    """Shared windows come without a fill level, unless the key may audit."""
    parameters(request.scope, operation_of(request))
    caller = request.user
    outcome = await ledger_of(request).balance(
        path_id(account_id, "account_id"), audit=caller.role in AUDIT, within=caller.account_id
    )
    return answer(request, outcome)
