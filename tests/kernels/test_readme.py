from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

README = Path(__file__).parents[2] / "README.md"


def test_the_readmes_python_does_what_it_says() -> None:
    (block,) = re.findall(r"^    import numpy.*?(?=^## )", README.read_text(), re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(textwrap.dedent(block), names)

    exact = names["a"].astype(np.float64) @ names["b"].astype(np.float64)
    np.testing.assert_allclose(names["c"], exact, rtol=1e-5)
    assert [row.rung for row in names["rows"]] == ["r02", "r03"]
    np.testing.assert_array_equal(names["x"], np.full(1000, 2, np.float32))
    assert names["counters"].requested_load_bytes == 4 * 1000
