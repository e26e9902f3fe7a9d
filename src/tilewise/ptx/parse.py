"""PTX text -> PtxModule: module-level directives and functions' headings. body.py reads what stands between their braces."""

from __future__ import annotations

import re

from tilewise.core.errors import nearest
from tilewise.ptx.ast import Function, Prototype, PtxModule, Variable
from tilewise.ptx.body import read_body
from tilewise.ptx.cursor import Cursor, without_comments
from tilewise.ptx.declarations import LINKAGE, read_declaration, read_parameters
from tilewise.ptx.lines import LineTable, read_line_table
from tilewise.ptx.scope import REGISTER_LIMIT, Scope

_VERSION = re.compile(r"\.version\s++(\d{1,4})\.(\d{1,4})", re.ASCII)
_TARGET = re.compile(r"\.target\s++(\w++)(?:\s*+,\s*+\w++)*", re.ASCII)
_ADDRESS_SIZE = re.compile(r"\.address_size\s++(\d{1,4})", re.ASCII)
_FILE = re.compile(r'\.file\s++\d{1,9}\s++"(?:[^"\\\n]++|\\.)*"(?:\s*+,\s*+\d{1,20}){0,2}', re.ASCII)
_SECTION = re.compile(r"\.section\s++[\w.$]++\s*+\{[^{}]*+\}", re.ASCII)
_PRAGMA = re.compile(r'\.pragma\s++"[^"\n]*+"\s*+;')
_WORD = re.compile(r"\.([A-Za-z]\w*+)", re.ASCII)
_HEADING = re.compile(
    r"(?:\.(?:extern|visible|weak|common)\s++)*\.(entry|func)\b(?:\s*+\.attribute\s*+\((?:[^()]++|\([^()]*+\))*\))?", re.ASCII
)
_PARENTHESES = re.compile(r"\(([^()]*+)\)")
_NAME = re.compile(r"[A-Za-z_$%][\w$]*+", re.ASCII)
_DIRECTIVE = re.compile(r"\.([a-z]\w*+)((?:\s*+,?+\s*+\d{1,9}\b){0,3})", re.ASCII)
_BRACE_OR_END = re.compile(r"[{;]")
_DECLARATION = re.compile(r"\.[^;]*+;")

_SPACES = ("global", "const", "shared", "tex")
_FUNCTION_DIRECTIVES = frozenset(
    [
        *("maxntid", "reqntid", "minnctapersm", "maxnctapersm", "maxnreg", "noreturn"),
        *("explicitcluster", "reqnctapercluster", "maxclusterrank", "blocksareclusters"),
        *("abi_preserve", "abi_preserve_control"),
    ]
)
"""PTX ISA 9, "Performance-Tuning Directives", "Cluster Dimension Directives" and ".func"."""


def parse(text: str) -> PtxModule:
    """Return the syntax tree of a PTX module.

    Positions come from `.loc`; one with line 0 (the compiler's word for "no source line") leaves the position as it was.
    `.pragma` and debug sections leave no trace. Raises TilewiseError, naming the PTX line and the text, where it cannot be read.
    """
    return _ModuleReader(without_comments(text)).read()


class _ModuleReader:
    """The state of reading one module."""

    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self._lines: LineTable = read_line_table(text)
        self._scope = Scope(0, None)
        self._version = (0, 0)
        self._target = ""
        self._address_size = 64
        self._variables: list[Variable] = []
        self._functions: dict[str, Function] = {}
        self._register_room = REGISTER_LIMIT
        self._declarations: dict[str, Prototype] = {}

    def read(self) -> PtxModule:
        cursor = self._cursor
        found = cursor.expect(_VERSION, "`.version` at the start of a PTX module")
        self._version = (int(found.group(1)), int(found.group(2)))
        cursor.skip_space()
        while cursor.at < len(cursor.text):
            self._read_item()
            cursor.skip_space()
        if not self._target:
            raise cursor.error("the module has no `.target`")
        return PtxModule(
            version=self._version,
            target=self._target,
            address_size=self._address_size,
            files=self._lines.files,
            variables=tuple(self._variables),
            functions=tuple(self._functions.values()),
            declarations={name: prototype for name, prototype in self._declarations.items() if name not in self._functions},
        )

    def _read_item(self) -> None:
        cursor = self._cursor
        if found := cursor.match(_HEADING):
            self._read_function(found.group(1) == "entry")
            return
        if found := cursor.match(_TARGET):
            self._target = found.group(1)
            return
        if found := cursor.match(_ADDRESS_SIZE):
            self._address_size = int(found.group(1))
            return
        if cursor.match(_FILE) or cursor.match(_SECTION) or cursor.match(_PRAGMA):
            return
        self._read_variables()

    def _read_variables(self) -> None:
        cursor = self._cursor
        word = _WORD.match(cursor.text, cursor.at)
        if word is None:
            raise cursor.error(f"expected a directive, found {cursor.snippet(cursor.at)}")
        if word.group(1) not in _SPACES and word.group(1) not in LINKAGE:
            known = (*_SPACES, "entry", "func", "file", "section", "target")
            raise cursor.error(f"{cursor.snippet(cursor.at)} is no directive known here.{nearest(word.group(1), known)}")
        line = cursor.line_at(cursor.at)
        found = cursor.expect(_DECLARATION, "a declaration that ends with a semicolon")
        for variable in read_declaration(found.group()[:-1], line):
            self._scope.declare_symbol(variable.name)
            self._variables.append(variable)

    def _read_function(self, is_entry: bool) -> None:
        cursor = self._cursor
        directives = self._read_directives()
        returns = self._read_parameters()
        name = cursor.expect(_NAME, "a function's name").group()
        parameters = self._read_parameters()
        directives |= self._read_directives()
        self._scope.declare_symbol(name)
        if cursor.expect(_BRACE_OR_END, "`{` or `;` after a function's heading").group() == ";":
            self._declarations[name] = Prototype(parameters, returns)
            return
        if name in self._functions:
            raise cursor.error(f"the function {name} is defined twice")
        body = read_body(cursor, self._lines, self._scope, (*returns, *parameters), self._register_room)
        self._register_room -= len(body.registers)
        self._functions[name] = Function(
            name=name,
            is_entry=is_entry,
            parameters=parameters,
            returns=returns,
            registers=body.registers,
            variables=tuple(body.variables),
            body=tuple(body.items),
            directives=directives,
            position=body.position,
            branch_targets=body.branch_targets,
            prototypes=body.prototypes,
        )

    def _read_parameters(self) -> tuple[Variable, ...]:
        line = self._cursor.line_at(self._cursor.at)
        found = self._cursor.match(_PARENTHESES)
        return read_parameters(found.group(1), line) if found else ()

    def _read_directives(self) -> dict[str, tuple[int, ...]]:
        cursor = self._cursor
        directives: dict[str, tuple[int, ...]] = {}
        while True:
            if cursor.match(_PRAGMA):
                continue
            found = cursor.match(_DIRECTIVE)
            if found is None:
                return directives
            name, numbers = found.groups()
            if name not in _FUNCTION_DIRECTIVES:
                raise cursor.error(f".{name} is no directive of a function.{nearest(name, _FUNCTION_DIRECTIVES)}")
            sizes = tuple(int(number) for number in re.findall(r"\d+", numbers))
            takes_three = name in ("maxntid", "reqntid", "reqnctapercluster")
            directives[name] = (*sizes, 1, 1)[:3] if takes_three and sizes else sizes
