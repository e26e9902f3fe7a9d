"""The one tolerance rule: when a computed product is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

TOLERANCES = {"f32": (1e-6, 1e-5)}
"""atol and rtol by dtype of the operands."""
