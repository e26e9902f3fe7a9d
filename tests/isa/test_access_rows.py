"""Loads and stores in their many spellings: bytes go through memory and registers wider than they are, and come out extended."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from assembling import assemble, launch
from probe import some

from tilewise.emu.isa.spec import BYTES, FORMS, Form
from tilewise.emu.machine import emulate

THREADS = 32
SLOT = 32
"""Bytes of memory a thread: as many as the widest access takes."""
MEMORY = {
    "": "%rd1",
    "global": "%rd1",
    "shared": "%r2",
    "shared::cta": "%r2",
    "shared::cluster": "%r2",
    "local": "depot",
}
"""Where a thread's slot stands in each space that can be written."""
START = f"""
mov.u32 %r1, %tid.x;
mul.lo.u32 %r2, %r1, {SLOT};
ld.param.u64 %rd1, [a0];
ld.param.u64 %rd2, [a1];
cvt.u64.u32 %rd3, %r2;
add.u64 %rd1, %rd1, %rd3;
mul.wide.u32 %rd4, %r1, 64;
add.u64 %rd2, %rd2, %rd4;
"""
"""%rd1: the thread's slot in global memory; %r2: that in shared memory; %rd2: its eight long words of output, or of input."""


def spellings(mnemonic: str) -> Iterator[tuple[str, dict[str, str]]]:
    """A few of each form's spellings, with every choice of each of its modifiers among them; of the many cache hints a few."""
    for form in FORMS[mnemonic]:
        if form.kind == "access" and form.match(next(form.spellings())) is not None:
            yield from _some_of(form)


def _some_of(form: Form) -> Iterator[tuple[str, dict[str, str]]]:
    legal = [(opcode, form.match(opcode) or {}) for opcode in form.spellings()]
    legal = [(opcode, modifiers) for opcode, modifiers in legal if _is_tried(modifiers)]
    chosen = set(some((opcode for opcode, _ in legal), 12))
    missing = set(itertools.chain.from_iterable(modifiers.items() for _, modifiers in legal))
    missing = {(name, choice) for name, choice in missing if name != "hint"}
    for opcode, modifiers in legal:
        new = missing & set(modifiers.items())
        if opcode in chosen or new:
            missing -= set(modifiers.items())
            yield opcode, modifiers


def _is_tried(modifiers: dict[str, str]) -> bool:
    """Of at most 16 bytes, 32 in global memory; 128-bit registers and spaces that cannot be written have tests of their own."""
    type_, count, space = modifiers["type"], int(modifiers.get("vec", "")[1:] or 1), modifiers.get("space", "global")
    return type_ != "b128" and BYTES[type_] * count <= (SLOT if space == "global" else SLOT // 2) and space in MEMORY


def parts(type_: str, data: npt.NDArray[np.uint8], count: int) -> npt.NDArray[np.uint64]:
    """Each thread's first elements as 64-bit registers hold them: extended by their sign or by 0."""
    code = {"s": "i", "f": "u"}.get(type_[0], "u")
    values = data.view(f"{code}{BYTES[type_]}").reshape(THREADS, -1)[:, :count]
    return values.astype(np.int64).view(np.uint64) if code == "i" else values.astype(np.uint64)


def registers(type_: str, count: int) -> list[str]:
    stem = {"f32": "%f", "f64": "%fd"}.get(type_, "%rd")
    return [f"{stem}{10 + index}" for index in range(count)]


def vector(names: list[str]) -> str:
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def name_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def run(body: str, first: npt.NDArray[Any], second: npt.NDArray[Any]) -> None:
    ptx = assemble(f"{START}{body}\nret;", "u64 u64", shared_bytes=THREADS * SLOT, local_bytes=SLOT)
    emulate(launch(ptx, 1, THREADS, first, second), threads=1)


def each(line: str) -> str:
    """A line for each long word of a slot."""
    return "\n".join(line.format(at=at) for at in range(0, SLOT, 8))


@pytest.fixture
def data() -> npt.NDArray[np.uint8]:
    return np.random.default_rng(5).integers(0, 256, THREADS * SLOT, np.uint8)


@pytest.mark.parametrize(("opcode", "modifiers"), list(spellings("ld")), ids=name_of)
def test_load(opcode: str, modifiers: dict[str, str], data: npt.NDArray[np.uint8]) -> None:
    type_, count = modifiers["type"], int(modifiers.get("vec", "")[1:] or 1)
    space = modifiers.get("space", "global")
    place, names = MEMORY[space], registers(type_, count)
    width = "b32" if type_ == "f32" else "b64"
    stores = "\n".join(f"st.global.{width} [%rd2+{8 * index}], {name};" for index, name in enumerate(names))
    fill = each("ld.global.b64 %rd5, [%rd1+{at}];\n" + f"st.{space}.b64 [{place}+" + "{at}], %rd5;") if place != "%rd1" else ""
    out = np.zeros((THREADS, 8), np.uint64)
    run(f"{fill}\n{opcode} {vector(names)}, [{place}];\n{stores}", data, out)
    np.testing.assert_array_equal(out[:, :count], parts(type_, data, count))


@pytest.mark.parametrize(("opcode", "modifiers"), list(spellings("st")), ids=name_of)
def test_store(opcode: str, modifiers: dict[str, str], data: npt.NDArray[np.uint8]) -> None:
    type_, count = modifiers["type"], int(modifiers.get("vec", "")[1:] or 1)
    space = modifiers.get("space", "global")
    place, names = MEMORY[space], registers(type_, count)
    width = "b32" if type_ == "f32" else "b64"
    loads = "\n".join(f"ld.global.{width} {name}, [%rd2+{8 * index}];" for index, name in enumerate(names))
    fill = each(f"st.{space}.b64 [{place}+" + "{at}], 0;") if place != "%rd1" else ""
    empty = each(f"ld.{space}.b64 %rd5, [{place}+" + "{at}];\nst.global.b64 [%rd1+{at}], %rd5;") if place != "%rd1" else ""
    source = np.resize(data.view(np.uint64), (THREADS, 8))
    out = np.zeros((THREADS, SLOT), np.uint8)
    run(f"{loads}\n{fill}\n{opcode} [{place}], {vector(names)};\n{empty}", out, source)
    size = BYTES[type_]
    wanted = np.ascontiguousarray(source[:, :count]).view(np.uint8).reshape(THREADS, count, 8)[:, :, :size]
    np.testing.assert_array_equal(out[:, : count * size], wanted.reshape(THREADS, -1))
    assert not out[:, count * size :].any()
