"""The ledger broken on purpose: each mutant is one change of ``sql/`` that some test must notice.

``python -m tests.mutants`` applies them one by one; docs/mutants.md says how to read and add one.
"""
