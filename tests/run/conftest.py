"""The command line and files for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from commanding import Tilewise, Write


@pytest.fixture
def tilewise(capsys: pytest.CaptureFixture[str]) -> Tilewise:
    return Tilewise(capsys)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(text: str, name: str = "k.cu") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_file
