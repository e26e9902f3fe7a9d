"""Runs the command line in this process, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilewise.cli.main import main

Write = Callable[..., Path]
"""Writes a text to a file of a name, "k.cu" by default, and returns its path."""


class Tilewise:
    """The command line."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path, code: int = 0) -> str:
        """Run a command that must end with `code`; return what it printed: on stdout, or on stderr where that is empty."""
        ended = 0
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            ended = int(stop.code or 0)
        shown = self._capsys.readouterr()
        assert ended == code, shown
        return shown.out or shown.err

    def json(self, *arguments: str | Path, code: int = 0) -> Any:
        """Run a command with --json and return what it printed."""
        return json.loads(self(*arguments, "--json", code=code))
