"""The mini-language of the opcode table: an instruction's form is the manual's syntax line and an emitter of a few lines.

A syntax line reads `opcode operands`. In the opcode, `.CAPITALS` is a modifier with a list of choices (a keyword argument of
decorator, passed to the emitter in lower case), `{.CAPITALS}` may be absent (passed as ""), `.word` stands for itself and
`{.word}` is a flag (passed as its text or ""). An operand is `name` (of the type that TYPE chose) or `name:type` with a type,
the name of a modifier, or `wide(TYPE)`, which is twice as wide; `d` and `p` are results. `[a]` is an address. Nothing is ignored
in silence: a modifier without effect is listed in its form.

Kinds of form: `op` (values in, values out; the framework masks and commits), `access` (only describes an access) and `control`
(ends a basic block). Lookup is total: one form, or an UnsupportedInstruction.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
INTEGERS = UNSIGNED + SIGNED
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")

LLVM_TYPES = {
    "pred": "i1",
    **{f"{letter}{bits}": f"i{bits}" for letter in "bus" for bits in (8, 16, 32, 64)},
    "f32": "float",
    "f64": "double",
}
"""The LLVM type that holds each PTX type."""

BYTES = {"pred": 1, **{f"{letter}{bits}": bits // 8 for letter in "busf" for bits in (8, 16, 32, 64)}}
"""Bytes in memory, by PTX type."""

Choices = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One operand of a syntax line."""

    name: str
    type: str
    """A PTX type, the name of a modifier, or wide(modifier)."""
    is_address: bool = False

    def resolve(self, modifiers: dict[str, str]) -> str:
        """The PTX type for one spelling of the opcode."""
        if self.type.startswith("wide("):
            narrow = modifiers[self.type[5:-1].lower()]
            return narrow[0] + str(2 * int(narrow[1:]))
        return modifiers.get(self.type.lower(), self.type) if self.type.isupper() else self.type


@dataclass(frozen=True, slots=True)
class Form:
    """One instruction form of the table."""

    syntax: str
    kind: str
    """op, warp_op, access or control."""
    pattern: re.Pattern[str]
    flags: tuple[str, ...]
    choices: dict[str, Choices] = field(repr=False)
    optional: frozenset[str]
    operands: tuple[OperandSpec, ...]
    emit: Callable[..., object] = field(repr=False)
    counts_fma: bool = False

    def match(self, opcode: str) -> dict[str, str] | None:
        """The modifiers of `opcode` if this form spells it: flags as "" or their text."""
        found = self.pattern.fullmatch(opcode)
        return {name: text or "" for name, text in found.groupdict().items()} if found else None

    def spellings(self) -> Iterator[str]:
        """Every opcode this form takes."""
        parts = [
            [f".{choice}" for choice in self.choices[token.strip("{.}")]] + ([""] if token.startswith("{") else [])
            if token.strip("{.}").isupper()
            else (["", token[1:-1]] if token.startswith("{") else [token])
            for token in _TOKEN.findall(self.syntax.split(" ")[0])
        ]
        return map("".join, itertools.product(*parts))


FORMS: dict[str, list[Form]] = {}
"""The registry: forms by mnemonic (the opcode up to its first dot)."""

_TOKEN = re.compile(r"\{\.[\w:]+\}|\.?[\w:]+")


def op(
    syntax: str, *, counts_fma: bool = False, **choices: str | Choices
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register a form: values in, values out."""
    return _register(syntax, "op", choices, counts_fma)


def access(syntax: str, **choices: str | Choices) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register a memory access: the emitter only describes it."""
    return _register(syntax, "access", choices)


def control(syntax: str, **choices: str | Choices) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Register an instruction that ends a basic block."""
    return _register(syntax, "control", choices)


def _register(
    syntax: str, kind: str, choices: dict[str, str | Choices], counts_fma: bool = False
) -> Callable[[Callable[..., object]], Callable[..., object]]:
    listed = {name: tuple(value.split()) if isinstance(value, str) else value for name, value in choices.items()}

    def register(emit: Callable[..., object]) -> Callable[..., object]:
        form = _parse_form(syntax, kind, listed, emit, counts_fma)
        FORMS.setdefault(syntax.split(" ")[0].split(".")[0].split("{")[0], []).append(form)
        return emit

    return register


def _parse_form(syntax: str, kind: str, choices: dict[str, Choices], emit: Callable[..., object], counts_fma: bool) -> Form:
    head, _, tail = syntax.partition(" ")
    pattern, flags, optional = "", [], set()
    for token in _TOKEN.findall(head):
        name = token.strip("{.}")
        if name.isupper():
            group = f"(?:\\.(?P<{name.lower()}>{'|'.join(map(re.escape, choices[name]))}))"
            pattern += group + ("?" if token.startswith("{") else "")
            if token.startswith("{"):
                optional.add(name)
        elif token.startswith("{"):
            flags.append(name)
            pattern += f"(?P<{name.replace('::', '_')}>{re.escape('.' + name)})?"
        else:
            pattern += re.escape(token)
    operands = tuple(_parse_operand(text.strip()) for text in tail.split(",") if text.strip())
    return Form(syntax, kind, re.compile(pattern), tuple(flags), choices, frozenset(optional), operands, emit, counts_fma)


def _parse_operand(text: str) -> OperandSpec:
    name, _, type_ = text.strip("[]").partition(":")
    return OperandSpec(name, type_ or "TYPE", text.startswith("["))


@functools.cache
def find_form(opcode: str) -> tuple[Form, dict[str, str]] | None:
    """The one form that spells `opcode`, with its modifiers; None where there is none."""
    for form in FORMS.get(opcode.partition(".")[0], ()):
        modifiers = form.match(opcode)
        if modifiers is not None:
            return form, modifiers
    return None


def known_spellings(mnemonic: str) -> list[str]:
    """The syntax lines there are for a mnemonic, to end an error message with."""
    return [form.syntax.split(" ")[0] for form in FORMS.get(mnemonic, ())]
