from __future__ import annotations

import pytest

from tilewise.kernels.header import parse_header, read_header
from tilewise.kernels.ladder import LADDER, Rung
from tilewise.kernels.source import CUDA_FOLDER

TERMINAL = 80


@pytest.mark.parametrize("row", LADDER, ids=lambda row: row.name)
def test_every_rung_says_what_it_is(row: Rung) -> None:
    header = read_header(row)
    assert (header.name, header.title) == (row.name, row.title)
    assert all(text.endswith(".") for text in (header.idea, header.removes, header.leaves))
    assert len(header.picture) > 3
    assert all(header.picture[end] for end in (0, -1))
    assert min(len(line) - len(line.lstrip()) for line in header.picture if line) == 0


@pytest.mark.parametrize("row", LADDER, ids=lambda row: row.name)
def test_pictures_fit_a_terminal_as_explain_indents_them(row: Rung) -> None:
    assert max(map(len, read_header(row).picture)) <= TERMINAL - 2


def test_header_is_the_sources_own_text() -> None:
    first = (CUDA_FOLDER / "rungs/r03_smem_tile.cu").read_text().splitlines()[0]
    header = read_header(next(row for row in LADDER if row.name == "r03"))
    assert first == f"// {header.name}  {header.title}: {header.idea}"


def test_parts_are_told_apart() -> None:
    comment = [
        " r99  idle: nothing",
        " happens.",
        "",
        "   +--+",
        "     |",
        "",
        " Removes: work, all",
        "          of it.",
        " Left:    sleep.",
    ]
    header = parse_header([comment[0] + comment[1], *comment[2:]])
    assert (header.name, header.title, header.idea) == ("r99", "idle", "nothing happens.")
    assert header.picture == ("+--+", "  |")
    assert (header.removes, header.leaves) == ("work, all of it.", "sleep.")


@pytest.mark.parametrize("comment", [[], [" no header"], [" r99  idle: nothing.", " Removes: work."]])
def test_other_comments_are_no_headers(comment: list[str]) -> None:
    with pytest.raises(ValueError, match="not a rung's header"):
        parse_header(comment)
