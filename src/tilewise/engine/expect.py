"""`--expect`: what an output should be, as an expression in the launch's arguments. Parsed, never executed as Python.

    A @ B                       maximum(x, 0)            exp(x) / sum(exp(x), axis=1, keepdims=True)
    y = alpha * x + y           x[1:-1, None]            where(x > 0, x, 0.1 * x)

Names are arguments; numbers, + - * / // % @ & | ^ << >>, ** with a whole exponent up to 8, comparisons, slices, .T and the
functions of FUNCTIONS. Everything is computed in float64 from what the arguments held before the launch, and with each value the
scale that its rounding errors grow with, and how many roundings deep it is [Higham, Accuracy and Stability of Numerical
Algorithms, chapter 3].
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from keyword import kwlist
from typing import Any, NoReturn

from tilewise.core.errors import TilewiseError, nearest
from tilewise.engine.estimate import ELEMENTS_LIMIT, FUNCTIONS, OPERATORS, Estimate, Unfit, compare_with, constant, power

LENGTH_LIMIT = 2000
DEPTH_LIMIT = 60
POWER_LIMIT = 8
FULL_WIDTH = ord("\N{FULLWIDTH LATIN SMALL LETTER A}") - ord("a")

_TARGET = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)", re.ASCII)
_NAMES_IN_CUDA = sorted({*kwlist} - {"False", "None", "True", "and", "else", "for", "if", "not", "or", "while"})
_PYTHONS = re.compile(rf"\b(?:{'|'.join(_NAMES_IN_CUDA)})\b", re.ASCII)
"""Words of Python's that an argument may well be called, "in" above all."""
_COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_KEYWORDS = ("axis", "keepdims")


@dataclass(frozen=True, slots=True)
class Expectation:
    """What an array should hold after the launch; `out` is None where the text does not say which array."""

    text: str
    out: str | None
    tree: ast.expr

    @property
    def names(self) -> frozenset[str]:
        """The arguments that it speaks of."""
        called = {id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        return frozenset(node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and id(node) not in called)

    def check_names(self, known: Mapping[str, object] | frozenset[str]) -> None:
        """Raise TilewiseError for a name that is no argument's."""
        for name in sorted(self.names):
            if name not in known:
                raise TilewiseError(
                    f"--expect {self.text!r}: no argument is called {name}.{nearest(name, known) if known else ''}"
                )
        if self.out is not None and self.out not in known:
            raise TilewiseError(f"--expect {self.text!r}: no argument is called {self.out}.{nearest(self.out, known)}")

    def evaluate(self, values: Mapping[str, Estimate]) -> Estimate:
        """Return the value, with its scale and depth.

        Raises TilewiseError for shapes that do not fit, and for more than ELEMENTS_LIMIT elements.
        """
        try:
            return _Evaluator(values).visit(self.tree)
        except Unfit as reason:
            raise TilewiseError(f"--expect {self.text!r}: {reason}.") from None


def parse_expectation(text: str) -> Expectation:
    """Return the expectation that a text states, "A @ B" or "C = A @ B".

    Raises TilewiseError for what is outside of the grammar.
    """
    found = _TARGET.match(text)
    body = text[found.end() :] if found else text
    if len(text) > LENGTH_LIMIT:
        raise TilewiseError(f"--expect has {len(text)} characters: at most {LENGTH_LIMIT}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)  # "1if" is no number
            tree = ast.parse(_PYTHONS.sub(_as_name, body.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it is nested too deep"
        raise TilewiseError(f"--expect {text!r}: {reason}.") from None
    _check(tree, text, 0)
    return Expectation(text, found[1] if found else None, tree)


def _as_name(found: re.Match[str]) -> str:
    """Spell a keyword so that Python reads the name: it looks for keywords before it normalises letters [PEP 3131]."""
    word = found[0]
    return word[:-1] + chr(ord(word[-1]) + FULL_WIDTH)


# -- the grammar


def _refuse(text: str, node: ast.AST, what: str) -> NoReturn:
    quoted = ast.unparse(node) if len(text) < 200 else type(node).__name__
    raise TilewiseError(f"--expect {text!r}: {what}, found {quoted!r}.")


def _check(node: ast.expr, text: str, depth: int) -> None:
    """Raise TilewiseError for anything outside of the grammar."""
    if depth > DEPTH_LIMIT:
        raise TilewiseError(f"--expect: expressions stand more than {DEPTH_LIMIT} deep in each other.")
    for child in _children(node, text):
        _check(child, text, depth + 1)


def _children(node: ast.expr, text: str) -> list[ast.expr]:
    match node:
        case ast.Name():
            return []
        case ast.Constant(value=bool() | int() | float() | None):
            return []
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            if not (isinstance(right, ast.Constant) and isinstance(right.value, int) and 0 <= right.value <= POWER_LIMIT):
                _refuse(text, right, f"an exponent is a whole number up to {POWER_LIMIT}")
            return [left]
        case ast.BinOp(left=left, op=operator, right=right):
            if type(operator).__name__ not in OPERATORS:
                _refuse(text, node, "this operator is not known here")
            return [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return [operand]
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _COMPARISONS:
            return [left, right]
        case ast.Attribute(value=value, attr="T"):
            return [value]
        case ast.Subscript(value=value, slice=index):
            return [value, *_index_parts(index)]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            return _check_call(node, text, name, args, keywords)
        case ast.Tuple(elts=elements):
            return list(elements)
        case _:
            _refuse(text, node, "expected names, numbers, operators, slices, .T and functions")


def _check_call(node: ast.expr, text: str, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> list[ast.expr]:
    if name not in FUNCTIONS:
        raise TilewiseError(f"--expect {text!r}: no function is called {name}.{nearest(name, FUNCTIONS)}")
    least, most = FUNCTIONS[name].arguments
    if not least <= len(args) <= most:
        _refuse(text, node, f"{name} takes {least if least == most else f'{least} to {most}'} arguments")
    for keyword in keywords:
        if keyword.arg not in _KEYWORDS or not FUNCTIONS[name].reduces:
            _refuse(text, node, f"{name} takes no {keyword.arg}=")
    return [*args, *(keyword.value for keyword in keywords)]


def _index_parts(index: ast.expr) -> list[ast.expr]:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    found: list[ast.expr] = []
    for part in parts:
        if isinstance(part, ast.Slice):
            found += [bound for bound in (part.lower, part.upper, part.step) if bound is not None]
        elif not (isinstance(part, ast.Constant) and part.value in (None, ...)):
            found.append(part)
    return found


# -- the value


class _Evaluator:
    """Computes the value of a tree that `_check` has passed."""

    def __init__(self, values: Mapping[str, Estimate]) -> None:
        self._values = values

    def visit(self, node: ast.expr) -> Estimate:
        """Return a node's value."""
        found = self._visit(node)
        if found.value.size > ELEMENTS_LIMIT:
            raise Unfit(f"{ast.unparse(node)} has {found.value.size:,} elements: at most {ELEMENTS_LIMIT:,}")
        return found

    def _visit(self, node: ast.expr) -> Estimate:
        match node:
            case ast.Name(id=name):
                return self._values[name]
            case ast.Constant(value=bool() | int() | float() | None as number):
                return constant(number)
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(exponent))):
                return power(self.visit(left), exponent)
            case ast.BinOp(left=left, op=operator, right=right):
                return OPERATORS[type(operator).__name__](self.visit(left), self.visit(right))
            case ast.UnaryOp(op=operator, operand=operand):
                found = self.visit(operand)
                return found if isinstance(operator, ast.UAdd) else Estimate(-found.value, found.scale, found.depth)
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return compare_with(_COMPARISONS[type(operator)], self.visit(left), self.visit(right))
            case ast.Attribute(value=value):
                whole = self.visit(value)
                return Estimate(whole.value.T, whole.scale.T, whole.depth)
            case ast.Subscript(value=value, slice=index):
                return self._index(self.visit(value), index)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
                return self._call(name, args, keywords)
            case _:
                raise Unfit(f"{ast.unparse(node)} is a list, which only shapes and axes may be")

    def _call(self, name: str, args: list[ast.expr], keywords: list[ast.keyword]) -> Estimate:
        function = FUNCTIONS[name]
        positional = [self.visit(arg) for arg in args[: function.arrays]]
        rest = [self._whole(arg) for arg in args[function.arrays :]]
        return function(*positional, *rest, **{str(keyword.arg): self._whole(keyword.value) for keyword in keywords})

    def _index(self, whole: Estimate, index: ast.expr) -> Estimate:
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        selection: tuple[Any, ...] = tuple(self._selector(part) for part in parts)
        try:
            return Estimate(whole.value[selection], whole.scale[selection], whole.depth)
        except IndexError as error:
            raise Unfit(str(error)) from None

    def _selector(self, part: ast.expr) -> object:
        if isinstance(part, ast.Slice):
            lower, upper, step = (None if bound is None else self._whole(bound) for bound in (part.lower, part.upper, part.step))
            if step == 0:
                raise Unfit("a slice's step is not 0")
            return slice(lower, upper, step)
        if isinstance(part, ast.Constant) and part.value in (None, ...):
            return part.value
        return self._whole(part)

    def _whole(self, node: ast.expr) -> int | tuple[int, ...] | None:
        """A whole number, or a few of them: a size, an axis, an index."""
        if isinstance(node, ast.Tuple):
            return tuple(self._one_whole(element) for element in node.elts)
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        return self._one_whole(node)

    def _one_whole(self, node: ast.expr) -> int:
        value = self.visit(node).value
        if value.size != 1 or not value.item() % 1 == 0 or abs(value.item()) > ELEMENTS_LIMIT:
            raise Unfit(f"{ast.unparse(node)} is no whole number up to {ELEMENTS_LIMIT:,}")
        return int(value.item())
