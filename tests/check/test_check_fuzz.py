"""A short fuzzing of all that reads what others wrote; tools/fuzz.py goes on for an hour."""

from __future__ import annotations

from fuzzing import Edit, check_ptx, evaluate_expectation, expectations, facts, ptx_edits, read_facts
from hypothesis import example, given, settings


@given(facts())
def test_comment_lines_state_facts_or_are_refused(text: str) -> None:
    read_facts(text)


@given(expectations())
def test_expectations_have_values_or_are_refused(text: str) -> None:
    evaluate_expectation(text)


@given(ptx_edits())
@example([(86, "insert", 4, "ret;")])  # what calls is behind a return
@example([(1410, "swap", 0, "")])  # a call without a name
@settings(max_examples=25)
def test_changed_ptx_is_checked_or_refused(edits: list[Edit]) -> None:
    check_ptx(edits)
