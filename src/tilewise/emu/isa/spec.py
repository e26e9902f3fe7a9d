"""The mini-language of the opcode table: an instruction's form is the manual's syntax line and an emitter of a few lines.

A syntax line reads `opcode operands`. In the opcode, `.CAPITALS` is a modifier with a list of choices (given as a keyword
argument of the decorator), `{.CAPITALS}` may be absent, `.word` stands for itself and `{.word}` is a flag. An operand is `name`
or `name:type`, with a type or the name of a modifier in it; `wide(TYPE)` is twice as wide; without a type it has the one that
TYPE chose, or the opcode's last part where there is no TYPE. `d` and `p` are results; `p|q` and `d|p` (as `d|p:b32|pred`, a
type each) are results that may be pairs. `[a]` is an address. `{, c}` at the end may be absent (the emitter then gets no
value).

The emitter takes the modifiers that it names as keyword arguments, in lower case: a choice or a flag's text, "" where absent.
Nothing is silently ignored: a modifier that neither the emitter nor an operand's type takes is listed in `no_effect`, or the
entry is refused. The operands of an emitter that takes `dsel` may be bytes or halves of registers (%r1.b0, %r2.h1): sources
arrive extended by their types' signs, and `dsel` is the part of d that is written, "" for all of it.

Five kinds of form: `op` (values in, values out; the framework masks and commits), `warp_op` (also sees the mask), `access`
(only describes an access), `control` and, without effect, `hint`. Lookup is total: one form, or an UnsupportedInstruction. An
operand `member` names the lanes of the warp that must come together.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

SIGNED = ("s16", "s32", "s64")
UNSIGNED = ("u16", "u32", "u64")
INTEGERS = UNSIGNED + SIGNED
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")

LLVM_TYPES = {
    "pred": "i1",
    **{f"{letter}{bits}": f"i{bits}" for letter in "bus" for bits in (8, 16, 32, 64)},
    "f16": "i16",
    "bf16": "i16",
    "f16x2": "i32",
    "bf16x2": "i32",
    "u16x2": "i32",
    "s16x2": "i32",
    "f32x2": "i64",
    "tf32": "i32",
    "f32": "float",
    "f64": "double",
    "b128": "i128",
}
"""The LLVM type that holds each PTX type. Half types are held as their bits: LLVM's own have holes on processors without them."""

BYTES = {
    "pred": 1,
    **{f"{letter}{bits}": bits // 8 for letter in "busf" for bits in (8, 16, 32, 64)},
    "bf16": 2,
    "f16x2": 4,
    "bf16x2": 4,
    "b128": 16,
}
"""Bytes in memory, by PTX type."""

Choices = tuple[str, ...]
PART = "dsel"
"""The keyword that tells an emitter which part of d is written."""
PARTS = {**{f"b{index}": (8 * index, 8) for index in range(4)}, "h0": (0, 16), "h1": (16, 16)}
"""First bit and number of bits of the parts of a register."""


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """One operand of a syntax line."""

    name: str
    type: str
    """A PTX type, the name of a modifier, or wide(either); of a pair two, a|b."""
    is_address: bool = False
    is_optional: bool = False

    @property
    def is_result(self) -> bool:
        """Whether the instruction writes it."""
        return self.name in ("d", "p", "p|q", "d|p")

    def resolve(self, modifiers: dict[str, str], part: int = 0) -> str:
        """The PTX type for one spelling of the opcode; of a pair, that of its first or second part."""
        type_ = self.type.split("|")[part] if "|" in self.type else self.type
        if type_.startswith("wide("):
            narrow = type_[5:-1]
            narrow = modifiers[narrow.lower()] if narrow.isupper() else narrow
            return narrow[0] + str(2 * int(narrow[1:]))
        return modifiers.get(type_.lower(), type_) if type_.isupper() else type_


@dataclass(frozen=True, slots=True)
class Form:
    """One instruction form of the table."""

    syntax: str
    kind: str
    """op, warp_op, access, control or hint."""
    pattern: re.Pattern[str]
    flags: tuple[str, ...]
    choices: dict[str, Choices] = field(repr=False)
    optional: frozenset[str]
    operands: tuple[OperandSpec, ...]
    emitter: Callable[..., object] = field(repr=False)
    keywords: tuple[str, ...]
    """The modifiers that the emitter takes."""
    counts_fma: bool = False
    carry: str = ""
    """What it does to the carry flag: "in" (the emitter's last value), "out" (its last result), "in out" or nothing."""

    def emit(self, *arguments: object, **modifiers: str) -> object:
        """Call the emitter with values and with those of the modifiers that it takes."""
        return self.emitter(*arguments, **{name: modifiers[name] for name in self.keywords})

    @property
    def takes_parts(self) -> bool:
        """Whether operands may be parts of registers."""
        return PART in self.keywords

    @property
    def meets(self) -> bool:
        """Whether the lanes that it names must come together."""
        return any(operand.name == "member" for operand in self.operands)

    @property
    def least_operands(self) -> int:
        """How many operands there must be."""
        return sum(not operand.is_optional for operand in self.operands)

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

Emitter = TypeVar("Emitter", bound=Callable[..., object])


def op(
    syntax: str, *, no_effect: str = "", counts_fma: bool = False, carry: str = "", **choices: str | Choices
) -> Callable[[Emitter], Emitter]:
    """Register a form: values in, values out (a tuple for a pair, and where the carry flag is one of them)."""
    return _register(syntax, "op", choices, no_effect, counts_fma, carry)


def warp_op(syntax: str, *, no_effect: str = "", **choices: str | Choices) -> Callable[[Emitter], Emitter]:
    """Register a form in which lanes see each other: the emitter's first argument is an emu.across.Warp."""
    return _register(syntax, "warp_op", choices, no_effect)


def access(syntax: str, *, no_effect: str = "", **choices: str | Choices) -> Callable[[Emitter], Emitter]:
    """Register a memory access: the emitter only describes it."""
    return _register(syntax, "access", choices, no_effect)


def control(syntax: str, *, no_effect: str = "", **choices: str | Choices) -> Callable[[Emitter], Emitter]:
    """Register an instruction that ends a basic block."""
    return _register(syntax, "control", choices, no_effect)


def hint(syntax: str, *, no_effect: str = "", **choices: str | Choices) -> Callable[[Emitter], Emitter]:
    """Register an instruction that changes neither values nor counts: its operands are not even read."""
    return _register(syntax, "hint", choices, no_effect)


def _register(
    syntax: str, kind: str, choices: dict[str, str | Choices], no_effect: str, counts_fma: bool = False, carry: str = ""
) -> Callable[[Emitter], Emitter]:
    def register(emitter: Emitter) -> Emitter:
        form = parse_form(syntax, kind, choices, emitter, counts_fma, carry)
        _refuse_ignored(form, no_effect.split())
        FORMS.setdefault(syntax.split(" ")[0].split(".")[0].split("{")[0], []).append(form)
        return emitter

    return register


def parse_form(
    syntax: str,
    kind: str,
    choices: Mapping[str, str | Choices],
    emitter: Callable[..., object],
    counts_fma: bool = False,
    carry: str = "",
) -> Form:
    """Return the form of a syntax line, without registering it."""
    listed = {name: tuple(value.split()) if isinstance(value, str) else value for name, value in choices.items()}
    head, _, tail = syntax.partition(" ")
    pattern, flags, optional = "", [], set()
    for token in _TOKEN.findall(head):
        name = token.strip("{.}")
        if name.isupper():
            group = f"(?:\\.(?P<{name.lower()}>{'|'.join(map(re.escape, listed[name]))}))"
            pattern += group + ("?" if token.startswith("{") else "")
            if token.startswith("{"):
                optional.add(name)
        elif token.startswith("{"):
            flags.append(name)
            pattern += f"(?P<{name.replace('::', '_')}>{re.escape('.' + name)})?"
        else:
            pattern += re.escape(token)
    default = "TYPE" if "TYPE" in listed else head.rpartition(".")[2]
    operands = tuple(_parse_operand(text, default) for text in tail.replace("{,", ",{").replace("}", "").split(",") if text)
    code = emitter.__code__
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return Form(
        syntax,
        kind,
        re.compile(pattern),
        tuple(flags),
        listed,
        frozenset(optional),
        operands,
        emitter,
        keywords,
        counts_fma,
        carry,
    )


def _parse_operand(text: str, default: str) -> OperandSpec:
    is_optional, is_address = "{" in text, "[" in text
    name, _, type_ = text.strip(" {[]").partition(":")
    return OperandSpec(name, type_ or default, is_address, is_optional)


def _refuse_ignored(form: Form, no_effect: list[str]) -> None:
    """Refuse an entry with a modifier that changes nothing and does not say so."""
    typing = {part.lower() for operand in form.operands for part in re.findall(r"\w+", operand.type)}
    modifiers = {name.lower() for name in form.choices} | {flag.replace("::", "_") for flag in form.flags}
    if ignored := modifiers - typing - set(form.keywords) - set(no_effect):
        raise TypeError(f"{form.syntax}: {', '.join(sorted(ignored))} changes nothing and is not listed in no_effect")
    if unknown := set(form.keywords) - modifiers - {PART}:
        raise TypeError(f"{form.syntax}: the emitter wants {', '.join(sorted(unknown))}, no modifier of this form")


@functools.cache
def find_form(opcode: str, operands: int | None = None) -> tuple[Form, dict[str, str]] | None:
    """The one form that spells `opcode` and takes so many operands (None: any), with its modifiers; None where there is none."""
    for form in FORMS.get(opcode.partition(".")[0], ()):
        if operands is not None and not form.least_operands <= operands <= len(form.operands):
            continue
        modifiers = form.match(opcode)
        if modifiers is not None:
            return form, modifiers
    return None


def known_spellings(mnemonic: str) -> list[str]:
    """The syntax lines there are for a mnemonic, to end an error message with."""
    return [form.syntax.split(" ")[0] for form in FORMS.get(mnemonic, ())]
