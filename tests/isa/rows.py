"""Loads the rows: one module a theme."""

from __future__ import annotations

import importlib

THEMES = (
    "rows_address",
    "rows_integer",
    "rows_logic",
    "rows_compare",
    "rows_float",
    "rows_convert",
    "rows_half",
    "rows_small",
    "rows_special",
    "rows_simd",
    "rows_video",
)


def load_rows() -> None:
    """Import every theme, so that ROWS is whole."""
    for theme in THEMES:
        importlib.import_module(theme)
