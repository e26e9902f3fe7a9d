"""Every row on a GPU, which gives what the row says: a difference is a fault of the row, and perhaps of the emulator."""

from __future__ import annotations

import pytest
from gpu_driver import gpu
from probe import BLOCKS, LANES, batches, probes_of, some
from row import ROWS, Row
from rows import load_rows
from tiny_kernel import ENTRY, Kernel

load_rows()
SPELLINGS = 400
FOLDED_WRONGLY = ("madc.PART.TYPE", "madc.PART.cc.TYPE", "bfe.TYPE")
"""Rows of which the assembler of driver 580 works out some forms wrongly where operands are constants; tried without those."""


@pytest.mark.gpu
@pytest.mark.parametrize("row", [row for row in ROWS if row.portable], ids=lambda row: row.name)
def test_gpu_gives_what_the_row_says(row: Row) -> None:
    if gpu().sm < row.sm:
        pytest.skip(f"needs sm_{row.sm}, this is sm_{gpu().sm}")
    complaints = []
    for probes in batches(probes_of(row, some(row.spellings, SPELLINGS))):
        kernel = Kernel(f"sm_{gpu().sm}{'a' if gpu().sm >= 90 else ''}", gpu().ptx_version)
        for probe in probes:
            if row.name not in FOLDED_WRONGLY or all(source.shape != "constant" for source in probe.sources):
                kernel.add(probe)
        source, output = kernel.buffers()
        gpu().run(kernel.ptx, ENTRY, BLOCKS, LANES, source, output)
        complaints += kernel.complaints(output)
    assert not complaints, "\n".join(complaints[:20])
