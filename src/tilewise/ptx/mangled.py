"""C++ names of kernels: reads the mangled names of functions [Itanium C++ ABI, section 5.1] as far as kernels have such names.

A name is read into words as c++filt shows it. What no kernel's name needs (operators, expressions in template arguments, local
classes, pointers to members) is left as it stands: `demangle` then returns None.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

DEPTH_LIMIT = 64
"""Types within types."""
LENGTH_LIMIT = 4096
"""Characters of a mangled name, and of any part of what it stands for: substitutions can double at each step."""

_BUILTIN = {
    "v": "void",
    "w": "wchar_t",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "n": "__int128",
    "o": "unsigned __int128",
    "f": "float",
    "d": "double",
    "e": "long double",
    "g": "__float128",
    "z": "...",
    "Dn": "decltype(nullptr)",
    "Ds": "char16_t",
    "Di": "char32_t",
    "Du": "char8_t",
    "Dh": "half",
    "DF16b": "__bf16",
    "DF16_": "_Float16",
}
_SUFFIX = {"i": "", "j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
_POINTER = {"P": "*", "R": "&", "O": "&&"}
_QUALIFIER = {"K": " const", "V": " volatile", "r": " restrict"}
_STANDARD = {"St": "std", "Sa": "std::allocator", "Sb": "std::basic_string", "Ss": "std::string"}
_ANONYMOUS = re.compile(r"_GLOBAL__N_")
_NESTED = re.compile(r"_Z(?:N[rVK]*)?L?")
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's name with its namespaces and template arguments, and the types of its parameters."""

    name: str
    parameters: tuple[str, ...]

    @property
    def plain_name(self) -> str:
        """The name without template arguments at its end."""
        return self.name.partition("<")[0]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.parameters)})"


@functools.lru_cache(maxsize=4096)  # inlined functions are named at each of their instructions
def demangle(name: str) -> Signature | None:
    """Return what a mangled name says; None for a name that is not mangled or holds what is not read here."""
    if not name.startswith("_Z") or len(name) > LENGTH_LIMIT:
        return None
    try:
        return _Reader(name).read_function()
    except _Unread:
        return None


def shown_name(name: str) -> str:
    """Return a function's name with template arguments; without them where they are not read; what is not mangled as it is."""
    signature = demangle(name)
    if signature is not None:
        return signature.name
    begin = _NESTED.match(name)
    at, parts = begin.end() if begin else len(name), list[str]()
    while (length := _NUMBER.match(name, at)) is not None:
        at = length.end() + int(length.group())
        word = name[length.end() : at]
        parts.append("(anonymous namespace)" if _ANONYMOUS.match(word) else word)
    return "::".join(parts) or name


class _Unread(Exception):
    """Something that is not read here, or no mangled name at all."""


@dataclass(frozen=True, slots=True)
class _Type:
    """A type in words, split where a function's or an array's pointer star goes: left `*` right."""

    left: str
    right: str = ""

    def __str__(self) -> str:
        return self.left + self.right


class _Reader:
    """Reads one name from left to right, numbering what later parts may refer back to."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 2
        self.depth = 0
        self.substitutions: list[_Type] = []
        self.arguments: list[list[_Type]] = []
        """The template arguments of the function, a list each (a pack has several)."""

    def read_function(self) -> Signature:
        name, has_arguments = self._read_name()
        if self.at == len(self.text):
            raise _Unread  # a variable
        if has_arguments:
            self._read_type()  # of the result
        parameters = []
        while self.at < len(self.text):
            parameters += self._read_types()
        words = [str(type_) for type_ in parameters]
        return Signature(str(name), () if words == ["void"] else tuple(words))

    # -- text

    def _peek(self, mark: str) -> bool:
        return self.text.startswith(mark, self.at)

    def _take(self, mark: str) -> bool:
        found = self._peek(mark)
        self.at += len(mark) * found
        return found

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            raise _Unread

    def _read_number(self) -> int:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            raise _Unread
        self.at = found.end()
        return int(found.group())

    def _remember(self, type_: _Type) -> _Type:
        if len(type_.left) + len(type_.right) > LENGTH_LIMIT:
            raise _Unread
        self.substitutions.append(type_)
        return type_

    # -- names

    def _read_name(self) -> tuple[_Type, bool]:
        """Read a name; the second value says whether it ends in template arguments."""
        if self._take("N"):
            return self._read_nested()
        if self._peek("S") and not self._peek("St"):
            name = self._read_substitution()
            if not self._peek("I"):
                raise _Unread
        else:
            name = _Type(f"std::{self._read_source_name()}" if self._take("St") else self._read_source_name())
            if not self._peek("I"):
                return name, False
            self._remember(name)
        return _Type(name.left + self._read_template_arguments()), True

    def _read_nested(self) -> tuple[_Type, bool]:
        while self.text[self.at : self.at + 1] in _QUALIFIER:
            self.at += 1  # of a member function's this
        name, has_arguments = _Type(""), False
        while not self._take("E"):
            has_arguments = False
            if self._peek("S") and not name.left:
                name = _Type("std") if self._take("St") else self._read_substitution()
                continue
            if self._peek("T") and not name.left:
                name = self._read_single()
                continue
            if self._peek("I"):
                if not name.left:
                    raise _Unread
                name, has_arguments = _Type(name.left + self._read_template_arguments()), True
            else:
                part = self._read_source_name()
                name = _Type(f"{name.left}::{part}" if name.left else part)
            if not self._peek("E"):
                self._remember(name)
        if not name.left:
            raise _Unread
        return name, has_arguments

    def _read_source_name(self) -> str:
        self._take("L")  # of internal linkage
        length = self._read_number()
        word = self.text[self.at : self.at + length]
        if not length or len(word) < length:
            raise _Unread
        self.at += length
        return "(anonymous namespace)" if _ANONYMOUS.match(word) else word

    def _read_substitution(self) -> _Type:
        for short, words in _STANDARD.items():
            if self._take(short):
                return _Type(words)
        self._expect("S")
        digits = re.compile(r"([0-9A-Z]{0,4})_").match(self.text, self.at)
        if digits is None:
            raise _Unread
        self.at = digits.end()
        index = int(digits[1], 36) + 1 if digits[1] else 0
        if index >= len(self.substitutions):
            raise _Unread
        return self.substitutions[index]

    def _read_template_arguments(self) -> str:
        """Read <...> and keep them: T_ in what follows is the first of them."""
        self._expect("I")
        arguments: list[list[_Type]] = []
        while not self._take("E"):
            arguments.append(self._read_argument())
        self.arguments = arguments
        words = ", ".join(str(one) for argument in arguments for one in argument)
        if len(words) > LENGTH_LIMIT:
            raise _Unread
        return f"<{words}>"

    def _read_argument(self) -> list[_Type]:
        if self._take("J"):
            pack = []
            while not self._take("E"):
                pack += self._read_argument()
                if len(pack) > LENGTH_LIMIT:
                    raise _Unread
            return pack
        return [_Type(self._read_literal())] if self._take("L") else self._read_types()

    def _read_literal(self) -> str:
        code = self.text[self.at : self.at + 1]
        type_ = self._read_type()
        sign, number = "-" if self._take("n") else "", self._read_number()
        self._expect("E")
        if code == "b":
            return "true" if number else "false"
        return f"{sign}{number}{_SUFFIX[code]}" if code in _SUFFIX else f"({type_}){sign}{number}"

    # -- types

    def _read_types(self) -> list[_Type]:
        """Read a type, or an expanded pack of them."""
        if not self._take("Dp"):
            return [self._read_type()]
        pack = self._read_parameter()
        self._remember(_Type("pack"))
        return pack

    def _read_type(self) -> _Type:
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise _Unread
        type_ = self._read_one_type()
        self.depth -= 1
        return type_

    def _read_one_type(self) -> _Type:
        code = self.text[self.at : self.at + 1]
        for short, words in _BUILTIN.items():
            if self._take(short):
                return _Type(words)
        if code in _QUALIFIER:
            return self._remember(self._read_qualified())
        if code in _POINTER:
            self.at += 1
            return self._remember(_point(self._read_type(), _POINTER[code]))
        if code == "F":
            return self._remember(self._read_function_type())
        if self._take("A"):
            size = self._read_number()
            self._expect("_")
            element = self._read_type()
            return self._remember(_Type(element.left, f" [{size}]{element.right.lstrip()}"))
        if code == "T":
            return self._read_single()
        if code == "S" and not self._peek("St"):
            name = self._read_substitution()
            return self._remember(self._read_instance(name)) if self._peek("I") else name
        outer = self.arguments
        name, _ = self._read_name()
        self.arguments = outer
        return self._remember(name)

    def _read_instance(self, template: _Type) -> _Type:
        outer = self.arguments
        name = _Type(template.left + self._read_template_arguments())
        self.arguments = outer
        return name

    def _read_qualified(self) -> _Type:
        words = ""
        while (code := self.text[self.at : self.at + 1]) in _QUALIFIER:
            words = _QUALIFIER[code] + words
            self.at += 1
        type_ = self._read_type()
        return _Type(type_.left + words, type_.right)

    def _read_function_type(self) -> _Type:
        self._expect("F")
        result = self._read_type()
        parameters: list[_Type] = []
        while not self._take("E"):
            parameters += self._read_types()
        words = ", ".join(map(str, parameters))
        return _Type(result.left, f"({'' if words == 'void' else words}){result.right}")

    def _read_single(self) -> _Type:
        argument = self._read_parameter()
        if len(argument) != 1:
            raise _Unread
        return argument[0]

    def _read_parameter(self) -> list[_Type]:
        """Read T_, T0_ and so on: a template argument, or a pack of them."""
        self._expect("T")
        index = 0 if self._peek("_") else self._read_number() + 1
        self._expect("_")
        if index >= len(self.arguments):
            raise _Unread
        argument = self.arguments[index]
        self._remember(argument[0] if len(argument) == 1 else _Type("pack"))
        return argument


def _point(type_: _Type, mark: str) -> _Type:
    """A pointer or reference to a type; behind the name of a function's or an array's stands more."""
    if type_.right and not type_.right.startswith(")"):
        return _Type(f"{type_.left} ({mark}", f"){type_.right}")
    return _Type(type_.left + mark, type_.right)


_PART = re.compile(r"(_\$_\d+)+$")


def local_name(symbol: str) -> str:
    """Return the name of a variable within a function, such as tile for _ZZ2mmE4tile; any other symbol as it is.

    A part that the optimiser took out of a variable (_ZZ2mmE4tile_$_0) has the variable's name.
    """
    symbol = _PART.sub("", symbol)
    if not symbol.startswith("_ZZ"):
        return symbol
    for found in re.finditer(r"E(\d{1,4})", symbol):
        for digits in range(len(found[1]), 0, -1):
            start = found.start(1) + digits
            end = start + int(found[1][:digits])
            if symbol[end:] == "" or re.fullmatch(r"_\d+|__\d+_", symbol[end:]):
                return symbol[start:end]
    return symbol
