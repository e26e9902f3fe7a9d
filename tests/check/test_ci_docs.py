"""docs/ci.md: its scripts and tests do what it says, in a project made for the purpose."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "ci.md").read_text()
SCALE = """\
// tilewise: --grid 4 --block 32 --arg 'x=f32[n]:arange' --arg 'y=f32[n]' --arg n=100
extern "C" __global__ void scale(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""
UNGUARDED = SCALE.replace("if (i < n) ", "")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with kernels/scale.cu, and a command `tilewise` for it."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "scale.cu").write_text(SCALE)
    command = tmp_path / "bin" / "tilewise"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tilewise "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run(script: str, project: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(project / "bin"), os.environ["PATH"]])
    python_path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": python_path}
    return subprocess.run(["sh", "-c", script], cwd=project, env=environment, capture_output=True, text=True, check=False)


def results(project: Path, name: str) -> list[dict[str, object]]:
    return json.loads((project / "reports" / f"{name}.sarif").read_text())["runs"][0]["results"]  # type: ignore[no-any-return]  # SARIF's


def test_script_passes_clean_kernels_and_names_others(project: Path) -> None:
    script, _ = blocks("sh")
    clean = run(script, project)
    assert clean.returncode == 0, clean.stderr
    assert results(project, "scale") == []
    assert "clean" in (project / "reports" / "scale.html").read_text()

    (project / "kernels" / "bad.cu").write_text(UNGUARDED)
    failed = run(script, project)
    assert (failed.returncode, failed.stderr.splitlines()[-1]) == (1, "not clean: bad")
    assert {result["ruleId"] for result in results(project, "bad")} == {"oob.global.read", "oob.global.write"}
    assert (project / "reports" / "scale.html").exists()


def test_baseline_lets_only_new_findings_fail(project: Path) -> None:
    script, baseline = blocks("sh")
    (project / "kernels" / "old.cu").write_text(UNGUARDED)
    made = run(baseline, project)
    assert made.returncode == 0, made.stderr
    passed = run(script, project)
    assert passed.returncode == 0, passed.stderr
    assert {str(result["suppressions"]) for result in results(project, "old")} == {
        "[{'kind': 'external', 'justification': 'The baseline has it.'}]"
    }
    (project / "kernels" / "old.cu").write_text("\n\n" + UNGUARDED.replace("}", "    y[n + 1] = 0;\n}"))
    assert run(script, project).returncode == 1
    assert [result["ruleId"] for result in results(project, "old") if "suppressions" not in result] == ["oob.global.write"]


def test_workflow_runs_the_script_and_uploads_what_it_writes() -> None:
    (workflow,) = blocks("yaml")
    assert "sh check_kernels.sh" in workflow
    assert "`check_kernels.sh`" in TEXT
    assert "sarif_file: reports" in workflow


def test_pytest_settings_and_test_work(project: Path) -> None:
    (settings,), (test,) = blocks("ini"), blocks("python")
    (project / "pytest.ini").write_text(settings)
    (project / "test_scale.py").write_text(test)
    plugin = "" if entry_points(group="pytest11", name="tilewise") else "-p tilewise.pytest_plugin"
    ran = run(f'"{sys.executable}" -m pytest -q -p no:cacheprovider {plugin}', project)
    assert "2 passed" in ran.stdout, ran.stdout
    (project / "kernels" / "scale.cu").write_text(SCALE.replace("2 * x", "3 * x"))
    ran = run(f'"{sys.executable}" -m pytest -q -p no:cacheprovider {plugin}', project)
    assert "1 failed, 1 passed" in ran.stdout
    assert "wrong.result" in ran.stdout


@pytest.mark.parametrize(
    ("source", "flags", "code"), [(SCALE, "", 0), (UNGUARDED, "", 1), (SCALE, "--sample-blocks 1", 2), ("", "", 2)]
)
def test_exit_codes_are_those_of_the_table(source: str, flags: str, code: int, project: Path) -> None:
    (project / "kernels" / "scale.cu").write_text(source)
    assert run(f"tilewise check kernels/scale.cu {flags}", project).returncode == code
    assert re.search(rf"^\| {code} \|", TEXT, re.MULTILINE)
