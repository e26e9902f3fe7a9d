"""Small kernels with known faults, and correct ones: all that is wrong is found, and nothing else called an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from checking import check, has, is_like, shown

FOLDER = Path(__file__).parent / "cases"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text())
"""By case: `must`, findings that a check has to give (severity, kind, lines that it mentions); `lines_any`, what the lines may be
instead; `may`, findings that are true besides; `expect`, what the kernel should compute, where an expression says it."""
NOT_YET = {
    "hb21": "mma.sync",
    "hb24": "mbarrier",
    "hb25": "cp.async.bulk",
    "hb26": "wgmma or its fence",
    "hg09": "ldmatrix",
    "hg10": "mbarrier",
    "hg12": "wgmma or its fence",
}
"""Cases with instructions that the emulator does not have."""

CASES = [name for name in EXPECTED if name[:4] not in NOT_YET]


def options(name: str) -> list[str]:
    expect = EXPECTED[name].get("expect")
    return [] if expect is None else ["--expect", expect]


@pytest.mark.parametrize("name", CASES)
def test_case_has_its_findings_and_no_other_errors(name: str) -> None:
    row = EXPECTED[name]
    report = check(FOLDER / f"{name}.cu", *options(name))
    alternatives = row.get("lines_any") or [[lines] for _, _, lines in row["must"]]
    for (severity, kind, _), choices in zip(row["must"], alternatives, strict=True):
        assert any(has(report, severity, kind, lines) for lines in choices), f"no {kind} at {choices} in\n{shown(report)}"
    allowed = [(severity, kind, lines) for severity, kind, lines in row["may"]]
    allowed += [(*entry[:2], lines) for entry, choices in zip(row["must"], alternatives, strict=True) for lines in choices]
    for finding in report["findings"]:
        is_true = finding["severity"] != "error" or any(is_like(finding, *entry) for entry in allowed)
        assert is_true, f"a false alarm, {finding['kind']}, in\n{shown(report)}"
    assert report["verdict"] == ("findings" if any(one["severity"] == "error" for one in report["findings"]) else "clean")


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("hg")])
def test_correct_case_has_no_warning(name: str) -> None:
    report = check(FOLDER / f"{name}.cu", *options(name))
    assert all(finding["severity"] == "note" for finding in report["findings"]), shown(report)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name[:4] in NOT_YET])
def test_case_with_missing_instructions_is_incomplete(name: str) -> None:
    report = check(FOLDER / f"{name}.cu", "--arch", "sm_90a")
    assert report["verdict"] == "incomplete", shown(report)
    assert any("emulator does not have" in sentence for sentence in report["coverage"]["unchecked"])
