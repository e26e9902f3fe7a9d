"""What a user can cause: one exception type, with the place in a source file where there is one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TilewiseError(Exception):
    """Something a user can put right; the message says what was wrong, the value, and what would be right.

    Anything else that escapes Tilewise is a bug and looks like one. `where` is a `file:line` to print in front of the message.
    """

    def __init__(self, message: str, *, where: str | None = None) -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


class CompileError(TilewiseError):
    """NVRTC refused a source; `log` is its output, with the user's own file names and lines."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class UnsupportedInstruction(TilewiseError):
    """The emulator has no form for an instruction that a thread reached."""


class InstructionLimitReached(TilewiseError):
    """A run took more instructions than it was allowed to; perhaps it never ends."""


class KernelFault(TilewiseError):
    """A launch did something no kernel may do (out of bounds, misaligned, a barrier that cannot complete).

    `printed` is what the kernel had printed by then.
    """

    def __init__(self, message: str, faults: tuple[object, ...] = (), printed: str = "") -> None:
        super().__init__(message)
        self.faults = faults
        self.printed = printed


def nearest(word: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """Return " Did you mean x?" for the closest of the known words, to end an error message with.

    Where none is close, the list of them, or the sentence `otherwise` where they are too many for a list.
    """
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=2, cutoff=0.5)
    if close:
        return f" Did you mean {' or '.join(close)}?"
    return f" There is {', '.join(known)}." if otherwise is None else f" {otherwise}"
