"""The C structures of runtime/tilewise.h, field by field, and the library that works on them."""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_int32, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from pathlib import Path

from tilewise.core.errors import TilewiseError

LANES = 32
ELEMENTS = 8
LIBRARY = Path(__file__).parent / "runtime" / "libtilewise_runtime.so"

BARRIERS = 16
SPACES = {"global": 0, "shared": 1, "local": 2, "const": 3, "param": 3, "generic": 4, "stack": 2}
"""enum tw_space."""
OPERATIONS = ("add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas")
"""enum tw_operation."""
NUMBER_TYPES = ("bits", "unsigned", "signed", "float", "f16", "bf16", "f16x2", "bf16x2")
"""enum tw_number."""
PATIENCE = 32
"""Rounds of a waiting loop before other lanes, warps and blocks have a turn."""
READS, WRITES, STRONG, ACQUIRES, RELEASES, OF_BLOCK, COPIES, UPDATES, VOLATILE, ONLY_MOVES, COMPARES, POLLS = (
    1 << bit for bit in range(12)
)
"""enum tw_trait."""
CACHE_LINE = 64
EXITED, AT_BARRIER, TO_FAST, TO_CAREFUL, DIVERGED, STOPPED, UNSUPPORTED, YIELDED, AT_BLOCK_BARRIER = range(1, 10)
"""enum tw_status."""
FAULT_KINDS = (
    "out of bounds",
    "misaligned",
    "store to a read-only buffer",
    "divergent barrier",
    "deadlock",
    "out of bounds",
    "missing lanes",
    "jump to nowhere",
    "stack overflow",
    "trap",
    "failed assertion",
    "deadlock",
    "missing lanes",
    "missing lanes",
    "missing lanes",
)
"""enum tw_fault_kind, in words."""
OUT_OF_SHARED = 5
"""The one of them that is about the shared side of a copy."""
BAD_JUMP, TRAP = 7, 9
"""Of them, what compiled kernels report themselves."""
ENDLESS = 11
"""The deadlock that is not at a barrier of the block."""
READS_ABSENT, NEVER_CAME, NOT_NAMED = 12, 13, 14
"""Missing lanes: those of which values are read; that leave the kernel while others wait; that do not name themselves."""
RUNTIME_FUNCTIONS = (
    *("access", "atomic", "fault", "print", "assert_", "count", "resolve", "next", "come", "meet", "collect"),
    *("copy_copy", "copy_commit", "copy_wait", "warp_sync", "fence", "shuffle", "named", "local_read"),
    *("screen_runs", "screen_lanes"),
)
"""Fields of Context that compiled kernels call through."""


def number_type(type_: str) -> int:
    """enum tw_number of a PTX type."""
    letters = {"b": "bits", "u": "unsigned", "s": "signed", "f": "float"}
    return NUMBER_TYPES.index(type_ if type_ in NUMBER_TYPES else letters[type_[0]])


class Warp(ctypes.Structure):
    """struct tw_warp, up to its words."""

    _fields_ = [
        *((name, c_uint32) for name in ("resume", "mask", "live", "waiting")),
        *((name, c_uint32) for name in ("barrier", "threads", "barrier_lanes", "barrier_ones")),
        *((name, c_uint32) for name in ("status", "wait_site", "patience", "met_live")),
        ("arriving", c_uint16),
        *((name, c_uint8) for name in ("counted", "careful", "insist", "force", "yielded")),
        ("unused", c_uint8),
        ("arrivals", c_void_p),
    ]


class Barrier(ctypes.Structure):
    """struct tw_barrier."""

    _fields_ = [(name, c_uint32) for name in ("warps", "threads", "lanes", "ones")]


class Block(ctypes.Structure):
    """struct tw_block."""

    _fields_ = [
        ("number", c_uint64),
        *((name, c_uint32) for name in ("active", "live_warps", "awaited", "unused")),
        *((name, c_void_p) for name in ("shared", "warps", "local", "arrivals", "copies", "order", "cells", "local_written")),
        ("barriers", Barrier * BARRIERS),
    ]


class Buffer(ctypes.Structure):
    """struct tw_buffer."""

    _fields_ = [
        *((name, c_uint64) for name in ("low", "high", "delta", "space", "writable", "is_empty")),
        ("stored", c_void_p),
        *((name, c_uint64) for name in ("touched", "is_shadowed")),
        *((name, c_void_p) for name in ("stores", "written", "pages")),
    ]


class Range(ctypes.Structure):
    """struct tw_range."""

    _fields_ = [(name, c_uint64) for name in ("low", "starts", "delta", "space")]


class Site(ctypes.Structure):
    """struct tw_site."""

    _fields_ = [
        (name, c_uint32)
        for name in ("space", "is_store", "element_bytes", "elements", "is_stack", "aligned", "operation", "type", "traits")
    ]


class SiteCounts(ctypes.Structure):
    """struct tw_site_counts."""

    _fields_ = [
        (name, c_uint64) for name in ("requests", "lanes", "transactions", "worst", "worst_ways", "read_bytes", "written_bytes")
    ]


class Fault(ctypes.Structure):
    """struct tw_fault."""

    _fields_ = [
        *((name, c_uint32) for name in ("kind", "site", "warp", "lane")),
        ("block", c_uint32 * 3),
        ("mask", c_uint32),
        ("address", c_uint64),
        ("count", c_uint64),
        *((name, c_uint32) for name in ("arrived", "expected", "warps")),
        ("text", ctypes.c_char * 120),
    ]


class Conflict(ctypes.Structure):
    """struct tw_conflict."""

    _fields_ = [
        *((name, c_uint32) for name in ("space", "is_pending")),
        *((name, c_uint32 * 2) for name in ("sites", "threads", "iterations", "sequences")),
        ("blocks", c_uint64 * 2),
        *((name, c_uint64) for name in ("address", "count")),
        *((name, c_uint32) for name in ("in_warp", "across_blocks", "same_value", "needs_fence")),
    ]


class Unwritten(ctypes.Structure):
    """struct tw_unwritten."""

    _fields_ = [
        *((name, c_uint32) for name in ("space", "site", "thread", "iteration")),
        *((name, c_uint64) for name in ("block", "address", "count")),
    ]


class Short(ctypes.Structure):
    """struct tw_short."""

    _fields_ = [*((name, c_uint64) for name in ("count", "block")), *((name, c_uint32) for name in ("thread", "unused"))]


class Watch(ctypes.Structure):
    """struct tw_watch."""

    _fields_ = [
        *((name, c_void_p) for name in ("conflicts", "unwritten")),
        *((name, c_uint64) for name in ("conflict_count", "conflict_capacity", "unwritten_count", "unwritten_capacity", "lost")),
        *((name, c_void_p) for name in ("shorts", "passes", "orders", "compared", "locations")),
        *((name, c_uint64) for name in ("site_count", "again")),
    ]


class Screen(ctypes.Structure):
    """struct tw_screen."""

    _fields_ = [
        ("sets", c_void_p),
        *((name, c_uint64) for name in ("words", "is_suspect", "changes", "used")),
        ("readings", c_void_p),
    ]


COMPILE_CAREFUL = ctypes.CFUNCTYPE(c_void_p)


class _ContextHead(ctypes.Structure):
    """struct tw_context up to its arrays, which stand on cache lines of their own."""

    _fields_ = [
        *((name, c_void_p) for name in ("params", "shared", "block_counts", "local", "local_written", "ranges")),
        ("range_count", c_uint64),
        *((name, c_void_p) for name in ("histograms", "stop", "thread_ids")),
        *((name, c_void_p) for name in RUNTIME_FUNCTIONS),
        *((name, c_uint64) for name in ("shared_bytes", "local_bytes", "cleared_local_bytes", "dynamic_shared_bytes", "clock")),
        ("ctaid", c_uint32 * 3),
        ("nctaid", c_uint32 * 3),
        *((name, c_uint32) for name in ("warp_index", "sm", "sms", "entry")),
        *((name, c_void_p) for name in ("site_counts", "sites", "buffers")),
        ("buffer_count", c_uint64),
        ("watch", c_void_p),
        ("screen", c_void_p),
        ("faults", c_void_p),
        *((name, c_uint64) for name in ("fault_count", "fault_capacity", "faults_lost", "barriers")),
        ("fast", c_void_p),
        ("careful", c_void_p),
        ("compile_careful", COMPILE_CAREFUL),
        ("heads", c_void_p),
        *((name, c_uint64) for name in ("warp_bytes", "warp_count", "threads", "words", "blocks")),
        *((name, c_void_p) for name in ("resident", "block")),
        ("resident_count", c_uint64),
        ("next_block", c_void_p),
        *((name, c_uint64) for name in ("last_block", "chunk", "first_taken", "end_taken")),
        ("chosen", c_void_p),
        *((name, c_uint64) for name in ("is_alone",)),
        ("print_text", c_void_p),
        *((name, c_uint64) for name in ("print_capacity", "print_used", "print_lost", "seed")),
        *((name, c_void_p) for name in ("exits", "stands", "writers")),
        *((name, c_uint64) for name in ("writer_count", "is_opaque", "changes")),
    ]


class Context(ctypes.Structure):
    """struct tw_context."""

    _fields_ = [
        *_ContextHead._fields_,
        ("padding", c_uint8 * (-ctypes.sizeof(_ContextHead) % CACHE_LINE)),
        ("addresses", c_uint64 * LANES),
        ("values", c_uint8 * (ELEMENTS * LANES * 8)),
    ]


class Runtime:
    """The loaded library: `run(context)`, `free(context)` and the addresses that compiled kernels call."""

    def __init__(self, library: ctypes.CDLL) -> None:
        sizes, functions = (c_uint64 * 12)(), (c_void_p * len(RUNTIME_FUNCTIONS))()
        library.tw_abi(sizes, functions)
        mirrored = [
            ctypes.sizeof(kind)
            for kind in (Context, Warp, Buffer, Range, Site, Fault, SiteCounts, Block, Watch, Conflict, Unwritten, Screen)
        ]
        if list(sizes) != mirrored:
            raise TilewiseError(
                f"the compiled runtime {LIBRARY} does not belong to this version (structures of {list(sizes)} bytes instead of "
                f"{mirrored}): reinstall tilewise."
            )
        self.functions = dict(zip(RUNTIME_FUNCTIONS, functions, strict=True))
        self.run = library.tw_run
        self.run.argtypes, self.run.restype = [c_void_p], c_int32
        self.free = library.tw_free
        self.free.argtypes, self.free.restype = [c_void_p], None


@functools.cache
def load_runtime() -> Runtime:
    """Return the runtime library.

    Raises TilewiseError if it was not built.
    """
    try:
        return Runtime(ctypes.CDLL(str(LIBRARY)))
    except OSError as error:
        raise TilewiseError(
            f"the emulator's runtime cannot be loaded ({error}): install tilewise again, or run make setup."
        ) from None
