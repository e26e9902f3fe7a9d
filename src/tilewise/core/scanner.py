"""The text of one flag, and a place that moves through it: matches patterns, words errors that point at a column.

Knows no grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewise.core.errors import TilewiseError

SHOWN = 60
"""Characters of a text that an error shows on either side of its column."""

_BLANKS = re.compile(r"[ \t]*+")
_END = re.compile(r"\Z")


@dataclass(frozen=True, slots=True)
class FlagText:
    """What was given for `flag`; `where` is the file and line that it stands in, None on the command line."""

    flag: str
    text: str
    where: str | None = None

    def error(self, message: str, at: int) -> TilewiseError:
        """Return a TilewiseError that names the column of offset `at` and points at it."""
        start = max(0, at - SHOWN)
        shown = "".join(character if character.isprintable() else "?" for character in self.text[start : at + SHOWN])
        place = f"  {self.flag} " + ("..." if start else "")
        pointer = " " * (len(place) + at - start) + "^"
        stop = "" if message.endswith(("?", ".")) else "."
        return TilewiseError(f"{self.flag}, column {at + 1}: {message}{stop}\n{place}{shown}\n{pointer}", where=self.where)


class Scanner:
    """A position that moves forward through the text of a flag."""

    def __init__(self, source: FlagText) -> None:
        self.source = source
        self.text = source.text
        self.at = 0

    def match(self, pattern: re.Pattern[str]) -> str | None:
        """Skip blanks, then match `pattern` and move behind it; None (and no move past the blanks) where it does not match."""
        self.skip_blanks()
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found.group()

    def skip_blanks(self) -> None:
        """Move to the next character that is not blank."""
        blanks = _BLANKS.match(self.text, self.at)
        assert blanks is not None
        self.at = blanks.end()

    def take(self, mark: str) -> bool:
        """Skip blanks, then `mark` if it stands there; return whether it did."""
        self.skip_blanks()
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def expect(self, mark: str, why: str) -> None:
        """Move behind `mark`, or raise TilewiseError: expected `mark` `why`."""
        if not self.take(mark):
            raise self.error(f"expected {mark} {why}, found {self.found()}")

    def finish(self, expected: str) -> None:
        """Raise TilewiseError unless only blanks are left: `expected` was wanted."""
        if self.match(_END) is None:
            raise self.error(f"expected {expected}, found {self.found()}")

    def found(self) -> str:
        """What stands here, for a message."""
        return repr(self.text[self.at]) if self.at < len(self.text) else "the end"

    def error(self, message: str, at: int | None = None) -> TilewiseError:
        """Return a TilewiseError that points at offset `at`, here by default."""
        return self.source.error(message, self.at if at is None else at)
