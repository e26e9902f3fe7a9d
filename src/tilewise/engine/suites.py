"""Which products a bench runs: the suites that come with Tilewise, and files of a user's own."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.problem import Problem, as_layout

COLUMNS = ("suite", "dtype", "M", "N", "K", "layout")
NEEDED = ("M", "N", "K")
DATA = "data/shapes.csv"
SUITES = {
    "square": "cubes from 128 to 8192",
    "llm": "projections of language models, 512 tokens",
    "odd": "sizes that no tile divides, and long sums",
    "skinny": "1 to 64 rows on the weights of language models",
    "layouts": "4096 and 8192 cubes in other layouts than rc",
}
"""The suites and what they are."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A product of a suite."""

    suite: str
    problem: Problem


def load_suites(names: Sequence[str] | None = None, dtype: str = "f32") -> list[Shape]:
    """Return the products of the suites of these names, of all by default.

    Raises TilewiseError for a name that is none.
    """
    for name in names or ():
        if name not in SUITES:
            raise TilewiseError(f"there is no suite {name!r}.{nearest(name, SUITES)}")
    text = files("tilewise.engine").joinpath(DATA).read_text(encoding="utf-8")
    wanted = Problem(1, 1, 1, dtype=dtype).dtype
    shapes = read_shapes(text, DATA)
    return [shape for shape in shapes if shape.suite in (names or SUITES) and shape.problem.dtype == wanted]


def load_shapes(path: Path) -> list[Shape]:
    """Return the products of a CSV file with a line of names: M, N and K; suite, dtype and layout may be left out.

    Other columns are passed over; dtype is f32 and layout rr where nothing else is said.
    Raises TilewiseError, naming the line, for what is not such a file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise TilewiseError(f"{path} cannot be read ({reason}): give a CSV file with columns M, N and K.") from None
    return read_shapes(text, str(path))


def read_shapes(text: str, name: str) -> list[Shape]:
    """Return the products of a CSV text; see `load_shapes`. `name` stands for it in messages."""
    shapes = list(_read_rows(text, name))
    if not shapes:
        raise TilewiseError(f"{name} has no products: give a line of column names (M,N,K) and lines of numbers.")
    return shapes


def _read_rows(text: str, name: str) -> Iterator[Shape]:
    reader = csv.DictReader(text.splitlines(), skipinitialspace=True)
    for row in reader:
        where = f"{name}:{reader.line_num}"
        missing = [column for column in NEEDED if row.get(column) is None]
        if missing:
            found = ", ".join(reader.fieldnames or ())
            raise TilewiseError(f"{', '.join(missing)} missing; the columns are {found}: give M, N and K.", where=where)
        m, n, k = (_size(column, row[column], where) for column in NEEDED)
        try:
            problem = Problem(m, n, k, dtype=row.get("dtype") or "f32", layout=as_layout(row.get("layout") or "rr"))
        except TilewiseError as error:
            raise TilewiseError(str(error), where=where) from None
        yield Shape(row.get("suite") or "shapes", problem)


def _size(column: str, word: str, where: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) < 20 and int(word) >= 1):
        raise TilewiseError(f"{column} = {word!r} is not a whole number of at least 1.", where=where)
    return int(word)
