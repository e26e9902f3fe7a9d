"""The ladder: one row a rung, with what it claims, and every constraint on a rung's plan, written once.

Knows the rungs' tilings and nothing of how they are compiled, run or timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.launch import Dim3
from tilewise.core.plan import TilePlan
from tilewise.core.problem import LAYOUTS, Layout, Problem
from tilewise.hw.banks import BANKS, WORD_BYTES

if TYPE_CHECKING:
    from tilewise.hw.device import Device

THREADS_PER_BLOCK = 1024
"""Most threads a block, of every compute capability [CUDA C++ Programming Guide, table Technical Specifications]."""
STATIC_SHARED_BYTES = 48 * 1024
"""Most bytes of shared memory that arrays of fixed size take in a block [the same table]."""
GRID_ROWS = 65_535
"""Most blocks along y [the same table]; along x there may be 2^31 - 1."""
REGISTERS_PER_THREAD = 255
"""[the same table]"""
VECTOR = 4
"""Words that one memory instruction moves for a thread, at most: sixteen bytes [PTX ISA, ld]."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a rung says of itself: default plan, layout rr, sizes that its tiles divide and rows that begin at a sector."""

    a_sectors: int
    """Sectors that a request for A touches; the least is 4 for 32 different words, 16 where lanes move four words each."""
    b_sectors: int
    """Sectors that a request for B touches."""
    c_sectors: int
    """Sectors that a store of C touches."""
    conflict_ways: int
    """Worst bank conflict of a shared access: 1 is conflict-free, 0 is no shared access."""
    barriers_per_k_step: int
    shared_words_per_fma: float
    """4-byte words a thread loads from shared memory for one of its FMAs."""
    wavefronts_per_fma: float
    """Wavefronts of shared-memory loads for one FMA of a warp; of sixteen-byte loads as hw/banks.py models them."""
    findings: tuple[str, ...] = ()
    """Kinds of performance finding that the checkers report on it."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One kernel of the ladder: its file, the idea it adds and what it demands of a plan."""

    name: str
    """Such as "r03"."""
    title: str
    file: str
    """Its source, in cuda/rungs."""
    removes: str
    """The limiter of the rung below that this one takes away."""
    leaves: str
    """The limiter that remains."""
    default_plan: TilePlan
    threads_along: Literal["rows", "columns", "line"]
    """How threadIdx.x runs: down a column of C (a row a thread), along a row of C, or through the block as one line."""
    reuses_block_tile: bool
    """Whether a loaded element serves the whole block tile; if not, every multiply loads both its operands."""
    claims: Claims
    constraints: tuple[Callable[[TilePlan], Iterator[str]], ...]
    """What it demands of a plan: each yields its objections. The twins of the source's static_asserts."""
    shared_words: Callable[[TilePlan, Layout], int]
    """Words of shared memory a block declares."""
    least_compute_capability: tuple[int, int] = (7, 0)
    variants: tuple[tuple[str, TilePlan], ...] = ()
    """Plans that the ladder shows before the default one, each with a name such as "1-D"; the claims are not theirs."""


def bank_pad(run: int) -> int:
    """Return the words of padding a row for a tile that a warp stores transposed, stepping down `run` rows for each column.

    32 lanes then fall into 32 different banks wherever `run` divides 32 and the unpadded row is a multiple of 32/run words.
    The twin of `bank_pad` in cuda/banks.cuh.
    """
    return max(1, BANKS // run)


def _one_output(plan: TilePlan) -> Iterator[str]:
    if (plan.TM, plan.TN) != (1, 1):
        yield f"TM x TN = {plan.TM} x {plan.TN}, but a thread of this rung computes one output: give TM = TN = 1."


def _single_k(plan: TilePlan) -> Iterator[str]:
    if plan.BK != 1:
        yield f"BK = {plan.BK}, but this rung stages nothing and walks K one by one: give BK = 1."


def _square_tile(plan: TilePlan) -> Iterator[str]:
    if not plan.BM == plan.BN == plan.BK:
        yield (
            f"the block tile is {plan.BM} x {plan.BN} x {plan.BK}, but this rung copies square tiles with one thread an element: "
            f"give BM = BN = BK, such as {plan.BM} x {plan.BM} x {plan.BM}."
        )


def _thread_tiles_cover(plan: TilePlan) -> Iterator[str]:
    for block_name, block_size, thread_name, thread_size in (("BM", plan.BM, "TM", plan.TM), ("BN", plan.BN, "TN", plan.TN)):
        if block_size % thread_size:
            fitting = max(size for size in range(1, thread_size) if block_size % size == 0)
            yield (
                f"{thread_name} = {thread_size} does not divide {block_name} = {block_size}, so the thread tiles would not cover "
                f"the block tile: give {thread_name} = {fitting}."
            )


def _fragments_fit_registers(plan: TilePlan) -> Iterator[str]:
    words = plan.TM * plan.TN + plan.TM + plan.TN
    if words > REGISTERS_PER_THREAD:
        yield (
            f"a thread tile of {plan.TM} x {plan.TN} takes {words} registers for its accumulators and fragments, more than the "
            f"{REGISTERS_PER_THREAD} that a thread has: give a smaller one, such as 8 x 8."
        )


def _threads_move_fours(plan: TilePlan) -> Iterator[str]:
    for name, size in (("TM", plan.TM), ("TN", plan.TN)):
        if size % VECTOR:
            yield f"{name} = {size}, but a thread moves {VECTOR} words at a time: give a multiple of {VECTOR}, such as 8."


def _steps_move_fours(plan: TilePlan) -> Iterator[str]:
    if plan.BK % VECTOR:
        yield f"BK = {plan.BK}, but a thread moves {VECTOR} words at a time along k: give a multiple of {VECTOR}, such as 8."


def _warp_tiles_cover(plan: TilePlan) -> Iterator[str]:
    for name, size, lanes, thread_name, thread_size in (("BM", plan.BM, 4, "TM", plan.TM), ("BN", plan.BN, 8, "TN", plan.TN)):
        if size % (lanes * thread_size):
            yield (
                f"{name} = {size} is no multiple of a warp tile's {lanes} {thread_name} = {lanes * thread_size}, so the warp "
                f"tiles would not cover the block tile: give {name} = {-(-size // (lanes * thread_size)) * lanes * thread_size}."
            )


def _no_shared_words(plan: TilePlan, layout: Layout) -> int:
    return 0


def _square_tile_words(plan: TilePlan, layout: Layout) -> int:
    side, pad = plan.BM, bank_pad(plan.BM)
    return sum(side * (side + (pad if order == "c" else 0)) for order in layout)


def _thread_tile_words(plan: TilePlan, layout: Layout) -> int:
    pad = bank_pad(plan.BK)
    a_row = plan.BM + (pad if layout[0] == "r" else 0)
    b_row = plan.BN + (pad if layout[1] == "c" else 0)
    return plan.BK * (a_row + b_row)


def _vector_tile_words(plan: TilePlan, layout: Layout) -> int:
    a_row = plan.BM + (VECTOR if layout[0] == "r" else 0)
    b_row = plan.BN + (VECTOR if layout[1] == "c" else 0)
    return plan.BK * (a_row + b_row)


def _two_stages_words(plan: TilePlan, layout: Layout) -> int:
    return 2 * _vector_tile_words(plan, layout)


LADDER: tuple[Rung, ...] = (
    Rung(
        name="r01",
        title="naive",
        file="r01_naive.cu",
        removes="nothing: this is where the climb starts",
        leaves="uncoalesced loads, 32 sectors for the 32 words a warp reads of A",
        default_plan=TilePlan(32, 32, 1),
        threads_along="rows",
        reuses_block_tile=False,
        claims=Claims(32, 1, 32, 0, 0, 0.0, 0.0, ("perf.uncoalesced", "perf.traffic")),
        constraints=(_one_output, _single_k),
        shared_words=_no_shared_words,
    ),
    Rung(
        name="r02",
        title="coalesced",
        file="r02_coalesced.cu",
        removes="uncoalesced loads",
        leaves="global traffic: both operands are read again for every multiply",
        default_plan=TilePlan(32, 32, 1),
        threads_along="columns",
        reuses_block_tile=False,
        claims=Claims(1, 4, 4, 0, 0, 0.0, 0.0, ("perf.traffic",)),
        constraints=(_one_output, _single_k),
        shared_words=_no_shared_words,
    ),
    Rung(
        name="r03",
        title="smem tile",
        file="r03_smem_tile.cu",
        removes="global traffic, by the side of the tile",
        leaves="shared-memory bandwidth: two words read for one multiply-add",
        default_plan=TilePlan(32, 32, 32),
        threads_along="columns",
        reuses_block_tile=True,
        claims=Claims(4, 4, 4, 1, 2, 2.0, 2.0),
        constraints=(_one_output, _square_tile),
        shared_words=_square_tile_words,
    ),
    Rung(
        name="r04",
        title="thread tile",
        file="r04_thread_tile.cu",
        removes="shared-memory words, by reuse in registers",
        leaves="bank conflicts, for threads read b_tile TN words apart, and one shared load a word",
        default_plan=TilePlan(128, 128, 8, 8, 8),
        threads_along="line",
        reuses_block_tile=True,
        claims=Claims(4, 4, 32, 4, 2, 0.25, 0.625, ("perf.bank_conflict", "perf.uncoalesced")),
        constraints=(_thread_tiles_cover, _fragments_fit_registers),
        shared_words=_thread_tile_words,
        variants=(("1-D", TilePlan(64, 64, 8, 8, 1)),),
    ),
    Rung(
        name="r05",
        title="vectorised",
        file="r05_vectorised.cu",
        removes="bank conflicts, scattered stores of C and three of four memory instructions",
        leaves="latency: nobody computes while a tile is on its way from global memory",
        default_plan=TilePlan(128, 128, 8, 8, 8),
        threads_along="line",
        reuses_block_tile=True,
        claims=Claims(16, 16, 16, 1, 2, 0.25, 0.1875),
        constraints=(_thread_tiles_cover, _threads_move_fours, _steps_move_fours, _fragments_fit_registers),
        shared_words=_vector_tile_words,
    ),
    Rung(
        name="r06",
        title="double buffer",
        file="r06_double_buffer.cu",
        removes="latency, hidden behind the multiply-adds of the k-step before, and one of two barriers",
        leaves="shared-memory wavefronts: a warp reads a wide strip of b_tile for few rows",
        default_plan=TilePlan(128, 128, 8, 8, 8),
        threads_along="line",
        reuses_block_tile=True,
        claims=Claims(4, 16, 16, 1, 1, 0.25, 0.1875),
        constraints=(_thread_tiles_cover, _threads_move_fours, _fragments_fit_registers),
        shared_words=_two_stages_words,
        least_compute_capability=(8, 0),
    ),
    Rung(
        name="r07",
        title="warp tile",
        file="r07_warp_tile.cu",
        removes="a third of the shared-memory wavefronts",
        leaves="the multiply-adds themselves: one a lane and clock is all that these units give",
        default_plan=TilePlan(128, 128, 8, 8, 8),
        threads_along="line",
        reuses_block_tile=True,
        claims=Claims(4, 16, 16, 1, 1, 0.25, 0.125),
        constraints=(_thread_tiles_cover, _warp_tiles_cover, _threads_move_fours, _fragments_fit_registers),
        shared_words=_two_stages_words,
        least_compute_capability=(8, 0),
    ),
)


def rung(name: str) -> Rung:
    """Return the rung of that name ("r03").

    Raises TilewiseError, with the nearest names, for any other.
    """
    for row in LADDER:
        if row.name == name:
            return row
    raise TilewiseError(f"there is no rung {name!r}.{nearest(name, [row.name for row in LADDER])}")


def block(rung: Rung, plan: TilePlan) -> Dim3:
    """Return the threads of a block along x, y, z."""
    rows, columns = plan.BM // plan.TM, plan.BN // plan.TN
    match rung.threads_along:
        case "rows":
            return rows, columns, 1
        case "columns":
            return columns, rows, 1
        case "line":
            return rows * columns, 1, 1


def grid(plan: TilePlan, problem: Problem) -> Dim3:
    """Return the blocks along x, y, z that cover C, for M, N >= 1."""
    return -(-problem.N // plan.BN), -(-problem.M // plan.BM), 1


def shared_bytes(rung: Rung, plan: TilePlan, layout: Layout = "rr") -> int:
    """Return the bytes of shared memory a block declares. A tile that is transposed on its way in has padded rows."""
    return WORD_BYTES * rung.shared_words(plan, layout)


def objections(rung: Rung, plan: TilePlan, device: Device | None = None, problem: Problem | None = None) -> tuple[str, ...]:
    """Return a sentence for each reason why `plan` cannot be built for the rung, run on the device or cover the problem.

    Empty for a good plan. Without a device, what holds on every device is asked; a plan must be good for every layout.
    """
    sizes = {name: getattr(plan, name) for name in ("BM", "BN", "BK", "TM", "TN")}
    bad = tuple(
        f"{name} = {size!r} is not a tile size: give a whole number of at least 1."
        for name, size in sizes.items()
        if not _is_size(size)
    )
    if bad:
        return bad
    found = [sentence for constraint in rung.constraints for sentence in constraint(plan)]
    found += _beyond_block_limits(rung, plan, device)
    if device is not None:
        found += _beyond_device(rung, device)
    if problem is not None:
        found += _beyond_problem(plan, problem)
    return tuple(found)


def _is_size(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and size >= 1


def _beyond_block_limits(rung: Rung, plan: TilePlan, device: Device | None) -> Iterator[str]:
    threads = device.threads_per_block if device else THREADS_PER_BLOCK
    shared = device.shared_bytes_per_block if device else STATIC_SHARED_BYTES
    if plan.threads > threads:
        yield (
            f"a block tile of {plan.BM} x {plan.BN} with thread tiles of {plan.TM} x {plan.TN} takes {plan.threads} threads, "
            f"more than the {threads} that a block has: give a smaller block tile or larger thread tiles."
        )
    taken = max(shared_bytes(rung, plan, layout) for layout in LAYOUTS)
    if taken > shared:
        yield (
            f"the tiles take {taken} bytes of shared memory, more than the {shared} that a block's arrays of fixed "
            f"size have: give a smaller BK or block tile."
        )


def _beyond_device(rung: Rung, device: Device) -> Iterator[str]:
    if device.compute_capability < rung.least_compute_capability:
        (have_major, have_minor), (need_major, need_minor) = device.compute_capability, rung.least_compute_capability
        yield (
            f"this rung needs compute capability {need_major}.{need_minor}; {device.name} has {have_major}.{have_minor}: "
            f"choose a lower rung or a newer device."
        )


def _beyond_problem(plan: TilePlan, problem: Problem) -> Iterator[str]:
    block_rows = -(-problem.M // plan.BM)
    if block_rows > GRID_ROWS:
        yield (
            f"M = {problem.M} takes {block_rows} rows of blocks with BM = {plan.BM}, more than the {GRID_ROWS} of a grid: split "
            f"the product into panels of at most {GRID_ROWS * plan.BM} rows."
        )
    for size_name, size, tile_name, tile in (("N", problem.N, "BN", plan.BN), ("K", problem.K, "BK", plan.BK)):
        most = (2**31 - 1) // tile * tile
        if size > most:
            yield (
                f"{size_name} = {size}, rounded up to whole tiles of {tile_name} = {tile}, does not fit the kernels' 32-bit "
                f"indices: at most {most}."
            )
