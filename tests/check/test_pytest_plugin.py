"""The plugin in pytest runs of their own: what it collects and when, how a test fails, and that it costs nobody a start."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points

import pytest

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]

KERNEL = """
extern "C" __global__ void {name}(const float* x, float* y, int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    {guard}y[i] = 2 * x[i];
}}
"""
GOOD, BAD = KERNEL.format(name="good", guard="if (i < n) "), KERNEL.format(name="bad", guard="")
ARGUMENTS = "// tilewise: --grid 4 --block 32 --arg 'x=f32[n]:arange' --arg 'y=f32[n]' --arg n=100\n"
TWO = ARGUMENTS + "// tilewise: --kernel good\n" + GOOD + "// tilewise: --kernel bad --seed 1\n" + BAD


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run pytest in a process of its own, with the plugin whether it is installed or not."""
    is_installed = bool(entry_points(group="pytest11", name="tilewise"))
    plugin = () if is_installed else ("-p", "tilewise.pytest_plugin")

    def run_pytest(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *plugin, *arguments)

    return run_pytest


def test_files_are_left_alone_unless_asked_for(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makefile(".cu", k=TWO)
    pytester.makepyfile("def test_other(): pass")
    run().assert_outcomes(passed=1)


@pytest.mark.parametrize("how", ["flag", "setting"])
def test_each_stated_launch_is_a_test(how: str, pytester: pytest.Pytester, run: Run) -> None:
    pytester.makefile(".cu", k=TWO, plain=GOOD)
    if how == "setting":
        pytester.makeini("[pytest]\ntilewise_collect = true")
    result = run("-v", *(["--tilewise"] if how == "flag" else []))
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["k.cu::good PASSED*", "k.cu::bad FAILED*"])


def test_failure_is_the_report_and_no_traceback(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makefile(".cu", k=TWO)
    result = run("--tilewise")
    text = result.stdout.str()
    result.stdout.fnmatch_lines(
        [
            "*error oob.global.write: writes 4 bytes at byte 400 of y*",
            "*--> *k.cu:12:*",
            "*12 |     y[[]i[]] = 2 * x[[]i[]];",
            "*verdict: findings",
        ]
    )
    assert "Traceback" not in text
    assert "pytest_plugin.py" not in text
    assert "\x1b" not in text


def test_settings_choose_what_fails(pytester: pytest.Pytester, run: Run) -> None:
    strided = GOOD.replace("x[i]", "x[37 * i % n]")
    pytester.makefile(".cu", k=ARGUMENTS + strided)
    run("--tilewise").assert_outcomes(passed=1)
    pytester.makeini("[pytest]\ntilewise_collect = true\ntilewise_fail_on = warning")
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*warning perf.uncoalesced*"])
    pytester.makeini("[pytest]\ntilewise_collect = true\ntilewise_fail_on = warning\ntilewise_ignore = perf.*")
    run("-m", "tilewise", "--strict-markers").assert_outcomes(passed=1)


def test_wrong_facts_are_an_error_at_their_line(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makefile(".cu", k="// tilewise: --grid 4 --blok 32\n" + GOOD)
    result = run("--tilewise")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*k.cu:1: '--blok' is no launch fact*Did you mean --block*"])


def test_kernel_that_does_not_compile_says_so(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makefile(".cu", k=ARGUMENTS + GOOD.replace("2 * x[i]", "two * x[i]"))
    result = run("--tilewise")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(['*k.cu:5: error: identifier "two" is undefined*'])
    assert "Traceback" not in result.stdout.str()


def test_assert_clean_names_findings_and_shows_the_asking_line(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        f"""
        import numpy as np
        import tilewise

        def test_it():
            args = {{"x": np.ones(100, np.float32), "y": "f32[100]", "n": 100}}
            report = tilewise.check({BAD!r}, grid=4, block=32, args=args)
            report.assert_clean()  # asked here
        """
    )
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*report.assert_clean()  # asked here",
            "*AssertionError: bad, grid (4, 1, 1), block (32, 1, 1): findings",
            "*error oob.global.write at kernel.cu:4: writes 4 bytes*",
            "*fix: guard the store*",
        ]
    )
    assert "core/report.py" not in result.stdout.str()


def test_plugin_loads_nothing_before_it_has_a_file() -> None:
    script = "import json, sys, tilewise.pytest_plugin; print(json.dumps(sorted(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    loaded = json.loads(printed)
    ours = {name for name in loaded if name.partition(".")[0] == "tilewise"}
    assert ours == {"tilewise", "tilewise.pytest_plugin"}
    assert not {"numpy", "llvmlite", "rich", "typer", "cuda"} & {name.partition(".")[0] for name in loaded} - _loaded_by_pytest()


def _loaded_by_pytest() -> set[str]:
    script = "import json, sys, pytest; print(json.dumps(sorted(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return {name.partition(".")[0] for name in json.loads(printed)}
