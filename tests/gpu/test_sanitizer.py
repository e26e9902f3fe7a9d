"""Every rung and fp32 kernel on ragged sizes under compute-sanitizer's tools."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("ragged_launches.py")


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "initcheck", "synccheck"])
def test_kernels_are_clean(tool: str) -> None:
    if shutil.which("compute-sanitizer") is None:
        pytest.skip("compute-sanitizer is not on the PATH")
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", sys.executable, str(SCRIPT)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    output = found.stdout + found.stderr
    if "Device not supported" in output:
        pytest.skip("compute-sanitizer does not run on this machine")
    assert found.returncode == 0, output[-3000:]
    assert "launches" in found.stdout
