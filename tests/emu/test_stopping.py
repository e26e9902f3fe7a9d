"""Ctrl-C ends a run at once, whatever its kernel does, and leaves an emulator that works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

AT_ONCE_S = 5.0
"""The emulator looks every loop iteration and every tenth of a second; the rest is for a busy machine."""

KERNELS = {
    "tight": "AGAIN: add.u32 %r9, %r9, 1; bra AGAIN;",
    "never_true": "AGAIN: add.u32 %r9, %r9, 2; setp.ne.u32 %p1, %r9, 1; @%p1 bra AGAIN; ret;",
    "parted": "setp.lt.u32 %p1, %r1, 5; AGAIN: add.u32 %r9, %r9, 1; @%p1 bra AGAIN; ret;",
    "parted_two_ways": "setp.lt.u32 %p1, %r1, 5; @%p1 bra OTHER; AGAIN: bra AGAIN; OTHER: add.u32 %r9, %r9, 1; bra OTHER;",
    "loads": "AGAIN: mov.u32 %r8, %clock; ld.global.u32 %r9, [%rd1]; setp.eq.u32 %p1, %r9, 0; @%p1 bra AGAIN; ret;",
    "waits": "AGAIN: mov.u32 %r8, %clock; ld.volatile.global.u32 %r9, [%rd1]; setp.eq.u32 %p1, %r9, 0; @%p1 bra AGAIN;",
    "stores": "AGAIN: add.u32 %r9, %r9, 1; st.global.u32 [%rd1], %r9; bra AGAIN;",
    "barriers": "AGAIN: bar.sync 0; bra AGAIN;",
    "barriers_parted": "setp.lt.u32 %p1, %r1, 5; AGAIN: @%p1 bra PAST; add.u32 %r9, %r9, 1; PAST: bar.sync 0; bra AGAIN;",
    "nothing_often": "ret;",
}
"""Those that look at a clock would else be found to go round for ever."""

CHILD = """
import signal
import sys
import numpy as np
from assembling import assemble, launch
from tilewise.emu.machine import emulate

signal.signal(signal.SIGINT, signal.default_int_handler)  # a process begun in the background ignores it
body, grid, block, threads = sys.argv[1], *map(int, sys.argv[2:])
start = "mov.u32 %r1, %tid.x; mov.u32 %r9, 0; ld.param.u64 %rd1, [a0];"
emulate(launch(assemble(start + "st.global.u32 [%rd1], %r1; ret;", "u64"), 1, 32, np.zeros(1, np.uint32)))
print("begins", flush=True)
try:
    emulate(launch(assemble(start + body, "u64"), grid, block, np.zeros(1, np.uint32)), threads=threads)
    print("ended", flush=True)
except KeyboardInterrupt:
    print("stopped", flush=True)
out = np.zeros(1, np.uint32)
emulate(launch(assemble(start + "mov.u32 %r9, 7; st.global.u32 [%rd1], %r9; ret;", "u64"), 1, 32, out))
print("works" if out[0] == 7 else "does not work", flush=True)
"""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_an_interrupt_stops_an_endless_kernel(name: str, threads: int) -> None:
    grid = 2**31 - 1 if name == "nothing_often" else 5
    command = [sys.executable, "-c", CHILD, KERNELS[name], str(grid), "50", str(threads)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "begins\n"
            time.sleep(0.3)  # into the kernel, compiled by then
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "stopped\n"
            taken = time.monotonic() - sent
            assert child.stdout.readline() == "works\n"
        finally:
            child.kill()
    assert taken < AT_ONCE_S
