"""JSON for programs: one indented document, in the order that the data have."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence


def as_json(data: object) -> str:
    """Return `data` (mappings, sequences, text, numbers) as JSON text.

    JSON has no NaN or infinity: such a figure becomes null.
    """
    return json.dumps(_finite(data), indent=2, allow_nan=False)


def _finite(data: object) -> object:
    match data:
        case float() if not math.isfinite(data):
            return None
        case str():
            return data
        case Mapping():
            return {key: _finite(value) for key, value in data.items()}
        case Sequence():
            return [_finite(value) for value in data]
        case _:
            return data
