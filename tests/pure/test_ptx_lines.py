from __future__ import annotations

from tilewise.ptx.ast import Instruction, Position
from tilewise.ptx.parse import parse

HEAD = ".version 9.5\n.target sm_100\n.address_size 64\n"


def positions(body: str, tail: str) -> list[Position | None]:
    """The position of each `ret` of a kernel, without files' and strings' sections before its body."""
    (kernel,) = parse(f"{HEAD}.entry k()\n{{\n{body}\n}}\n{tail}").functions
    return [item.position for item in kernel.body if isinstance(item, Instruction)]


def strings(*names: str) -> str:
    """A .debug_str section as compilers write it, one label a name."""
    rows = []
    for number, name in enumerate(names):
        rows.append(f"$L__info_string{number}:\n.b8 {','.join(str(byte) for byte in name.encode())},0")
    return ".section\t.debug_str\n{\n" + "\n".join(rows) + "\n\n}\n"


FILES = '.file\t1 "/src/a//b.cu"\n.file 2 "c:\\\\x \\"y\\".cuh", 1234, 99\n'


def test_file_after_the_body_names_the_source() -> None:
    assert positions(".loc 1 5 3\nret;\n.loc 2 7\nret;", FILES) == [
        Position("/src/a//b.cu", 5, 3),
        Position('c:\\x "y".cuh', 7, 0),
    ]


def test_no_position_before_the_first_loc() -> None:
    assert positions("ret;\n.loc 1 5 3\nret;", FILES) == [None, Position("/src/a//b.cu", 5, 3)]


def test_line_zero_keeps_the_position_before() -> None:
    found = positions(".loc 1 0 9\nret;\n.loc 1 5 3\nret;\n.loc 1 0 4\nret;\n.loc 2 0 4\nret;", FILES)
    assert found == [None, *3 * [Position("/src/a//b.cu", 5, 3)]]


def test_position_does_not_leak_into_the_next_function() -> None:
    text = HEAD + ".entry a()\n{\n.loc 1 5 3\nret;\n}\n.entry b()\n{\nret;\n}\n" + FILES
    first, second = parse(text).functions
    assert (first.position, second.position) == (Position("/src/a//b.cu", 5, 3), None)
    item = second.body[0]
    assert isinstance(item, Instruction)
    assert item.position is None


def test_chain_of_inlined_calls() -> None:
    body = """
    .loc 1 46 28
    .loc 1 44 34, function_name $L__info_string0, inlined_at 1 46 28
    .loc 1 43 50, function_name $L__info_string1, inlined_at 1 44 34
    ret;
    .loc 1 46 30
    ret;
    """
    kernel = Position("/src/a//b.cu", 46, 28)
    outer = Position("/src/a//b.cu", 44, 34, "_Z5outerf", kernel)
    inner = Position("/src/a//b.cu", 43, 50, "_Z5innerf", outer)
    found = positions(body, FILES + strings("_Z5outerf", "_Z5innerf"))
    assert found == [inner, Position("/src/a//b.cu", 46, 30)]
    assert found[0] is not None
    assert found[0].outermost == kernel


def test_chain_follows_the_latest_inlining_of_a_line() -> None:
    body = """
    .loc 1 9 1, function_name $L__info_string0, inlined_at 1 20 1
    .loc 1 5 1, function_name $L__info_string1, inlined_at 1 9 1
    ret;
    .loc 1 9 1, function_name $L__info_string0, inlined_at 1 30 1
    .loc 1 5 1, function_name $L__info_string1, inlined_at 1 9 1
    ret;
    """
    found = positions(body, FILES + strings("f", "g"))
    assert [place.outermost.line for place in found if place] == [20, 30]


def test_name_at_an_offset_from_a_label() -> None:
    body = "\n".join(
        f".loc 1 5 1, function_name {name}, inlined_at 1 9 1\nret;"
        for name in ("$L__info_string0+4", "$L__info_string0 + 8", ".debug_str+4", "$L__info_string9", "$L__info_string0+5")
    )
    found = positions(body, FILES + strings("one", "two", "three"))
    assert [place.function for place in found if place] == ["two", "three", "two", None, None]


def test_recursion_inlined_into_itself_stays_a_short_chain() -> None:
    step = ".loc 1 5 1, function_name $L__info_string0, inlined_at {}\nret;\n"
    found = positions(step.format("1 9 1") + 1000 * step.format("1 5 1"), FILES + strings("f"))
    assert found == 1001 * [Position("/src/a//b.cu", 5, 1, "f", Position("/src/a//b.cu", 9, 1))]


def test_endless_chain_is_cut() -> None:
    body = "".join(f".loc 1 {line} 1, function_name $L__info_string0, inlined_at 1 {line - 1} 1\nret;" for line in range(2, 5000))
    found = positions(body, FILES + strings("f"))
    place, length = found[-1], 0
    while place is not None:
        place, length = place.inlined_at, length + 1
    assert length < 100
    assert hash(found[-1]) == hash(found[-1])


def test_file_that_is_not_declared_is_named_by_number() -> None:
    assert positions(".loc 7 5 3\nret;", "") == [Position("<file 7>", 5, 3)]
