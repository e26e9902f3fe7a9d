"""The C structures of runtime/tilewise.h, field by field, and the library that works on them."""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_int32, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

from tilewise.core.errors import TilewiseError

LANES = 32
ELEMENTS = 8
LIBRARY = Path(__file__).parent / "runtime" / "libtilewise_runtime.so"

EXITED, AT_BARRIER, TO_FAST, TO_CAREFUL, DIVERGED, STOPPED, UNSUPPORTED = range(1, 8)
"""enum tw_status."""
FAULT_KINDS = ("out of bounds", "misaligned", "store to a read-only buffer", "divergent barrier", "deadlock", "out of bounds")
"""enum tw_fault_kind, in words."""
OUT_OF_SHARED = 5
"""The one of them that is about the shared side of a copy."""
RUNTIME_FUNCTIONS = ("access", "count", "resolve", "next", "park", "copy_copy", "copy_commit", "copy_wait")
"""Fields of Context that compiled kernels call through."""


class Warp(ctypes.Structure):
    """struct tw_warp, up to its words."""

    _fields_ = [
        *(
            (name, c_uint32)
            for name in ("resume", "mask", "live", "waiting", "barrier", "status", "careful", "insist", "wait_site")
        ),
        ("unused", c_uint32 * 7),
    ]


class Buffer(ctypes.Structure):
    """struct tw_buffer."""

    _fields_ = [(name, c_uint64) for name in ("low", "high", "delta", "writable")]


class Range(ctypes.Structure):
    """struct tw_range."""

    _fields_ = [(name, c_uint64) for name in ("low", "starts", "delta")]


class Site(ctypes.Structure):
    """struct tw_site."""

    _fields_ = [(name, c_uint32) for name in ("space", "is_store", "element_bytes", "elements")]


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
    ]


COMPILE_CAREFUL = ctypes.CFUNCTYPE(c_void_p)


class Context(ctypes.Structure):
    """struct tw_context."""

    _fields_ = [
        *((name, c_void_p) for name in ("params", "shared", "block_counts", "ranges", "histograms", "stop", "thread_ids")),
        *((name, c_void_p) for name in RUNTIME_FUNCTIONS),
        ("shared_bytes", c_uint64),
        ("ctaid", c_uint32 * 3),
        ("nctaid", c_uint32 * 3),
        ("warp_index", c_uint32),
        ("unused", c_uint32),
        *((name, c_void_p) for name in ("site_counts", "sites", "buffers")),
        ("buffer_count", c_uint64),
        ("faults", c_void_p),
        *((name, c_uint64) for name in ("fault_count", "fault_capacity", "faults_lost", "barriers")),
        ("fast", c_void_p),
        ("careful", c_void_p),
        ("compile_careful", COMPILE_CAREFUL),
        ("warps", c_void_p),
        *((name, c_uint64) for name in ("warp_bytes", "warp_count", "threads", "words", "blocks")),
        ("next_block", c_void_p),
        ("copies", c_void_p),
        *((name, c_uint64) for name in ("last_block", "chunk")),
        ("chosen", c_void_p),
        ("padding", c_uint8 * 40),
        ("addresses", c_uint64 * LANES),
        ("values", c_uint8 * (ELEMENTS * LANES * 8)),
    ]


assert Context.addresses.offset % 64 == 0


class Runtime:
    """The loaded library: `run(context)` and the addresses that compiled kernels call."""

    def __init__(self, library: ctypes.CDLL) -> None:
        sizes, functions = (c_uint64 * 7)(), (c_void_p * len(RUNTIME_FUNCTIONS))()
        library.tw_abi(sizes, functions)
        mirrored = [ctypes.sizeof(kind) for kind in (Context, Warp, Buffer, Range, Site, Fault, SiteCounts)]
        if list(sizes) != mirrored:
            raise TilewiseError(
                f"the compiled runtime {LIBRARY} does not belong to this version (structures of {list(sizes)} bytes instead of "
                f"{mirrored}): reinstall tilewise."
            )
        self.functions = dict(zip(RUNTIME_FUNCTIONS, functions, strict=True))
        self.run = library.tw_run
        self.run.argtypes, self.run.restype = [c_void_p], c_int32


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
