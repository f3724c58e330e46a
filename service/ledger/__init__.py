"""The ledger as the service sees it: the only package that speaks to PostgreSQL.

    LedgerError
    ├── StoreUnavailable   no answer in time: nothing was authorized, send the same id again
    └── LedgerFault        a bug or a broken invariant: a SQLSTATE that no caller can cause
        ├── BatchRefused      PA001
        └── InvariantBroken   PA002

Nothing of asyncpg leaves this package, neither a type nor an exception.
"""

from service.ledger.errors import (
    BatchRefused,
    InvariantBroken,
    LedgerError,
    LedgerFault,
    StoreUnavailable,
)
from service.ledger.ledger import Ledger
from service.ledger.outcome import Outcome
from service.ledger.records import CALLS, Alert, Call, Item, KeyRecord, StuckHolds

__all__ = [
    "CALLS",
    "Alert",
    "BatchRefused",
    "Call",
    "InvariantBroken",
    "Item",
    "KeyRecord",
    "Ledger",
    "LedgerError",
    "LedgerFault",
    "Outcome",
    "StoreUnavailable",
    "StuckHolds",
]
