from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tilewise.render.placement import Box, place_labels

FRAME = Box(0, 0, 1000, 600)
SIZE = (60.0, 12.0)


def test_lonely_label_stands_to_the_right() -> None:
    assert place_labels([(100, 100)], [SIZE], [], FRAME, 10) == [Box(110, 94, 170, 106)]


def test_label_leaves_what_is_taken_and_the_frame_alone() -> None:
    right = Box(100, 0, 400, 600)
    (label,) = place_labels([(100, 100)], [SIZE], [right], FRAME, 10)
    assert label.right <= 100
    (label,) = place_labels([(995, 300)], [SIZE], [], FRAME, 10)
    assert label.right <= 1000


def test_boxes_overlap_by_the_area_they_share() -> None:
    assert Box(0, 0, 4, 4).overlap(Box(2, 1, 10, 3)) == 2 * 2
    assert Box(0, 0, 4, 4).overlap(Box(4, 0, 8, 4)) == 0


@given(st.lists(st.tuples(st.floats(200, 800), st.floats(150, 450)), min_size=1, max_size=6))
def test_few_labels_never_lie_on_each_other(points: list[tuple[float, float]]) -> None:
    marks = [Box(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    labels = place_labels(points, [SIZE] * len(points), marks, FRAME, 10)
    assert all(first.overlap(second) == 0 for first, second in combinations(labels, 2))
    assert all(label.overlap(mark) == 0 for label in labels for mark in marks)
