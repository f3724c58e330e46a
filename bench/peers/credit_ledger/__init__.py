"""credit-ledger, from PyPI, behind HTTP."""
