"""The opcode table: one entry an instruction form."""

from tilewise.emu.isa import arith, asynchronous, convert, flow, memory
from tilewise.emu.isa.spec import FORMS, Form, find_form, known_spellings

__all__ = ["FORMS", "Form", "arith", "asynchronous", "convert", "find_form", "flow", "known_spellings", "memory"]
