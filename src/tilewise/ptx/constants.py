"""Integer constant expressions, such as `4*(8+1)`: what inline assembly writes where a literal may stand."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\s*+(0[xX][0-9a-fA-F]{1,16}U?|0[bB][01]{1,64}U?|\d{1,20}U?|<<|>>|[-+*/%&|^~()])", re.ASCII)
_PRECEDENCE = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
_UNARY = 7
_LENGTH_LIMIT = 200


def evaluate(text: str) -> int | None:
    """Return the value of an integer constant expression (PTX ISA, "Constant Expressions"), None where `text` is none.

    Arithmetic is exact; a value that 64 bits do not hold, a division by zero and a shift by 64 or more give None.
    """
    text = text.rstrip()
    tokens: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or len(tokens) >= _LENGTH_LIMIT:
            return None
        tokens.append(found.group(1))
        at = found.end()
    return _reduce(tokens)


def _reduce(tokens: list[str]) -> int | None:
    """Evaluate by precedence with two stacks: values, and operators that wait for their right-hand side."""
    values: list[int] = []
    waiting: list[str] = []
    wants_value = True
    for token in tokens:
        if token == "(" and wants_value:
            waiting.append(token)
        elif token in ("-", "+", "~") and wants_value:
            waiting.append("unary" + token)
        elif token[0].isdigit() and wants_value:
            values.append(_literal(token))
            wants_value = False
        elif token == ")" and not wants_value:
            if not _apply_waiting(values, waiting, 0) or not waiting:
                return None
            waiting.pop()
        elif token in _PRECEDENCE and not wants_value:
            if not _apply_waiting(values, waiting, _PRECEDENCE[token]):
                return None
            waiting.append(token)
            wants_value = True
        else:
            return None
    if wants_value or not _apply_waiting(values, waiting, 0) or waiting:
        return None
    return values[0] if -(1 << 63) <= values[0] < 1 << 64 else None


def _literal(token: str) -> int:
    digits = token.rstrip("U").lower()
    if digits.startswith(("0x", "0b")):
        return int(digits, 0)
    return int(digits, 8 if digits[0] == "0" and not set(digits) & {"8", "9"} else 10)


def _apply_waiting(values: list[int], waiting: list[str], precedence: int) -> bool:
    """Apply the waiting operators that bind at least as tightly as `precedence`, back to an opening parenthesis."""
    while waiting and waiting[-1] != "(":
        operator = waiting[-1]
        if _PRECEDENCE.get(operator, _UNARY) < precedence:
            break
        waiting.pop()
        right = values.pop()
        value = _apply(operator, values.pop() if operator in _PRECEDENCE else 0, right)
        if value is None:
            return False
        values.append(value)
    return True


def _apply(operator: str, left: int, right: int) -> int | None:
    if (operator in ("/", "%") and right == 0) or (operator in ("<<", ">>") and not 0 <= right < 64):
        return None
    match operator:
        case "|":
            return left | right
        case "^":
            return left ^ right
        case "&":
            return left & right
        case "<<":
            return left << right
        case ">>":
            return left >> right
        case "+" | "unary+":
            return left + right
        case "-" | "unary-":
            return left - right
        case "*":
            return left * right
        case "~" | "unary~":
            return ~right
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    return quotient if operator == "/" else left - quotient * right
