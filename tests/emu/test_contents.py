"""What an array held is put back, whatever happened to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewise.emu.contents import PART_BYTES, Contents


@pytest.mark.parametrize("shape", [(0,), (7,), (3, 5), (PART_BYTES // 4 * 2 + 13,)])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.float64])
def test_array_holds_again_what_it_held(shape: tuple[int, ...], dtype: type) -> None:
    rng = np.random.default_rng(5)
    array: NDArray[Any] = rng.integers(0, 3, shape).astype(dtype)
    array.reshape(-1)[array.size // 2 :] = 0  # parts of nothing but zeros
    held = array.copy()
    contents = Contents(array)
    array[...] = rng.integers(0, 99, shape)
    contents.put_back()
    np.testing.assert_array_equal(array, held)


def test_view_with_gaps_is_put_back_and_what_lies_between_left_alone() -> None:
    base = np.arange(24, dtype=np.float32)
    view = base.reshape(4, 6)[:, ::2]
    contents = Contents(view)
    base[...] = -1
    contents.put_back()
    np.testing.assert_array_equal(view, np.arange(24, dtype=np.float32).reshape(4, 6)[:, ::2])
    assert (base.reshape(4, 6)[:, 1::2] == -1).all()
