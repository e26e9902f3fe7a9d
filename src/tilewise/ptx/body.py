"""What stands between a function's braces -> instructions and labels, with unique names and source positions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from tilewise.core.errors import TilewiseError, nearest
from tilewise.ptx.ast import Guard, Instruction, Label, Operand, Position, Prototype, Symbol, Variable
from tilewise.ptx.cursor import Cursor, ptx_error
from tilewise.ptx.declarations import TYPE_BYTES, read_declaration, read_parameters
from tilewise.ptx.lines import LineTable
from tilewise.ptx.operands import read_call, read_operand, read_operands, split_list
from tilewise.ptx.scope import DEPTH_LIMIT, REGISTER_LIMIT, Scope, register_names

_STATEMENT = re.compile(
    r"""\s*+(?:
    (?P<instruction>(?:@(!?)\s*+(%?[\w$]++)\s*+)?([a-z][\w.]*+(?:::[\w.]++)*)([^;:]*+);)
    | (?P<loc>\.loc\s++(?P<file>\d{1,9})\s++(?P<line>\d{1,9})(?:\s++(?P<column>\d{1,9}))?
        (?:\s*+,\s*+function_name\s++(?P<function>[\w$.]++)(?:\s*+\+\s*+(?P<offset>\d{1,9}))?)?
        (?:\s*+,\s*+inlined_at\s++(?P<at_file>\d{1,9})\s++(?P<at_line>\d{1,9})\s++(?P<at_column>\d{1,9}))?)
    | (?P<table>(?P<table_name>[A-Za-z_$%][\w$]*+)\s*+:\s*+
        \.(?P<table_kind>branchtargets|callprototype|calltargets)\b(?P<table_text>[^;]*+);)
    | (?P<label>(?P<label_name>[A-Za-z_$%][\w$]*+)\s*+:(?!:))
    | (?P<scope>[{}])
    | (?P<pragma>\.pragma\s++"[^"\n]*+"\s*+;)
    | (?P<reg>\.reg\s++(?:\.(?P<reg_vector>v[24])\s*+)?\.(?P<reg_type>\w++)(?P<reg_names>[^;]*+);)
    | (?P<variable>\.[^;]*+;)
    )""",
    re.VERBOSE | re.ASCII,
)
_PROTOTYPE = re.compile(r"\s*+(?:\(([^()]*+)\))?\s*+[\w$]++\s*+\(([^()]*+)\)(?:\s*+\.\w++(?:\s++\d++)?)*\s*+\Z", re.ASCII)


@dataclass(slots=True)
class Body:
    """A function's body, being read or whole."""

    items: list[Instruction | Label] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, Prototype] = field(default_factory=dict)
    position: Position | None = None


def read_body(cursor: Cursor, lines: LineTable, module: Scope, parameters: tuple[Variable, ...], register_limit: int) -> Body:
    """Read from behind a function's opening brace to behind its closing one.

    `module` holds the names of the module's variables and functions; the function may declare `register_limit` registers. Raises
    TilewiseError for what is not understood.
    """
    reader = _BodyReader(cursor, lines, Scope(0, module), register_limit)
    for parameter in parameters:
        reader.declare_parameter(parameter)
    reader.read()
    return reader.body


class _BodyReader:
    """The state of reading one body."""

    def __init__(self, cursor: Cursor, lines: LineTable, scope: Scope, register_limit: int) -> None:
        self.body = Body()
        self._cursor = cursor
        self._lines = lines
        self._outermost = self._scope = scope
        self._scopes = 1
        self._register_limit = register_limit
        self._position: Position | None = None
        self._branches: list[tuple[int, Scope]] = []
        self._targets: list[tuple[str, list[str], Scope, int]] = []
        lines.enter_function()

    def declare_parameter(self, parameter: Variable) -> None:
        """Make a parameter's name known; one in a register becomes a register of the body."""
        if parameter.space == "reg":
            self.body.registers[self._scope.declare_register(parameter.name).name] = parameter.type
        else:
            self._scope.declare_symbol(parameter.name)

    def read(self) -> None:
        """Read statements up to the brace that closes the function."""
        cursor = self._cursor
        text, match = cursor.text, _STATEMENT.match
        while True:
            found = match(text, cursor.at)
            if found is None:
                cursor.skip_space()
                raise cursor.error(f"{cursor.snippet(cursor.at)} is no statement (or the function's `}}` is missing)")
            kind = found.lastgroup
            cursor.at = found.end()
            if kind == "instruction":
                self._add_instruction(found)
            elif kind == "loc":
                self._move(found)
            elif kind == "scope":
                if not self._change_scope(found.group("scope")):
                    break
            elif kind != "pragma":
                self._declare(kind or "", found)
        self._resolve_branches()
        self._resolve_targets()

    def _add_instruction(self, found: re.Match[str]) -> None:
        _, negated, guard_name, opcode, text = found.group(1, 2, 3, 4, 5)
        line = self._cursor.line_at(found.start(1))
        scope = self._scope
        guard = None
        if guard_name is not None:
            register = scope.register(guard_name)
            if register is None:
                raise ptx_error(f"the register {guard_name} is not declared", line)
            guard = Guard(register.name, negated == "!")
        operands: tuple[Operand, ...] | None
        if not text or text.isspace():
            operands = ()
        elif opcode.startswith("bra") and opcode[3:4] in (".", ""):
            operands = (Symbol(text.strip()),)
            self._branches.append((len(self.body.items), scope))
        elif opcode.startswith("call"):
            operands = read_call(text, scope)
        else:
            operands = read_operands(text, scope)
        if operands is None:
            raise _operand_error(opcode, text, scope, line)
        self.body.items.append(Instruction(opcode, operands, guard, self._position, line))

    def _move(self, found: re.Match[str]) -> None:
        file, line, column, name, offset = found.group("file", "line", "column", "function", "offset")
        if int(line) == 0:
            return
        at_file, at_line, at_column = found.group("at_file", "at_line", "at_column")
        function = None if name is None else (name, int(offset or 0))
        inlined_at = None if at_file is None else (int(at_file), int(at_line), int(at_column))
        self._position = self._lines.position((int(file), int(line), int(column or 0)), function, inlined_at)
        if self.body.position is None:
            self.body.position = self._position

    def _change_scope(self, brace: str) -> bool:
        """Enter or leave a scope; False when the function's own is left."""
        if brace == "{":
            if self._scope.depth >= DEPTH_LIMIT:
                raise self._cursor.error(f"scopes are nested more than {DEPTH_LIMIT} deep")
            self._scope = Scope(self._scopes, self._scope)
            self._scopes += 1
            return True
        if self._scope is self._outermost or self._scope.parent is None:
            return False
        self._scope = self._scope.parent
        return True

    def _declare(self, kind: str, found: re.Match[str]) -> None:
        line = self._cursor.line_at(found.start(kind))
        if kind == "label":
            self._declare_label(found["label_name"], line)
        elif kind == "table":
            self._declare_table(found["table_name"], found["table_kind"], found["table_text"], line)
        elif kind == "reg":
            self._declare_registers(found["reg_vector"], found["reg_type"], found["reg_names"], line)
        else:
            for variable in read_declaration(found[kind][:-1], line):
                self.body.variables.append(replace(variable, name=self._scope.declare_symbol(variable.name)))

    def _declare_label(self, name: str, line: int) -> None:
        if name in self._scope.labels:
            raise ptx_error(f"the label {name} stands twice in one scope", line)
        unique = self._scope.labels[name] = self._scope.unique(name)
        self.body.items.append(Label(unique))

    def _declare_table(self, name: str, kind: str, text: str, line: int) -> None:
        unique = self._scope.declare_symbol(name)
        if kind == "branchtargets":
            self._targets.append((unique, [label.strip() for label in text.split(",")], self._scope, line))
            return
        if kind == "calltargets":  # says which functions an indirect call may reach; the address says which it does
            return
        found = _PROTOTYPE.match(text)
        if found is None:
            raise ptx_error(f".callprototype{text[:80]!r} is not understood", line)
        returns, parameters = (read_parameters(part or "", line) for part in found.groups())
        self.body.prototypes[unique] = Prototype(parameters, returns)

    def _declare_registers(self, vector: str | None, type: str, names: str, line: int) -> None:
        if type not in TYPE_BYTES:
            raise ptx_error(f".{type} is no register type.{nearest(type, TYPE_BYTES)}", line)
        found = register_names(names, self._register_limit - len(self.body.registers))
        if found is None:
            raise ptx_error(
                f".reg{names[:80]!r} is no list of registers, or makes more than {REGISTER_LIMIT} in the module", line
            )
        for name in found:
            if name in self._scope.registers:
                raise ptx_error(f"the register {name} is declared twice in one scope", line)
            self.body.registers[self._scope.declare_register(name).name] = f"{vector}.{type}" if vector else type

    def _resolve_branches(self) -> None:
        """Give each branch its label's unique name: only now are all labels known."""
        items = self.body.items
        for index, scope in self._branches:
            branch = items[index]
            assert isinstance(branch, Instruction)
            (target,) = branch.operands
            assert isinstance(target, Symbol)
            label = scope.label(target.name)
            if label is None:
                raise ptx_error(f"{branch.opcode} goes to {target.name[:80]!r}, which is no label here", branch.ptx_line)
            if label != target.name:
                items[index] = replace(branch, operands=(Symbol(label),))

    def _resolve_targets(self) -> None:
        for name, labels, scope, line in self._targets:
            found = [scope.label(label) for label in labels]
            if None in found:
                raise ptx_error(f".branchtargets names {labels[found.index(None)][:80]!r}, which is no label here", line)
            self.body.branch_targets[name] = tuple(label for label in found if label is not None)


def _operand_error(opcode: str, text: str, scope: Scope, line: int) -> TilewiseError:
    """Return an error that quotes the first operand that cannot be read, and the instruction."""
    instruction = " ".join(f"{opcode} {text}"[:200].split())
    for piece in split_list(text) or []:
        if piece.strip()[:1] not in ("{", "(") and read_operand(piece.strip(), scope) is None:
            name = " ".join(piece[:80].split())
            return ptx_error(f"the operand {name!r} is not understood or names nothing declared, in {instruction!r}", line)
    return ptx_error(f"the operands of {instruction!r} are not understood", line)
