"""The grammar of `--arg`: one kernel argument, as text and as data. What it becomes in memory is the engine's business.

    argument  name '=' value
    value     dtype '[' sizes [';' strides] ']' [':' fill]     an array
            | file '.npy'                                      an array as the file has it
            | [dtype ':'] number                               a number; its type is the parameter's where none is given
    fill      'normal' | 'uniform(' number ',' number ')' | 'arange' | 'zeros' | 'full(' number ')' | 'poison' | file '.npy'
    number    a floating-point literal, 'inf', 'nan', or a whole-number expression (expression.py)

Expressions take the names of whole-number arguments: a number's those before it, all others any. Sizes and strides count
elements. An array without a fill is poison: memory that nobody has written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tilewise.core.dtypes import DTYPES, Dtype, find_dtype
from tilewise.core.errors import nearest
from tilewise.core.expression import Expression, parse_expression
from tilewise.core.scanner import FlagText, Scanner

DIMENSIONS_LIMIT = 8

FILLS = {"normal": 0, "uniform": 2, "arange": 0, "zeros": 0, "full": 1, "poison": 0}
"""How many numbers each way to fill an array takes."""

Number = float | Expression

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FLOAT = re.compile(
    r"[+-]?(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|inf(?!\w)|nan(?!\w))", re.ASCII
)
_SHAPED = re.compile(r"[A-Za-z]\w*[ \t]*\[", re.ASCII)
_FILE = ".npy"


@dataclass(frozen=True, slots=True)
class Fill:
    """What an array holds before the launch; `name` is one of FILLS."""

    name: str
    numbers: tuple[Number, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFill:
    """The contents of the .npy file `path`, relative to `folder`, which it must not leave; None: the current one, as you like."""

    path: str
    folder: Path | None
    at: int
    """Offset in the argument's text."""


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array; sizes and strides in elements. Without `dtype` and `shape` it has those of its file."""

    dtype: Dtype | None
    shape: tuple[Expression, ...] | None
    strides: tuple[Expression, ...] | None
    fill: Fill | FileFill


@dataclass(frozen=True, slots=True)
class NumberValue:
    """A number; without `dtype`, of the parameter's type."""

    dtype: Dtype | None
    number: Number


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: a label for reports, and what it is."""

    name: str
    value: ArrayValue | NumberValue
    source: FlagText


def parse_argument(source: FlagText, folder: Path | None = None) -> Argument:
    """Return the argument that a flag's text states.

    `folder` is where its files are, and must lie (None: anywhere, from the current folder). Raises TilewiseError that points at
    the column where the text is none.
    """
    scanner = Scanner(source)
    name = scanner.match(_NAME)
    if name is None:
        raise scanner.error(f"expected a name, as in A=f32[64,64]:normal or n=64, found {scanner.found()}")
    if find_dtype(name):
        raise scanner.error(f"{name} is an element type, not a name: write name={name}[64] or name={name}:1", 0)
    scanner.expect("=", "after the name, as in A=f32[64,64]:normal or n=64")
    return Argument(name, _read_value(scanner, folder), source)


def _read_value(scanner: Scanner, folder: Path | None) -> ArrayValue | NumberValue:
    scanner.skip_blanks()
    start = scanner.at
    if scanner.match(_SHAPED) is not None:
        scanner.at = start
        return _read_array(scanner, folder)
    if scanner.text.endswith(_FILE):
        return ArrayValue(None, None, None, _read_file(scanner, folder))
    word = scanner.match(_NAME)
    if word is not None and scanner.take(":"):
        return NumberValue(_dtype(scanner, word, start), _read_last_number(scanner))
    if word is not None and find_dtype(word):
        raise scanner.error(f"expected [ for an array or : for a number after the type {word}, found {scanner.found()}")
    scanner.at = start
    return NumberValue(None, _read_last_number(scanner))


def _dtype(scanner: Scanner, word: str, at: int) -> Dtype:
    dtype = find_dtype(word)
    if dtype is None:
        raise scanner.error(f"{word} is no element type.{nearest(word, DTYPES)}", at)
    return dtype


def _read_last_number(scanner: Scanner) -> Number:
    number = _read_number(scanner)
    scanner.finish("nothing more after a number")
    return number


def _read_number(scanner: Scanner) -> Number:
    literal = scanner.match(_FLOAT)
    return parse_expression(scanner) if literal is None else float(literal)


# -- arrays


def _read_array(scanner: Scanner, folder: Path | None) -> ArrayValue:
    at = scanner.at
    word = scanner.match(_NAME)
    assert word is not None
    dtype = _dtype(scanner, word, at)
    scanner.expect("[", "after the type")
    shape, strides = _read_list(scanner, "size"), None
    if scanner.take(";"):
        at = scanner.at
        strides = _read_list(scanner, "stride")
        if len(strides) != len(shape):
            raise scanner.error(f"{len(shape)} sizes have {len(strides)} strides: give one each", at)
    scanner.expect("]", "after the sizes" if strides is None else "after the strides")
    if not scanner.take(":"):
        scanner.finish("a fill, such as :normal, or nothing")
        return ArrayValue(dtype, shape, strides, Fill("poison"))
    return ArrayValue(dtype, shape, strides, _read_fill(scanner, folder))


def _read_list(scanner: Scanner, what: str) -> tuple[Expression, ...]:
    parts = [parse_expression(scanner)]
    while scanner.take(","):
        if len(parts) == DIMENSIONS_LIMIT:
            raise scanner.error(f"more than {DIMENSIONS_LIMIT} {what}s")
        parts.append(parse_expression(scanner))
    return tuple(parts)


def _read_fill(scanner: Scanner, folder: Path | None) -> Fill | FileFill:
    scanner.skip_blanks()
    if scanner.text.endswith(_FILE):
        return _read_file(scanner, folder)
    start = scanner.at
    name = scanner.match(_NAME)
    if name is None:
        raise scanner.error(f"expected a fill ({', '.join(FILLS)}, or a .npy file), found {scanner.found()}")
    if name not in FILLS:
        raise scanner.error(f"{name} is no fill.{nearest(name, (*FILLS, 'file.npy'))}", start)
    numbers: list[Number] = []
    if scanner.take("("):
        numbers.append(_read_number(scanner))
        while scanner.take(","):
            numbers.append(_read_number(scanner))
            if len(numbers) > max(FILLS.values()):
                break
        scanner.expect(")", f"after the numbers of {name}")
    if len(numbers) != FILLS[name]:
        takes = {0: "takes no numbers", 1: "takes one number: full(x)", 2: "takes two numbers: uniform(low,high)"}
        raise scanner.error(f"{name} {takes[FILLS[name]]}", start)
    scanner.finish("nothing more after the fill")
    return Fill(name, tuple(numbers))


def _read_file(scanner: Scanner, folder: Path | None) -> FileFill:
    """The rest of the text is a path."""
    at = scanner.at
    scanner.at = len(scanner.text)
    return FileFill(scanner.text[at:], folder, at)
