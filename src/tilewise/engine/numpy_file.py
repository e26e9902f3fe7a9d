"""Reads a .npy file that may come from anybody: the header is held against a pattern and the file's size before NumPy sees it.

Format: numpy.lib.format, "Format Specification: versions 1.0 to 3.0".
"""

from __future__ import annotations

import math
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewise.core.argument import FileFill
from tilewise.core.scanner import FlagText
from tilewise.engine.memory import require_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER_LIMIT = 4096
"""Bytes of a header: those of plain arrays have 118."""

_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    rb"\{'descr': '[<>|=](?P<type>[fiub])(?P<bytes>[1248])', 'fortran_order': (?:True|False), "
    rb"'shape': \((?P<shape>(?:[0-9]{1,19},? ?){0,8})\), \} *\n"
)
"""What numpy.save writes for an array of plain numbers."""


def load_array(fill: FileFill, source: FlagText) -> NDArray[Any]:
    """Return the array in a file, in this machine's byte order.

    Raises TilewiseError that points at the path in `source` for one outside its folder, for what is no .npy file of plain
    numbers, and for one beyond memory.
    """
    path = _locate(fill, source)
    try:
        elements, bytes_ = _check(path)
    except _Unreadable as reason:
        raise source.error(f"{path} {reason}", fill.at) from None
    except OSError as error:
        raise source.error(f"{path} cannot be read: {error.strerror}", fill.at) from None
    require_memory(elements * bytes_, f"the array in {path}")
    return _load(path, fill, source)


class _Unreadable(Exception):
    """Why a file is no array that can be read; completes a sentence."""


def _locate(fill: FileFill, source: FlagText) -> Path:
    if "\0" in fill.path:
        raise source.error("a NUL character is part of no file's name", fill.at)
    path = Path(fill.path) if fill.folder is None else fill.folder / fill.path
    if fill.folder is not None:
        inside, real = Path(os.path.realpath(fill.folder)), Path(os.path.realpath(path))  # unlike resolve(), these never raise
        if not real.is_relative_to(inside):
            raise source.error("a comment line can name files in the folder of its own file and below, no others", fill.at)
    return path


def _check(path: Path) -> tuple[int, int]:
    """Return the number of elements and the bytes of one, after checking that the file has them."""
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for somebody to write to it
        raise _Unreadable("is no regular file")
    with path.open("rb") as file:
        file_bytes = os.fstat(file.fileno()).st_size
        head = file.read(12)
        size_bytes = 2 if head[6:7] == b"\1" else 4
        if head[:6] != _MAGIC or head[6:8] not in (b"\1\0", b"\2\0", b"\3\0") or len(head) < 12:
            raise _Unreadable("is no .npy file: make one with numpy.save")
        size, start = int.from_bytes(head[8 : 8 + size_bytes], "little"), 8 + size_bytes
        if size > HEADER_LIMIT:
            raise _Unreadable(f"has a header of {size} bytes: plain arrays have at most {HEADER_LIMIT}")
        file.seek(start)
        header = _HEADER.fullmatch(file.read(size))
    if header is None:
        raise _Unreadable("holds no array of plain numbers: save one of floats, integers or booleans with numpy.save")
    elements = math.prod(int(digits) for digits in re.findall(rb"[0-9]+", header["shape"]))
    if file_bytes < start + size + elements * int(header["bytes"]):
        raise _Unreadable(f"is cut short: {elements} elements of {int(header['bytes'])} bytes are not all there")
    return elements, int(header["bytes"])


def _load(path: Path, fill: FileFill, source: FlagText) -> NDArray[Any]:
    import numpy as np

    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:  # it changed since it was looked at
        raise source.error(f"{path} cannot be read: {error}", fill.at) from None
    return np.asarray(array, array.dtype.newbyteorder("=")) if not array.dtype.isnative else array
