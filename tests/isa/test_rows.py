"""Every row, run on the emulator and compared with its meaning: for this processor, and for one that has AVX2 at most."""

from __future__ import annotations

import pytest
from probe import BLOCKS, LANES, batches, probes_of, some
from row import ROWS, Row
from rows import load_rows
from tiny_kernel import ENTRY, Kernel

from tilewise.core.launch import Launch
from tilewise.core.module import Module
from tilewise.emu.jit import AVX2, Target
from tilewise.emu.machine import emulate

load_rows()


def run_on_emulator(kernel: Kernel, target: Target | None) -> list[str]:
    source, output = kernel.buffers()
    launch = Launch(Module("probe", "sm_90", kernel.ptx), ENTRY, (BLOCKS, 1, 1), (LANES, 1, 1), (source, output))
    emulate(launch, threads=1, target=target)
    return kernel.complaints(output)


@pytest.mark.parametrize(("target", "limit"), [(None, 16), (AVX2, 6)], ids=["host", "avx2"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_instruction_means_what_its_row_says(row: Row, target: Target | None, limit: int) -> None:
    complaints = []
    for probes in batches(probes_of(row, some(row.form.spellings(), limit), quick=target is AVX2)):
        kernel = Kernel("sm_90", "8.0")
        for probe in probes:
            kernel.add(probe)
        complaints += run_on_emulator(kernel, target)
    assert not complaints, "\n".join(complaints[:20])
