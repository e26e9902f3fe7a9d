"""The ladder's JSON: a list with one object a rung; a rung's other plans stand in its object, under "variants"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Row(Protocol):
    """A row of the ladder, of either kind."""

    def to_json(self) -> dict[str, object]:
        """Return the row by itself."""


def to_objects(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return one object a rung, in the order of the rows; every object has "variants", mostly empty."""
    objects: list[dict[str, object]] = []
    variants: dict[object, list[dict[str, object]]] = {}
    for row in rows:
        one = row.to_json()
        if one["variant"]:
            variants.setdefault(one["rung"], []).append({**one, "variants": []})
        else:
            objects.append(one)
    return [{**one, "variants": variants.get(one["rung"], [])} for one in objects]


def from_objects(objects: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows that objects hold, a rung's other plans before its own as the table has them."""
    return [row for one in objects for row in (*one.get("variants", ()), one)]
