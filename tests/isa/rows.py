"""Loads the rows: one module a theme."""

from __future__ import annotations

import importlib

THEMES = ("rows_integer", "rows_logic", "rows_compare", "rows_float")


def load_rows() -> None:
    """Import every theme, so that ROWS is whole."""
    for theme in THEMES:
        importlib.import_module(theme)
