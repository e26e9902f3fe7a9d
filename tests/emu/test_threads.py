"""Host threads share a launch's blocks, and launches share the process: neither shows in results, counts or faults."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from assembling import assemble, launch

from tilewise.core.counters import Counters
from tilewise.core.errors import KernelFault, TilewiseError
from tilewise.emu.machine import emulate

GRID, BLOCK = (7, 5, 3), 70
TOTAL = 7 * 5 * 3 * BLOCK

# Lanes part by the block's number too, exchange through shared memory, and load with the stride that the host asks for.
BODY = """
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.z; mov.u32 %r3, %nctaid.y; mov.u32 %r4, %ctaid.y; mad.lo.u32 %r2, %r2, %r3, %r4;
mov.u32 %r3, %nctaid.x; mov.u32 %r4, %ctaid.x; mad.lo.u32 %r2, %r2, %r3, %r4;
mad.lo.u32 %r5, %r2, 70, %r1;
ld.param.u64 %rd1, [a0]; mul.wide.u32 %rd2, %r5, 4; add.s64 %rd1, %rd1, %rd2;
ld.param.u64 %rd3, [a1]; ld.param.u32 %r6, [a2]; mul.lo.u32 %r7, %r5, %r6; mul.wide.s32 %rd4, %r7, 4; add.s64 %rd3, %rd3, %rd4;
shl.b32 %r8, %r1, 2; st.shared.u32 [%r8], %r5;
add.u32 %r9, %r1, %r2; and.b32 %r9, %r9, 3; mov.u32 %r10, 0;
AGAIN:
add.u32 %r10, %r10, 3; sub.u32 %r9, %r9, 1; setp.ge.s32 %p1, %r9, 0; @%p1 bra AGAIN;
bar.sync 0;
ld.shared.u32 %r11, [%r8+-4+4];
ld.global.u32 %r12, [%rd3];
add.u32 %r10, %r10, %r11; add.u32 %r10, %r10, %r12;
st.global.u32 [%rd1], %r10;
ret;
"""
PTX = assemble(BODY, "u64 u64 u32", shared_bytes=4 * BLOCK)


def expected(stride: int) -> npt.NDArray[np.uint32]:
    place = np.arange(TOTAL)
    rounds = (place % BLOCK + place // BLOCK) % 4 + 1
    return (place + 3 * rounds + place * stride * 7).astype(np.uint32)


def run(threads: int, stride: int = 2, words: int = 2 * TOTAL) -> tuple[npt.NDArray[np.uint32], Counters]:
    out, source = np.zeros(TOTAL, np.uint32), np.arange(words, dtype=np.uint32) * 7
    emulation = emulate(launch(PTX, GRID, BLOCK, out, source, stride), threads=threads)
    assert emulation.threads == threads
    return out, emulation.counters


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 105])
def test_results_and_counts_do_not_hang_on_the_number_of_threads(threads: int) -> None:
    out, counters = run(threads)
    np.testing.assert_array_equal(out, expected(2))
    assert counters == run(1)[1]
    assert counters.barriers == 105


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_nor_do_faults(threads: int) -> None:
    """The second half of the blocks reads past the end."""

    def faults(count: int) -> tuple[object, ...]:
        with pytest.raises(KernelFault) as caught:
            run(count, words=TOTAL)
        return caught.value.faults

    assert faults(threads) == faults(1)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2"])
def test_a_number_of_threads_that_is_none_is_refused(wrong: object) -> None:
    with pytest.raises(TilewiseError, match="threads"):
        run(wrong)  # type: ignore[arg-type]


def test_launches_at_once() -> None:
    """Four Python threads, two kernels, both compiled at first use by whoever comes first, some launches with faults."""
    fresh = [assemble(BODY + f"// {index}\n", "u64 u64 u32", shared_bytes=4 * BLOCK) for index in range(2)]
    failures: list[BaseException] = []
    start = threading.Barrier(4)

    def work(number: int) -> None:
        try:
            start.wait()
            for turn in range(6):
                one(number, turn)
        except BaseException as failure:  # noqa: BLE001 - shown by the main thread
            failures.append(failure)

    def one(number: int, turn: int) -> None:
        stride = 1 + (number + turn) % 3
        out, source = np.zeros(TOTAL, np.uint32), np.arange(stride * TOTAL, dtype=np.uint32) * 7
        if turn % 3 == 2:
            with pytest.raises(KernelFault):
                emulate(launch(fresh[turn % 2], GRID, BLOCK, out, source[: (TOTAL - 1) * stride], stride), threads=2)
        else:
            emulate(launch(fresh[turn % 2], GRID, BLOCK, out, source, stride), threads=2)
            np.testing.assert_array_equal(out, expected(stride))

    _run_all(work, 4)
    assert not failures


def _run_all(work: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
