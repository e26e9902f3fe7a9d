"""Whole-number expressions of launch facts, such as `(n + 15) / 16`: parsed once, evaluated when the names are known.

    expression  term (('+' | '-') term)*
    term        factor (('*' | '/' | '%') factor)*
    factor      '-' factor | number | name | '(' expression ')'

Division is C's: of whole numbers, rounded towards zero.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.scanner import FlagText, Scanner

DEPTH_LIMIT = 32
"""Parentheses and minus signs within each other."""
VALUE_LIMIT = 1 << 64
"""No size, address or integer argument is larger; every step of an evaluation stays within it."""
DIGITS_LIMIT = 20

NEGATE = "negate"
_SUM, _PRODUCT = re.compile(r"[+-]"), re.compile(r"[*/%]")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Token:
    """A number, a name, or an operator on the values before it (postfix order), and its offset in the flag's text."""

    value: int | str
    at: int
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression; `text` is its spelling, found at offset `at` of `source`."""

    text: str
    code: tuple[Token, ...] = field(repr=False)
    source: FlagText = field(repr=False)
    at: int = field(repr=False)

    def evaluate(self, names: Mapping[str, int]) -> int:
        """Return the value, with the names that stand for whole numbers.

        Raises TilewiseError for an unknown name, division by zero and values beyond 64 bits.
        """
        stack: list[int] = []
        for token in self.code:
            if isinstance(token.value, int):
                stack.append(token.value)
            elif token.is_name:
                stack.append(self._look_up(token.value, token.at, names))
            elif token.value == NEGATE:
                stack.append(-stack.pop())
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(self._combine(token.value, token.at, left, right))
        return stack.pop()

    def error(self, message: str) -> TilewiseError:
        """Return a TilewiseError that points at the expression."""
        return self.source.error(message, self.at)

    def _look_up(self, name: str, at: int, names: Mapping[str, int]) -> int:
        if name not in names:
            hint = nearest(name, names) if names else ""
            raise self.source.error(f"no whole-number argument that is known here is called {name}.{hint}", at)
        return names[name]

    def _combine(self, operator: str, at: int, left: int, right: int) -> int:
        if operator in "/%" and right == 0:
            raise self.source.error(f"{left} {operator} 0 has no value", at)
        match operator:
            case "+":
                value = left + right
            case "-":
                value = left - right
            case "*":
                value = left * right
            case "/":
                value = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            case _:
                value = abs(left) % abs(right) * (-1 if left < 0 else 1)
        if abs(value) > VALUE_LIMIT:
            raise self.source.error(f"{left} {operator} {right} does not fit 64 bits", at)
        return value


def parse_expression(scanner: Scanner) -> Expression:
    """Return the expression that begins at the scanner's place, which moves behind it.

    Raises TilewiseError where there is none.
    """
    scanner.skip_blanks()
    code: list[Token] = []
    start = scanner.at
    _read_sum(scanner, code, DEPTH_LIMIT)
    return Expression(scanner.text[start : scanner.at], tuple(code), scanner.source, start)


def _read_sum(scanner: Scanner, code: list[Token], depth: int) -> None:
    _read_product(scanner, code, depth)
    while (operator := scanner.match(_SUM)) is not None:
        at = scanner.at - 1
        _read_product(scanner, code, depth)
        code.append(Token(operator, at))


def _read_product(scanner: Scanner, code: list[Token], depth: int) -> None:
    _read_factor(scanner, code, depth)
    while (operator := scanner.match(_PRODUCT)) is not None:
        at = scanner.at - 1
        _read_factor(scanner, code, depth)
        code.append(Token(operator, at))


def _read_factor(scanner: Scanner, code: list[Token], depth: int) -> None:
    if depth == 0:
        raise scanner.error(f"parentheses and signs stand more than {DEPTH_LIMIT} deep")
    if scanner.take("-"):
        at = scanner.at - 1
        _read_factor(scanner, code, depth - 1)
        code.append(Token(NEGATE, at))
    elif scanner.take("("):
        _read_sum(scanner, code, depth - 1)
        scanner.expect(")", "after an expression")
    elif (digits := scanner.match(_NUMBER)) is not None:
        at = scanner.at - len(digits)
        code.append(Token(_read_number(scanner, digits, at), at))
    elif (name := scanner.match(_NAME)) is not None:
        code.append(Token(name, scanner.at - len(name), is_name=True))
    else:
        raise scanner.error(f"expected a whole number, a name or (, found {scanner.found()}")


def _read_number(scanner: Scanner, digits: str, at: int) -> int:
    value = 0
    if len(digits) <= DIGITS_LIMIT:
        value = int(digits, 16 if digits[1:2] in ("x", "X") else 10)
    if len(digits) > DIGITS_LIMIT or value > VALUE_LIMIT:
        raise scanner.error("a number does not fit 64 bits", at)
    return value
