"""Tiny kernels: probes one after another, each loading its operands, applying its instruction and storing what that gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from probe import CASES, LANES, PATTERNS, Probe, Source, complaint, container
from typed import Bits, width

ENTRY = "probe"
PROBES_A_BLOCK = 4
"""Basic blocks stay short: the time to generate code grows faster than their length."""
HALVES = ("tf32", "bf16", "f16", "f16x2", "bf16x2", "f32x2", "u16x2", "s16x2")
"""Types that no register is declared with here."""


def _held(type_: str, typed: bool) -> str:
    """The type of the register that is declared for a value."""
    return container(type_) if typed and type_ not in HALVES else plain(container(type_))


def plain(type_: str) -> str:
    """The untyped register type of the same width."""
    return type_ if type_ == "pred" else f"b{width(type_)}"


class Kernel:
    """PTX text with its input, built probe by probe."""

    def __init__(self, target: str, version: str) -> None:
        self.probes: list[Probe] = []
        self._header = f".version {version}\n.target {target}\n.address_size 64\n"
        self._lines: list[str] = []
        self._inputs: list[bytes] = []
        self._input_bytes = 0
        self._output_bytes = 0
        self._outputs: list[list[tuple[int, int]]] = []
        self._registers: dict[str, int] = {}

    def add(self, probe: Probe) -> None:
        """Append a probe."""
        if len(self.probes) % PROBES_A_BLOCK == 0:
            self._lines += [f"bra.uni probe{len(self.probes)};", f"probe{len(self.probes)}:"]
        self.probes.append(probe)
        operands = [
            self._load(source, type_, probe.typed) for source, type_ in zip(probe.sources, probe.source_types, strict=True)
        ]
        carry = probe.row.form.carry
        if "in" in carry:
            one, none = self._register("b32"), self._register("b32")
            self._lines += [f"selp.b32 {one}, 1, 0, {operands.pop()};", f"add.cc.u32 {none}, {one}, 0xffffffff;"]
        types = probe.result_types
        results = [self._register(_held(type_, probe.typed)) for type_ in types]
        carried = results.pop() if "out" in carry else None
        self._lines.append(f"{probe.opcode} {', '.join(['|'.join(results), *operands])};")
        if carried is not None:
            word = self._register("b32")
            self._lines += [f"addc.u32 {word}, 0, 0;", f"setp.ne.u32 {carried}, {word}, 0;"]
            results.append(carried)
        self._outputs.append([self._store(result, type_) for result, type_ in zip(results, types, strict=True)])

    def _register(self, type_: str) -> str:
        count = self._registers.get(type_, 0)
        self._registers[type_] = count + 1
        return f"%{type_}_{count}"

    def _load(self, source: Source, type_: str, typed: bool) -> str:
        held = plain(container(type_))
        if source.shape == "literal":
            return str(int(source.scalars[0]))
        register = self._register(_held(type_, typed))
        if source.shape == "constant":
            self._lines.append(_constant(register, type_, typed, int(source.scalars[0])))
            return register
        size = max(width(held), 32) if type_ == "pred" else width(held)
        loaded = self._register("b32") if type_ == "pred" else register
        place = self._place(source.scalars, size)
        kind = "thread" if source.shape == "full" else "block"
        if source.shape not in PATTERNS:
            self._lines.append(f"ld.global.b{size} {loaded}, [%in_{kind}{size // 8}+{place}];")
        else:
            self._lines += self._pattern(source.shape, register, size, place)
        if type_ == "pred":
            self._lines.append(f"setp.ne.u32 {register}, {loaded}, 0;")
        return register

    def _place(self, scalars: Bits, size: int) -> int:
        """Put values among the inputs; return where."""
        data = scalars.astype(f"u{size // 8}").tobytes()
        place = self._input_bytes
        self._inputs.append(data)
        self._input_bytes += len(data)
        return place

    def _pattern(self, shape: str, register: str, size: int, place: int) -> list[str]:
        """Make scalar + offsets in `size` bits, by instructions that the lane analysis follows."""
        scalar, lane, block = f"%p_scalar{size}", f"%p_lane{size}", f"%p_block{size}"
        load = f"ld.global.b{size} {scalar}, [%in_block{size // 8}+{place}];"
        match shape:
            case "loaded + lane":
                return [load, f"add.s{size} {register}, {scalar}, {lane};"]
            case "loaded * 32 + lane":
                return [load, f"shl.b{size} {scalar}, {scalar}, 5;", f"or.b{size} {register}, {scalar}, {lane};"]
            case "block * 4096 + lane * 4":
                return [f"mul.lo.s{size} {scalar}, {block}, 4096;", f"mad.lo.s{size} {register}, {lane}, 4, {scalar};"]
            case "loaded - lane * 3":
                return [load, f"mad.lo.s{size} {register}, {lane}, -3, {scalar};"]
        return [f"mov.u{size} {register}, {lane};"]

    def _store(self, register: str, type_: str) -> tuple[int, int]:
        size = max(width(plain(container(type_))), 32) if type_ == "pred" else width(plain(container(type_)))
        place, self._output_bytes = self._output_bytes, self._output_bytes + CASES * size // 8
        if type_ == "pred":
            word = self._register("b32")
            self._lines.append(f"selp.b32 {word}, 1, 0, {register};")
            register = word
        self._lines.append(f"st.global.b{size} [%out_thread{size // 8}+{place}], {register};")
        return place, size

    @property
    def ptx(self) -> str:
        """The whole module."""
        registers = [f".reg .{type_} %{type_}_<{count}>;" for type_, count in self._registers.items()]
        body = "\n".join("  " + line for line in [*registers, *_PROLOGUE, *self._lines, "ret;"])
        return f"{self._header}.visible .entry {ENTRY}(.param .u64 input, .param .u64 output)\n{{\n{body}\n}}\n"

    def buffers(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        """Input and zeroed output."""
        data = b"".join(self._inputs)
        return np.frombuffer(data + bytes(8), np.uint8).copy(), np.zeros(self._output_bytes + 8, np.uint8)

    def complaints(self, output: npt.NDArray[np.uint8]) -> list[str]:
        """What a run's output has wrong, a line a probe."""
        lines = []
        for probe, places in zip(self.probes, self._outputs, strict=True):
            for type_, (place, size), wanted in zip(probe.result_types, places, probe.expected(), strict=True):
                got = output[place : place + CASES * size // 8].view(f"u{size // 8}").astype(np.uint64)
                line = complaint(probe, type_, got, wanted)
                if line:
                    lines.append(line)
        return lines


def _constant(register: str, type_: str, typed: bool, bits: int) -> str:
    match type_:
        case "pred":
            return f"mov.pred {register}, {bits};"
        case "f32" if typed:
            return f"mov.f32 {register}, 0f{bits:08x};"
        case "f64" if typed:
            return f"mov.f64 {register}, 0d{bits:016x};"
    return f"mov.{plain(container(type_))} {register}, 0x{bits:x};"


_PROLOGUE = [
    *(f".reg .b64 %in_{kind}{size};" for kind in ("thread", "block") for size in (2, 4, 8)),
    *(f".reg .b64 %out_thread{size};" for size in (2, 4, 8)),
    *(f".reg .b{size} %p_{name}{size};" for size in (16, 32, 64) for name in ("scalar", "lane", "block")),
    ".reg .b64 %base_in, %base_out;",
    ".reg .b32 %p_thread;",
    ".reg .b64 %p_wide;",
    "ld.param.u64 %base_in, [input];",
    "ld.param.u64 %base_out, [output];",
    "mov.u32 %p_lane32, %tid.x;",
    "mov.u32 %p_block32, %ctaid.x;",
    "cvt.u64.u32 %p_lane64, %p_lane32;",
    "cvt.u64.u32 %p_block64, %p_block32;",
    "cvt.u16.u32 %p_lane16, %p_lane32;",
    "cvt.u16.u32 %p_block16, %p_block32;",
    f"mad.lo.s32 %p_thread, %p_block32, {LANES}, %p_lane32;",
    *(
        line
        for size in (2, 4, 8)
        for line in (
            f"mul.wide.u32 %p_wide, %p_thread, {size};",
            f"add.s64 %in_thread{size}, %base_in, %p_wide;",
            f"add.s64 %out_thread{size}, %base_out, %p_wide;",
            f"mul.wide.u32 %p_wide, %p_block32, {size};",
            f"add.s64 %in_block{size}, %base_in, %p_wide;",
        )
    ),
]
