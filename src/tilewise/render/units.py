"""Figures as people read them: few digits, decimal units, and text from elsewhere made safe for a terminal."""

from __future__ import annotations

import math
import unicodedata


def show_count(value: int) -> str:
    """Return a count in full up to 99,999, above that with four digits and a decimal prefix: "138.4 M"."""
    return f"{value:,}" if abs(value) < 100_000 else _scale(value, " kMGTPE", 4)


def show_bytes(value: int) -> str:
    """Return bytes with four digits and a decimal unit: "268.4 MB"."""
    return f"{value:,} B" if abs(value) < 10_000 else _scale(value, " kMGTPE", 4) + "B"


def show_seconds(value: float) -> str:
    """Return a time with three digits: "4.63 us"."""
    if not value:
        return "0"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{_digits(value / size, 3)} {unit}"
    return f"{_digits(value / 1e-9, 3)} ns"


def show_ratio(value: float) -> str:
    """Return a ratio with three digits, without zeros at its end: "0.0606", "8", "16.5"."""
    text = _digits(value, 3)
    return text.rstrip("0").rstrip(".") if "." in text else text


def strip_controls(text: str) -> str:
    """Return text without control and format characters, which could steer a terminal; tabs and line ends become blanks."""
    blanks = "".join(" " if character in "\t\n\r" else character for character in text)
    return "".join(character for character in blanks if unicodedata.category(character) not in ("Cc", "Cf"))


def mark_controls(text: str) -> str:
    """Return text with a visible mark for each control or format character and half a surrogate pair; tabs become blanks."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character
        for character in text.replace("\t", "    ")
    )


def _scale(value: float, prefixes: str, digits: int) -> str:
    step = 0
    while abs(value) >= 999.95 and step < len(prefixes) - 1:
        value, step = value / 1000, step + 1
    return f"{_digits(value, digits)} {prefixes[step].strip()}"


def _digits(value: float, digits: int) -> str:
    """`value` with so many significant digits and no exponent; whole numbers in full."""
    rounded = float(f"{value:.{digits - 1}e}")
    exponent = math.floor(math.log10(abs(rounded))) if rounded else 0
    return f"{value:,.{max(digits - 1 - exponent, 0)}f}"
