"""Checking ASQP data: the rules, what they find, and the repairs."""

from asqp_datasets.checks.checker import Checker, Example, Finding, Report, check_source
from asqp_datasets.checks.repairs import REPAIRABLE, Repair, parse_repairs, repair
from asqp_datasets.checks.rules import RULES, SEVERITIES, Rule

__all__ = [
    "REPAIRABLE",
    "RULES",
    "SEVERITIES",
    "Checker",
    "Example",
    "Finding",
    "Repair",
    "Report",
    "Rule",
    "check_source",
    "parse_repairs",
    "repair",
]
