"""Arrays on a pretended GPU that show themselves through one interface only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from fake_driver import FakeDriver

from tilewise.gpu.dlpack import CUDA, make_capsule

Floats = npt.NDArray[np.float32]


class Interfaced:
    """Has the CUDA array interface."""

    def __init__(self, fake: FakeDriver, values: Floats, *, stream: int | None = None, read_only: bool = False) -> None:
        base = values
        while isinstance(base.base, np.ndarray):
            base = base.base
        fake.adopt(base)
        self.values = values
        self._stream, self._read_only = stream, read_only

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.values.shape,
            "strides": self.values.strides,
            "typestr": self.values.dtype.str,
            "data": (self.values.ctypes.data, self._read_only),
            "stream": self._stream,
            "version": 3,
        }


class Packed:
    """Has DLPack; `streams` are those it was asked for."""

    def __init__(self, fake: FakeDriver, values: Floats) -> None:
        self.inner = Interfaced(fake, values)
        self.streams: list[int | None] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0

    def __dlpack__(self, *, stream: int | None = None) -> Any:
        self.streams.append(stream)
        values = self.inner.values
        return make_capsule(self, values.ctypes.data, values.shape, [stride // 4 for stride in values.strides], 0)
