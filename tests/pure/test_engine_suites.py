from __future__ import annotations

import re
from pathlib import Path

import pytest

from tilewise.core.errors import TilewiseError
from tilewise.core.problem import Problem
from tilewise.engine.suites import SUITES, Shape, load_shapes, load_suites, read_shapes


def test_every_suite_has_products_and_no_product_stands_twice() -> None:
    shapes = load_suites()
    assert {shape.suite for shape in shapes} == set(SUITES)
    assert len(set(shapes)) == len(shapes)


def test_chosen_suites_alone() -> None:
    assert {shape.suite for shape in load_suites(["odd", "square"])} == {"odd", "square"}


def test_file_may_leave_out_what_has_a_default_and_name_types_as_it_likes(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("N,M,K,note,dtype\n2,1,3,x,\n5,4,6,y,fp32\n")
    assert load_shapes(path) == [Shape("shapes", Problem(1, 2, 3)), Shape("shapes", Problem(4, 5, 6))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv has no products"),
        ("M,N,K\n", "t.csv has no products"),
        ("M,N\n1,2\n", "t.csv:2: K missing; the columns are M, N: give M, N and K."),
        ("M,N,K\n1,2,3\n1,0,3\n", "t.csv:3: N = '0' is not a whole number of at least 1."),
        ("M,N,K\n1,2,3.5\n", "t.csv:2: K = '3.5' is not a whole number"),
        ("M,N,K,layout\n1,2,3,rx\n", "t.csv:2: layout 'rx' is unknown"),
        ("M,N,K,dtype\n1,2,3,f31\n", "t.csv:2: dtype 'f31' is not supported yet"),
    ],
)
def test_lines_that_are_no_products_are_named(text: str, message: str) -> None:
    with pytest.raises(TilewiseError, match=re.escape(message)):
        read_shapes(text, "t.csv")


def test_file_that_is_not_there() -> None:
    with pytest.raises(TilewiseError, match=r"nowhere\.csv cannot be read \(No such file or directory\)"):
        load_shapes(Path("nowhere.csv"))


def test_unknown_suite() -> None:
    with pytest.raises(TilewiseError, match=r"there is no suite 'skiny'\. Did you mean skinny\?"):
        load_suites(["skiny"])
