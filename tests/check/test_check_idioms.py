"""Correct kernels that look wrong: right under every order of warps and blocks, and clean; the twin of each is not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checking import check, has, shown
from idioms import IDIOMS, Idiom

from tilewise.core.encoding import decode
from tilewise.core.launch_facts import LaunchFacts
from tilewise.emu.observe import observe
from tilewise.engine.arguments import BoundArgument
from tilewise.engine.kernel_file import BuildOptions, KernelEntry, open_file, open_kernel
from tilewise.engine.run import bind_launch

SCHEDULES = 8
every_idiom = pytest.mark.parametrize("idiom", IDIOMS, ids=[idiom.name for idiom in IDIOMS])
every_build = pytest.mark.parametrize(
    "unoptimised", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["optimised", "unoptimised"]
)


@cache
def compiled(idiom: Idiom, unoptimised: bool) -> tuple[KernelEntry, LaunchFacts]:
    file = open_file(idiom.path)
    return open_kernel(file, BuildOptions(unoptimised=unoptimised), None), file.facts(LaunchFacts())


def values(argument: BoundArgument) -> Any:
    if argument.array is None or argument.dtype is None:
        return argument.passed
    numbers = decode(argument.array, argument.dtype)
    return numbers.astype(np.float64) if argument.dtype.is_float else numbers.copy()


@every_build
@every_idiom
def test_idiom_is_right_and_silent_under_every_schedule(idiom: Idiom, unoptimised: bool) -> None:
    entry, facts = compiled(idiom, unoptimised)
    for seed in range(SCHEDULES):
        launch, arguments = bind_launch(entry, facts)
        right = idiom.right({argument.name: values(argument) for argument in arguments})
        poison = [index for index, argument in enumerate(arguments) if argument.is_poison]
        observed = observe(launch, poison=poison, seed=seed).observed
        assert not [*observed.faults, *observed.conflicts, *observed.uninitialised, *observed.unwritten], observed
        left = {argument.name: values(argument) for argument in arguments}
        for name, expected in right.items():
            got = np.sort(left[name]) if name in idiom.in_any_order else left[name]
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)


@every_idiom
def test_correct_idiom_is_clean_and_without_a_warning(idiom: Idiom) -> None:
    report = check(idiom.path, "--schedules", "1" if idiom.in_any_order else "8")
    assert report["verdict"] == "clean", shown(report)
    assert all(finding["severity"] == "note" for finding in report["findings"]), shown(report)


@every_idiom
def test_twin_with_one_line_broken_is_flagged(idiom: Idiom, tmp_path: Path) -> None:
    twin = tmp_path / idiom.path.name
    twin.write_text(idiom.broken_text())
    report = check(twin)
    severity = "warning" if idiom.kinds[0].startswith("perf.") else "error"
    assert any(has(report, severity, kind, idiom.lines) for kind in idiom.kinds), shown(report)
