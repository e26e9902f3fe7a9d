"""Launch facts: flags, comment lines, and which of them hold for which kernel."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.errors import TilewiseError
from tilewise.core.launch_facts import FLAGS, LaunchFacts, choose_facts, parse_facts, read_comment_facts

HERE = Path()


def read(text: str) -> tuple[LaunchFacts, ...]:
    return read_comment_facts(text, "k.cu", HERE)


def sizes(facts: LaunchFacts, field: str, **names: int) -> list[int]:
    return [size.evaluate(names) for size in getattr(facts, field)]


def test_lines_state_flags_as_a_shell_splits_them() -> None:
    (facts,) = read(
        "#include <x>\n"
        "// tilewise: --grid n/16,2 --block=16,16 --arg 'A=f32[n, n]:normal'\n"
        '   //tilewise: --kernel "mm< 16 >" --smem 4*n --arg n=64 --seed 7 --cluster 2\n'
        "int x; // tilewise: --seed 8\n"
    )
    assert facts.kernel == "mm< 16 >"
    assert sizes(facts, "grid", n=64) == [4, 2]
    assert sizes(facts, "block") == [16, 16]
    assert sizes(facts, "cluster") == [2]
    assert facts.smem is not None
    assert facts.smem.evaluate({"n": 2}) == 8
    assert [argument.name for argument in facts.args] == ["A", "n"]
    assert facts.seed == 7
    assert facts.args[1].source.where == "k.cu:3"


def test_file_without_lines_states_nothing() -> None:
    assert read("__global__ void k() {} // tilewise: --grid 1\n// tilewise-ignore: race.benign -- fine\n//tilewise: \n") == ()


def test_each_kernel_has_its_facts_and_those_before_the_first() -> None:
    common, first, second = "--arg n=64 --block 32", "--kernel a --grid 1", "--kernel b --grid 2 --block 64 --arg m=1 --arg n=3"
    stated = read(f"// tilewise: {common} {first}\n// tilewise: --seed 1\n// tilewise: {second}")
    assert [facts.kernel for facts in stated] == ["a", "b"]
    a, b = stated
    assert (sizes(a, "grid"), sizes(a, "block"), a.seed) == ([1], [32], 1)
    assert (sizes(b, "grid"), sizes(b, "block"), b.seed) == ([2], [64], None)
    assert [argument.source.text for argument in b.args] == ["n=3", "m=1"]
    assert choose_facts(stated, "b", "k.cu") is b
    assert choose_facts(stated, "c", "k.cu") == LaunchFacts()
    with pytest.raises(TilewiseError, match=r"k\.cu states launches of 2 kernels: choose one of a, b with --kernel"):
        choose_facts(stated, None, "k.cu")


def test_facts_of_one_kernel_need_no_choice_and_a_template_is_found_whatever_its_blanks() -> None:
    stated = read("// tilewise: --kernel 'mm<16, 2>' --grid 1")
    assert choose_facts(stated, None, "k.cu") is stated[0]
    assert choose_facts(stated, "mm<16,2>", "k.cu") is stated[0]
    without = read("// tilewise: --grid 1")
    assert choose_facts(without, "any", "k.cu") is without[0]
    assert choose_facts((), None, "k.cu") == LaunchFacts()


def test_command_line_overrides_and_keeps_the_place_of_an_argument() -> None:
    (stated,) = read("// tilewise: --grid 1 --block 32 --arg A=f32[n] --arg n=64")
    given = parse_facts([("--grid", "2"), ("--arg", "A=f32[n]:zeros"), ("--arg", "k=1")])
    facts = stated.overridden_by(given)
    assert sizes(facts, "grid") == [2]
    assert sizes(facts, "block") == [32]
    assert [argument.source.text for argument in facts.args] == ["A=f32[n]:zeros", "n=64", "k=1"]
    assert stated.overridden_by(LaunchFacts()) == stated


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--nvcc x", r"'--nvcc' is no launch fact, and a comment line states nothing else"),
        ("-DX=1", r"'-DX' is no launch fact"),
        ("-I /etc", r"'-I' is no launch fact"),
        ("--gird 4", r"Did you mean --grid"),
        ("4,4", r"'4,4' is no launch fact"),
        ("--grid", r"--grid has no value"),
        ("--grid ''", r"--grid, column 1: expected a whole number"),
        ("'", r"cannot be split into words: no closing quotation"),
        ("--grid 1,2,3,4", r"column 6: expected at most three sizes"),
        ("--grid 1;2", r"column 2: expected , and another size, or nothing"),
        ("--grid 4 --grid 4", r"--grid is given twice"),
        ("--arg n=1 --arg n=2", r"argument n is given twice"),
        ("--smem 1,2", r"expected one number of bytes"),
        ("--seed -1", r"a seed is a whole number"),
        ("--seed 18446744073709551616", r"a seed is a whole number"),
        ("--kernel ''", r"expected a kernel's name"),
        ("--arg n=", r"--arg, column 3"),
        ("--seed " + "1" * 9000, r"9008 characters long: at most 8192"),
    ],
)
def test_wrong_lines_are_refused_where_they_stand(line: str, said: str) -> None:
    with pytest.raises(TilewiseError, match=said) as caught:
        read(f"\n\n// tilewise: {line}\n")
    assert caught.value.where == "k.cu:3"


def test_fact_on_two_lines_is_refused_at_the_second() -> None:
    with pytest.raises(TilewiseError, match=r"^k\.cu:2: --grid is given twice: an earlier line states it"):
        read("// tilewise: --grid 1\n// tilewise: --grid 1")
    with pytest.raises(TilewiseError, match=r"^k\.cu:2: --arg n is given twice"):
        read("// tilewise: --arg n=1\n// tilewise: --arg n=1")


WORDS = st.sampled_from(
    [*FLAGS, "'", '"', "\\", "=", "4", "4,4", "A=f32[4]", "n=1", "-I", "#", "\t", "//", "tilewise:", "\x85", "\r"]
)


@given(st.lists(st.lists(WORDS | st.text(max_size=5), max_size=8).map(" ".join), max_size=4))
def test_any_comment_lines_state_facts_or_are_refused(lines: list[str]) -> None:
    text = "\n".join(f"// tilewise: {line}" for line in lines)
    try:
        stated = read(text)
    except TilewiseError:
        return
    assert all(isinstance(facts, LaunchFacts) and not facts.is_empty for facts in stated)


@given(
    st.lists(
        st.tuples(st.sampled_from(["--grid", "--block", "--smem", "--seed"]), st.integers(0, 99)), unique_by=lambda pair: pair[0]
    )
)
def test_comment_line_and_command_line_mean_the_same(pairs: list[tuple[str, int]]) -> None:
    flags = [(flag, str(value)) for flag, value in pairs]
    line = shlex.join([word for pair in flags for word in pair])
    stated = read(f"// tilewise: {line}")
    given = parse_facts(flags, "k.cu:1", HERE)
    assert stated == (() if given.is_empty else (given,))
