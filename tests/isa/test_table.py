"""The opcode table as a whole: every form has its row, no spelling two forms, no modifier goes unheard."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from row import ROWS
from rows import load_rows

from tilewise.emu.isa.spec import FORMS, Form, find_form, op, parse_form

load_rows()
TRIED_ELSEWHERE = {"mov.b128", "Pass.TYPE"}
"""Rows hold 64 bits at most; the second is the emulator's own."""
OPERATIONS = [
    form for forms in FORMS.values() for form in forms if form.kind == "op" and form.syntax.split(" ")[0] not in TRIED_ELSEWHERE
]


def spelled(form: Form) -> list[tuple[str, int]]:
    """Every opcode of a form with each number of operands that it takes."""
    counts = range(form.least_operands, len(form.operands) + 1)
    return [(opcode, count) for opcode in form.spellings() for count in counts]


def test_every_form_has_its_row() -> None:
    rows = {spelling for row in ROWS for spelling in spelled(row.form)}
    missing = {form.syntax for form in OPERATIONS if not any(spelling in rows for spelling in spelled(form))}
    opcodes = {opcode for opcode, _ in rows}
    untried = [opcode for form in OPERATIONS for opcode in form.spellings() if opcode not in opcodes]
    assert not missing
    assert not untried


def test_no_row_is_of_an_instruction_that_the_table_lacks() -> None:
    lacking = [opcode for row in ROWS for opcode, count in spelled(row.form) if find_form(opcode, count) is None]
    assert not lacking


def test_no_spelling_belongs_to_two_forms() -> None:
    times = Counter(spelling for forms in FORMS.values() for form in forms for spelling in spelled(form))
    assert [spelling for spelling, count in times.items() if count > 1] == []


def test_a_form_matches_what_it_spells_and_nothing_more() -> None:
    for form in OPERATIONS:
        for opcode in form.spellings():
            found = find_form(opcode, len(form.operands))
            assert found is not None, opcode
            assert found[0] is form, opcode
            assert find_form(opcode + ".x", len(form.operands)) is None, opcode


def test_operands_of_row_and_form_are_as_wide() -> None:
    for row in ROWS:
        for opcode in row.form.spellings():
            found = find_form(opcode, len(row.form.operands))
            assert found is not None, opcode
            form, modifiers = found
            wanted = row.form.match(opcode)
            assert wanted is not None, opcode
            for theirs, ours in zip(row.form.operands, form.operands, strict=False):
                assert theirs.resolve(wanted) == ours.resolve(modifiers), (opcode, ours.name)


def test_a_modifier_that_nothing_takes_is_refused() -> None:
    with pytest.raises(TypeError, match="sat changes nothing"):
        op("invented{.sat}.u32 d, a")(lambda lanes, a: a)
    assert "invented" not in FORMS


def test_an_emitter_that_wants_an_unknown_modifier_is_refused() -> None:
    with pytest.raises(TypeError, match="wants ftz"):
        op("invented.u32 d, a")(lambda lanes, a, *, ftz: a)
    assert "invented" not in FORMS


def test_an_optional_operand_may_be_absent() -> None:
    form = parse_form("invented.u32 d, a{, b}", "op", {}, lambda lanes, a, b=None: a)
    assert (form.least_operands, len(form.operands)) == (2, 3)


def test_every_other_mnemonic_is_in_a_test() -> None:
    """Accesses, branches, barriers and collectives have tests of their own, not rows."""
    files = [file for file in Path(__file__).parents[1].rglob("*") if file.suffix in (".py", ".cu")]
    text = "\n".join(file.read_text() for file in files)
    others = {mnemonic for mnemonic, forms in FORMS.items() if any(form.kind != "op" for form in forms)} - {"pragma"}
    known = [mnemonic for mnemonic in sorted(others) if mnemonic[0].islower()]  # others are the emulator's own
    assert [mnemonic for mnemonic in known if not re.search(rf"\b_*{mnemonic}\b", text)] == []


def test_what_public_kernels_use_has_forms() -> None:
    """Opcodes in the PTX of 2,258 public kernels, tensor cores, bulk copies, clusters and textures left out."""
    opcodes = Path(__file__).with_name("public_opcodes.txt").read_text().split()
    assert len(opcodes) > 500
    assert [opcode for opcode in opcodes if find_form(opcode) is None] == []
