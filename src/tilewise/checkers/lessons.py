"""What each kind of finding means, read from cuda/KIND.cu: a head comment, a kernel that has the fault and one without it.

    // KIND
    //
    // Finds: what is reported, and from what it is known
    //
    // Why: what becomes of a kernel that has it
    //
    // Fix: what puts it right
    //
    // With: --schedules 8          (only where a finding needs an option of tilewise check)

    // tilewise: ...                launch facts of both kernels, and what else both need
    // tilewise: --kernel bad ...
    // tilewise: --kernel fixed ...

Both kernels can be checked as they stand: `tilewise check cuda/KIND.cu --kernel bad`.
"""

from __future__ import annotations

import functools
import re
import shlex
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

LESSONS_FOLDER = Path(__file__).parent / "cuda"

_SECTION = re.compile(r"(?P<key>Finds|Why|Fix|With): +(?P<text>.+)")
_BEGINS = re.compile(r"^// tilewise: --kernel (bad|fixed)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class KindLesson:
    """A kind of finding, in words and in two kernels of CUDA."""

    kind: str
    finds: str
    why: str
    fix: str
    shared: str
    """What both kernels need: launch facts, declarations."""
    bad: str
    """A kernel with its launch facts that has it."""
    fixed: str
    """The same kernel without it."""
    path: Path
    """The file that holds both."""
    options: tuple[str, ...] = ()
    """Of tilewise check, where the finding needs them."""

    def command(self, kernel: str) -> str:
        """The command line that checks one of the kernels."""
        return shlex.join(["tilewise", "check", str(self.path), "--kernel", kernel, *self.options])


@functools.cache
def kind_lessons() -> dict[str, KindLesson]:
    """Return the lessons by kind, in the order of their names."""
    paths = sorted(LESSONS_FOLDER.glob("*.cu"))
    return {path.stem: parse_lesson(path.read_text(encoding="utf-8"), path) for path in paths}


def parse_lesson(text: str, path: Path) -> KindLesson:
    """Return the lesson that a file's text holds. Raises ValueError for a text of another form."""
    comment = [line.removeprefix("//").strip() for line in takewhile(lambda line: line.startswith("//"), text.splitlines())]
    sections = _sections(comment[1:])
    begins = list(_BEGINS.finditer(text))
    if comment[:1] != [path.stem] or not {"Finds", "Why", "Fix"} <= sections.keys():
        raise ValueError(f"{path} does not begin with its kind, Finds, Why and Fix")
    if [one[1] for one in begins] != ["bad", "fixed"]:
        raise ValueError(f"{path} does not have the kernels bad and fixed")
    bad, fixed = (one.start() for one in begins)
    shared = text[:bad].split("\n\n", 1)[1]
    return KindLesson(
        kind=path.stem,
        finds=sections["Finds"],
        why=sections["Why"],
        fix=sections["Fix"],
        shared=shared.strip(),
        bad=text[bad:fixed].strip(),
        fixed=text[fixed:].strip(),
        path=path,
        options=tuple(shlex.split(sections.get("With", ""))),
    )


def _sections(lines: list[str]) -> dict[str, str]:
    """The sections of a head comment, each as one line."""
    found: dict[str, str] = {}
    key = ""
    for line in lines:
        section = _SECTION.fullmatch(line)
        if section:
            key = section["key"]
            found[key] = section["text"]
        elif key and line:
            found[key] += f" {line}"
    return found
