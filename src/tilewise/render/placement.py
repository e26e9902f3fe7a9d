"""Where labels go beside their points so that nothing lies on anything: boxes in pixels, no drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SIDES = ((1, 0), (-1, 0), (1, -1), (-1, 1), (0, -1), (0, 1), (1, 1), (-1, -1))
"""Directions from a point, the better ones first: right, left, below right, above left, below, above, above right, below left."""
DISTANCES = (1, 1.6, 2.4, 3.4, 4.6)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: left, bottom, right, top."""

    left: float
    bottom: float
    right: float
    top: float

    def overlap(self, other: Box) -> float:
        """Return the area shared with another box."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        return width * height if width > 0 and height > 0 else 0.0


def place_labels(
    points: Sequence[tuple[float, float]], sizes: Sequence[tuple[float, float]], taken: Sequence[Box], frame: Box, gap: float
) -> list[Box]:
    """Return a box of each size beside its point.

    Each takes, the largest first, the side and the distance (`gap` pixels if it can be) where it covers least of what is taken
    (`taken` and the labels before it) and leaves the frame least.
    """
    placed: dict[int, Box] = {}
    for index in sorted(range(len(points)), key=lambda index: -sizes[index][0] * sizes[index][1]):
        boxes = [_beside(points[index], sizes[index], side, gap * distance) for distance in DISTANCES for side in SIDES]
        placed[index] = min(boxes, key=lambda box: _cost(box, [*taken, *placed.values()], frame))
    return [placed[index] for index in range(len(points))]


def _beside(point: tuple[float, float], size: tuple[float, float], side: tuple[int, int], gap: float) -> Box:
    (x, y), (width, height), (across, up) = point, size, side
    left = x + gap if across > 0 else x - gap - width if across < 0 else x - width / 2
    bottom = y + gap if up > 0 else y - gap - height if up < 0 else y - height / 2
    return Box(left, bottom, left + width, bottom + height)


def _cost(box: Box, taken: Sequence[Box], frame: Box) -> float:
    outside = (box.right - box.left) * (box.top - box.bottom) - box.overlap(frame)
    return outside + sum(box.overlap(other) for other in taken)
