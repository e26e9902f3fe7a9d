"""Findings in code without source lines, such as CUDA's own functions in a build for debuggers, at the lines that call it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.ptx.ast import Function, Instruction, Symbol
from tilewise.ptx.origins import place_at


class CallSites:
    """Who calls which function of a module."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self._function_of: dict[int, str] = {}
        self._calls: dict[str, list[Instruction]] = {}
        for function in functions:
            for item in function.body:
                if not isinstance(item, Instruction):
                    continue
                self._function_of[item.ptx_line] = function.name
                if item.opcode.startswith("call"):
                    for operand in item.operands:
                        if isinstance(operand, Symbol):
                            self._calls.setdefault(operand.name, []).append(item)

    def place(self, finding: Finding) -> tuple[Finding, bool]:
        """Return a finding with each place outside of all sources put at what calls it, and whether several calls may be meant.

        Where nothing with a source line calls it, the place stays.
        """
        lines: list[Place] = []
        is_vague = False
        for place in finding.lines:
            found = [place] if place.file else list(dict.fromkeys(self._callers(place.line, frozenset()))) or [place]
            is_vague = is_vague or len(found) > 1
            lines += found
        return replace(finding, lines=tuple(lines)), is_vague

    def _callers(self, ptx_line: int, seen: frozenset[str]) -> Iterator[Place]:
        name = self._function_of.get(ptx_line, "")
        if name in seen:
            return
        for call in self._calls.get(name, ()):
            if call.position is not None:
                yield place_at(call.position)
            else:
                yield from self._callers(call.ptx_line, seen | {name})
