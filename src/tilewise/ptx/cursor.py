"""A place in PTX text: matches patterns there, counts lines, words errors. Knows nothing of what the text means."""

from __future__ import annotations

import re

from tilewise.core.errors import TilewiseError

_COMMENT_OR_STRING = re.compile(r'"(?:[^"\\\n]++|\\.)*"?|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*(?:\*/)?', re.DOTALL)
_SPACE = re.compile(r"\s*+")


class Cursor:
    """A position that moves forward through `text`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._line = 1
        self._line_at = 0

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Skip blanks, then match `pattern` and move behind it; None (and no move past the blanks) where it does not match."""
        self.skip_space()
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def expect(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Match `pattern`, or raise TilewiseError saying that `what` was expected."""
        found = self.match(pattern)
        if found is None:
            raise self.error(f"expected {what}, found {self.snippet(self.at)}")
        return found

    def skip_space(self) -> None:
        """Move to the next character that is not blank."""
        space = _SPACE.match(self.text, self.at)
        if space is not None:
            self.at = space.end()

    def line_at(self, at: int) -> int:
        """Return the 1-based line of offset `at`; offsets must not decrease from call to call (going back costs a recount)."""
        if at < self._line_at:
            self._line, self._line_at = 1, 0
        self._line += self.text.count("\n", self._line_at, at)
        self._line_at = at
        return self._line

    def snippet(self, at: int) -> str:
        """Return the text at `at`, up to its line's end, quoted for a message."""
        if at >= len(self.text):
            return "the end of the text"
        return repr(self.text[at : at + 80].split("\n", 1)[0].strip())

    def error(self, message: str) -> TilewiseError:
        """Return a TilewiseError at the present line."""
        return ptx_error(message, self.line_at(self.at))


def ptx_error(message: str, line: int) -> TilewiseError:
    """Return a TilewiseError about a line of the PTX text."""
    return TilewiseError(message, where=f"PTX line {line}")


def without_comments(text: str) -> str:
    """Return `text` with each comment replaced by a blank and its line breaks, so that line numbers stay."""
    return _COMMENT_OR_STRING.sub(_blank_comment, text)


def _blank_comment(found: re.Match[str]) -> str:
    piece = found.group()
    return piece if piece[0] == '"' else " " + "\n" * piece.count("\n")
