"""Plans, accounts, budgets and prices in one YAML file: read, checked, compared, applied."""

from service.plan_file.apply import apply_changes, changes_of
from service.plan_file.change import Change
from service.plan_file.checks import check
from service.plan_file.document import Declared
from service.plan_file.faults import FileFault, PlanFileError
from service.plan_file.reader import Source

__all__ = [
    "Change",
    "Declared",
    "FileFault",
    "PlanFileError",
    "Source",
    "apply_changes",
    "changes_of",
    "check",
]
