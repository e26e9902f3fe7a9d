"""Launch facts become arrays and numbers."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.core.encoding import decode
from tilewise.core.errors import TilewiseError
from tilewise.core.launch_facts import LaunchFacts, parse_facts, read_comment_facts
from tilewise.engine.arguments import BoundArgument, bind_arguments, configure, whole_numbers
from tilewise.engine.check_results import input_values
from tilewise.ptx.declarations import read_parameters

POINTER = ".param .u64 .ptr .align 1 p{}"


def facts_of(*args: str, **flags: str) -> LaunchFacts:
    return parse_facts([*((f"--{name}", value) for name, value in flags.items()), *(("--arg", text) for text in args)])


def bind(*args: str, parameters: str | None = None, **flags: str) -> tuple[BoundArgument, ...]:
    """Bind arguments, to pointers unless `parameters` are given."""
    facts = facts_of(*args, **flags)
    declared = ", ".join(POINTER.format(index) for index in range(len(args))) if parameters is None else parameters
    return bind_arguments(facts, read_parameters(declared, 1), whole_numbers(facts))


def array_of(text: str, *numbers: str, **flags: str) -> Any:
    parameters = ", ".join([POINTER.format(0), *(f".param .u32 n{index}" for index in range(len(numbers)))])
    return bind(text, *numbers, parameters=parameters, **flags)[0].array


def number_of(text: str, parameter: str) -> Any:
    (argument,) = bind(text, parameters=f".param {parameter} p")
    return argument.passed


# -- fills


@pytest.mark.parametrize("dtype", ["f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2"])
def test_normal_numbers_have_mean_0_and_deviation_1(dtype: str) -> None:
    (argument,) = bind(f"A={dtype}[300,200]:normal")
    assert argument.dtype is not None
    values = decode(argument.array, argument.dtype).astype(np.float64)  # type: ignore[arg-type]
    assert values.shape == (300, 200)
    assert abs(values.mean()) < 0.03
    assert abs(values.std() - 1) < 0.03


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("f32", "-2", "3.5"), ("s8", "-128", "128"), ("u16", "5", "9"), ("f16", "1", "1")]
)
def test_uniform_numbers_fill_their_range(dtype: str, low: str, high: str) -> None:
    values = array_of(f"A={dtype}[100000]:uniform({low},{high})").astype(np.float64)
    least, greatest = float(low), float(high) - (dtype[0] in "su")
    assert values.min() >= least
    assert values.max() <= greatest
    if least < greatest:
        assert abs(values.mean() - (least + greatest) / 2) < 0.02 * (greatest - least + 1)


def test_uniform_reaches_both_ends_of_the_widest_integers() -> None:
    values = array_of("A=u64[1000]:uniform(0,0x10000000000000000-1)".replace("0x10000000000000000-1", "18446744073709551615"))
    assert values.dtype == np.uint64
    assert values.max() > 2**63


def test_arange_counts_and_wraps() -> None:
    np.testing.assert_array_equal(array_of("A=f32[2,3]:arange"), [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(array_of("A=u8[600]:arange"), np.arange(600) % 256)


def test_arange_goes_on_past_what_is_drawn_at_once() -> None:
    values = array_of("A=s32[3000000]:arange")
    np.testing.assert_array_equal(values, np.arange(3_000_000))


@pytest.mark.parametrize(("text", "value"), [("f32[2]:full(-1.5)", -1.5), ("s8[2]:full(-128)", -128), ("f64[2]:full(n)", 7)])
def test_full_holds_one_number(text: str, value: float) -> None:
    assert array_of(f"A={text}", "n=7").tolist() == [value, value]


@pytest.mark.parametrize("dtype", ["f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2"])
def test_poison_is_nan_in_every_float_and_marked(dtype: str) -> None:
    (argument,) = bind(f"C={dtype}[3]")
    assert argument.is_poison
    assert argument.dtype is not None
    assert np.isnan(decode(argument.array, argument.dtype)).all()  # type: ignore[arg-type]


def test_zeros_are_zero_and_no_poison() -> None:
    (argument,) = bind("C=f32[3,2;4,2]:zeros")
    assert not argument.is_poison
    assert argument.array is not None
    assert not argument.array.any()


@pytest.mark.parametrize("fill", ["normal", "uniform(0,1)", "arange", "full(3)", "zeros"])
@pytest.mark.parametrize("strides", ["1,40", "7,1", "9,2"])
def test_strides_change_where_values_stand_and_not_what_they_are(fill: str, strides: str) -> None:
    array, dense = array_of(f"A=f32[30,5;{strides}]:{fill}"), array_of(f"A=f32[30,5]:{fill}")
    np.testing.assert_array_equal(array, dense)
    assert array.strides == tuple(4 * int(stride) for stride in strides.split(","))


def test_gaps_between_strides_are_poison() -> None:
    array = array_of("A=f32[3,2;4,1]:zeros")
    memory = np.lib.stride_tricks.as_strided(array, (10,), (4,))
    assert np.isnan(memory).tolist() == [False, False, True, True, False, False, True, True, False, False]


def test_values_hang_on_seed_and_position_alone() -> None:
    first, second = bind("A=f32[100]:normal", "B=f32[100]:normal")
    again, other = bind("X=f32[100]:normal", "B=f32[50,2]:normal", seed="0")
    assert first.array is not None
    assert second.array is not None
    assert other.array is not None
    assert again.array is not None
    np.testing.assert_array_equal(first.array, again.array)
    np.testing.assert_array_equal(second.array, other.array.ravel())
    assert (first.array != second.array).any()
    assert (array_of("A=f32[100]:normal", seed="1") != first.array).any()


def test_sizes_take_any_whole_number_and_numbers_those_before_them() -> None:
    assert array_of("A=f32[n*k]", "n=3", "k=n+1").shape == (12,)
    with pytest.raises(TilewiseError, match=r"column 3: no whole-number argument that is known here is called k"):
        array_of("A=f32[4]", "n=k", "k=3")
    with pytest.raises(TilewiseError, match="is called a"):
        bind("A=f32[a]", "a=f32:3", parameters=f"{POINTER.format(0)}, .param .f32 a")


# -- refusals


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A=s32[4]:normal", "normal numbers are not whole, as s32 is: give uniform"),
        ("A=f32[4]:uniform(1,0)", "two finite numbers, the lower first"),
        ("A=f32[4]:uniform(0,inf)", "two finite numbers"),
        ("A=f64[4]:uniform(-1e308,1e308)", "two finite numbers"),
        ("A=u8[4]:uniform(0,257)", "whole numbers with 0 <= low < high <= 256"),
        ("A=u8[4]:uniform(0,0)", "whole numbers with 0 <= low"),
        ("A=u8[4]:uniform(0,1.5)", "whole numbers with 0 <= low"),
        ("A=u8[4]:full(256)", "a whole number from 0 to 255"),
        ("A=u8[4]:full(1.0)", "a whole number from 0 to 255"),
        ("A=f32[0-1]", "a size is -1: give 0 or more"),
        ("A=f32[4;0]", "a stride is 0: give 1 or more"),
        ("A=f32[4,4;3,1]", "elements 3 apart overlap, since shorter strides reach 4 far: give 4 or more"),
        ("A=f32[4,4;1,1]", "elements 1 apart overlap"),
        ("A=f32[1,4;1,1]:zeros", ""),
        ("A=f32[18446744073709551615]", "a size of 18446744073709551615 is too large"),
        ("A=f32[281474976710656,281474976710656]", "is more than any memory holds"),
        ("A=f32[0,99999999999,99999999999]", "is more than any memory holds"),
        ("A=f32[200000000000]", "GB of memory"),
        ("A=f32[2,2;200000000000,1]", "GB of memory"),
    ],
)
def test_arrays_that_cannot_be_are_refused(text: str, said: str) -> None:
    if not said:
        assert array_of(text).shape == (1, 4)
        return
    with pytest.raises(TilewiseError) as caught:
        array_of(text)
    assert said in str(caught.value)


def test_arrays_beyond_memory_together_are_refused_before_any_is_made() -> None:
    tracemalloc.start()
    with pytest.raises(TilewiseError, match=r"the arguments needs .* GB of memory"):
        bind("A=f32[1000000]:normal", "B=f32[100000000000000]")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


# -- numbers


@pytest.mark.parametrize(
    ("text", "parameter", "value"),
    [
        ("n=64", ".u32", 64),
        ("n=-1", ".u32", -1),
        ("n=0xffffffff", ".s32", 0xFFFFFFFF),
        ("n=s8:-3", ".s8", -3),
        ("n=u64:18446744073709551615", ".u64", 2**64 - 1),
        ("a=2", ".f32", 2.0),
        ("a=2.5", ".f64", 2.5),
        ("a=f32:2.5", ".f32", 2.5),
        ("a=f32:2.5", ".b32", 0x40200000),
        ("a=bf16:-1", ".b16", 0xBF80),
        ("h=f16:1.5", ".align 2 .b8 x[2]", np.void(b"\x00\x3e")),
        ("h=s32:-2", ".b8 x[4]", np.void(b"\xfe\xff\xff\xff")),
        ("p=0", ".u64 .ptr", 0),
    ],
)
def test_numbers_fit_their_parameter(text: str, parameter: str, value: object) -> None:
    name = parameter if "x[" in parameter else f"{parameter} x"
    (argument,) = bind(text, parameters=f".param {name}")
    assert argument.passed == value
    assert type(argument.passed) is type(value)


@pytest.mark.parametrize(
    ("text", "parameter", "value"),
    [
        ("n=-3", ".u32 x", -3.0),
        ("a=2.5", ".f64 x", 2.5),
        ("a=f32:2.5", ".b32 x", 2.5),
        ("a=bf16:-1", ".b16 x", -1.0),
        ("h=f16:1.5", ".align 2 .b8 x[2]", 1.5),
        ("h=s32:-2", ".b8 x[4]", -2.0),
    ],
)
def test_expectations_take_the_number_whatever_its_parameter_is(text: str, parameter: str, value: float) -> None:
    arguments = bind(text, parameters=f".param {parameter}")
    (estimate,) = input_values(arguments, frozenset(text[0])).values()
    assert estimate.value == value


def test_array_is_passed_by_value_where_the_parameter_is_a_structure() -> None:
    (argument,) = bind("v=f32[4]:arange", parameters=".param .align 16 .b8 v[16]")
    assert not argument.is_buffer
    assert isinstance(argument.passed, np.void)
    assert argument.passed.tobytes() == np.arange(4, dtype=np.float32).tobytes()


@pytest.mark.parametrize(
    ("text", "parameter", "said"),
    [
        ("n=2.5", ".u32 x", "no whole number of 32 bits"),
        ("n=4294967296", ".u32 x", "no whole number of 32 bits"),
        ("n=-2147483649", ".u32 x", "no whole number of 32 bits"),
        ("n=256", ".u8 x", "no whole number of 8 bits"),
        ("n=s8:128", ".s8 x", "no whole number of 8 bits"),
        ("n=u32:-1", ".u32 x", "no whole number of 32 bits"),
        ("n=1", ".b128 x", "no whole number of 128 bits"),
        ("n=f32:1", ".u32 x", "n is f32, and the parameter is u32"),
        ("n=s64:1", ".u32 x", "n is s64, and the parameter is u32"),
        ("a=s32:1", ".f32 x", "a is s32, and the parameter is f32"),
        ("A=f32[4]", ".u32 x", "A is an array, and the parameter is a number (u32): give such as A=64"),
        ("A=f32[4]", ".f64 x", "A is an array, and the parameter is a number (f64)"),
        ("A=64", ".u64 .ptr x", "the parameter is a pointer: give an array, such as A=f32[64]:zeros"),
        ("h=1.5", ".b8 x[2]", "the parameter is a structure (b8[2]): give a type too, such as h=f16:1.5"),
        ("h=f32:1.5", ".b8 x[2]", "h has 4 bytes, and the parameter is a structure of 2"),
        ("v=f32[3]", ".b8 x[16]", "v has 12 bytes, and the parameter is a structure of 16"),
        ("h=s8:300", ".b8 x[1]", "no whole number that s8 holds"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(text: str, parameter: str, said: str) -> None:
    with pytest.raises(TilewiseError) as caught:
        bind(text, parameters=f".param {parameter}")
    assert said in str(caught.value)


def test_wrong_number_of_arguments_names_both_lists() -> None:
    with pytest.raises(TilewiseError, match=r"the kernel takes 2 arguments \(u64 pointer, f32\), not 1 \(A\)"):
        bind("A=f32[4]", parameters=f"{POINTER.format(0)}, .param .f32 a")


# -- configuration


def test_configuration_is_evaluated_with_the_arguments() -> None:
    facts = facts_of("n=100", grid="(n+15)/16,2", block="16,16", smem="n*4")
    found = configure(facts, whole_numbers(facts))
    assert (found.grid, found.block, found.cluster, found.dynamic_shared_bytes) == ((7, 2, 1), (16, 16, 1), (1, 1, 1), 400)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"grid": "1"}, "no --block"),
        ({}, "no --grid and --block"),
        ({"grid": "n-64", "block": "1"}, "n-64 is 0: give 1 to 2147483647"),
        ({"grid": "1", "block": "0"}, "column 1: give 1 to 2147483647"),
        ({"grid": "2147483648", "block": "1"}, "give 1 to 2147483647"),
        ({"grid": "1", "block": "1", "smem": "-1"}, "-1 bytes of shared memory: a block has 0 to 232448 on any device"),
        ({"grid": "1", "block": "1", "smem": "232449"}, "232449 bytes of shared memory"),
    ],
)
def test_configurations_that_cannot_be_are_refused(flags: dict[str, str], said: str) -> None:
    facts = facts_of("n=64", **flags)
    with pytest.raises(TilewiseError) as caught:
        configure(facts, whole_numbers(facts))
    assert said in str(caught.value)


# -- files


def test_file_gives_values_in_its_own_or_the_stated_layout(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "a.npy", values)
    np.save(tmp_path / "f.npy", np.asfortranarray(values))
    np.save(tmp_path / "b.npy", values.astype(">f4"))
    for name in ("a", "f", "b"):
        np.testing.assert_array_equal(array_of(f"A={tmp_path / name}.npy"), values)
        array = array_of(f"A=f32[2,3;4,1]:{tmp_path / name}.npy")
        np.testing.assert_array_equal(array, values)
        assert array.strides == (16, 4)
    assert array_of(f"A={tmp_path / 'f'}.npy").strides == (4, 8)


def test_file_of_floats_is_rounded_to_types_that_numpy_lacks(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([1.0, 0.3, 500.0], np.float32))
    assert array_of(f"A=e4m3[3]:{tmp_path}/a.npy").tolist() == [0x38, 0x2A, 0x7E]


def test_booleans_are_bytes(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([True, False]))
    (argument,) = bind(f"A={tmp_path}/a.npy")
    assert argument.dtype is not None
    assert argument.dtype.name == "u8"
    assert argument.array is not None
    assert argument.array.tolist() == [1, 0]


def save(path: Path, kind: str) -> None:
    array: Any = np.arange(4, dtype=np.float32)
    match kind:
        case "objects":
            np.save(path, np.array([{}], object), allow_pickle=True)
        case "complex":
            np.save(path, np.zeros(3, complex))
        case "scalar":
            np.save(path, np.float32(1))
        case "record":
            np.save(path, np.zeros(2, [("x", "f4")]))
        case "text":
            path.write_text("hello, hello")
        case "empty":
            path.write_bytes(b"")
        case "cut":
            np.save(path, array)
            path.write_bytes(path.read_bytes()[:-1])
        case "huge":
            np.save(path, array)
            path.write_bytes(path.read_bytes().replace(b"(4,), }" + b" " * 15, b"(4000000000000000,), }"))
        case "code":
            np.save(path, array)
            path.write_bytes(path.read_bytes().replace(b"(4,), }   ", b"((((4,), }"))
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "half":
            np.save(path, array.astype(np.float16))
        case "shape":
            np.save(path, array.reshape(2, 2))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("objects", "holds no array of plain numbers"),
        ("complex", "holds no array of plain numbers"),
        ("record", "holds no array of plain numbers"),
        ("code", "holds no array of plain numbers"),
        ("text", "is no .npy file: make one with numpy.save"),
        ("empty", "is no .npy file"),
        ("cut", "is cut short: 4 elements of 4 bytes"),
        ("huge", "is cut short: 4000000000000000 elements"),
        ("folder", "is no regular file"),
        ("pipe", "is no regular file"),
        ("absent", "cannot be read: No such file"),
        ("half", "the file holds float16: f32 is read from float32"),
        ("shape", r"the file has the shape \(2, 2\), the argument \(4,\)"),
    ],
)
def test_unfit_files_are_refused_at_their_column(tmp_path: Path, kind: str, said: str) -> None:
    path = tmp_path / "a.npy"
    save(path, kind)
    with pytest.raises(TilewiseError, match=said) as caught:
        array_of(f"A=f32[4]:{path}")
    assert "--arg, column 10:" in str(caught.value)


def test_file_of_one_number_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "a.npy", "scalar")
    with pytest.raises(TilewiseError, match="the file holds a single number"):
        array_of(f"A={tmp_path}/a.npy")


@pytest.mark.parametrize("name", ["../secret.npy", "/etc/secret.npy", "link.npy", "sub/../../secret.npy", "away/secret.npy"])
def test_comment_line_names_no_file_outside_its_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    np.save(tmp_path / "secret.npy", np.zeros(4, np.float32))
    (folder / "link.npy").symlink_to(tmp_path / "secret.npy")
    (folder / "away").symlink_to(tmp_path)
    (facts,) = read_comment_facts(f"// tilewise: --arg A=f32[4]:{name}", "k.cu", folder)
    with pytest.raises(TilewiseError, match="a comment line can name files in the folder of its own file and below, no others"):
        bind_arguments(facts, read_parameters(POINTER.format(0), 1), {})


def test_comment_line_names_files_below_its_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    np.save(tmp_path / "sub" / "a.npy", np.ones(4, np.float32))
    (facts,) = read_comment_facts("// tilewise: --arg A=sub/a.npy", "k.cu", tmp_path)
    (argument,) = bind_arguments(facts, read_parameters(POINTER.format(0), 1), {})
    assert argument.array is not None
    assert argument.array.tolist() == [1, 1, 1, 1]


HEAD = st.sampled_from([b"\x93NUMPY\x01\0", b"\x93NUMPY\x02\0", b"\x93NUMPY\x03\0", b"\x93NUMPY", b""])
HEADERS = st.sampled_from(
    [b"{'descr': '<f4', 'fortran_order': False, 'shape': (", b"4, ", b"), } \n", b"(" * 300, b"'<V4'", b"\n"]
)


@given(HEAD, st.integers(0, 5000), st.lists(HEADERS | st.binary(max_size=8), max_size=8).map(b"".join))
def test_any_bytes_of_a_file_are_an_array_or_refused(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, size: int, rest: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.npy"
    path.write_bytes(head + size.to_bytes(4 if head[6:7] > b"\1" else 2, "little") + rest)
    with pytest.raises(TilewiseError, match="--arg, column 3"):
        array_of(f"A={path}")


# -- whatever the facts

SIZES = st.sampled_from(["1", "n", "n*n", "4/n", "n-5", "0", "-1", "99999999999", "n/0", "m", "(n"])
TYPES = st.sampled_from(["f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "s8", "u8", "s32", "u64", "fp32", "x7"])
NUMBERS = st.sampled_from(
    ["0", "1", "-1", "2.5", "inf", "nan", "-inf", "1e300", "n", "256", "99999999999999999999", "18446744073709551615"]
)
FILLS = st.one_of(
    st.sampled_from(["", ":normal", ":arange", ":zeros", ":poison", ":none", ":x.npy", ":full"]),
    NUMBERS.map(":full({})".format),
    st.tuples(NUMBERS, NUMBERS).map(":uniform({0[0]},{0[1]})".format),
)
SHAPES = st.lists(SIZES, min_size=1, max_size=3).map(",".join)
STRIDES = st.just("") | SHAPES.map(";{}".format)
VALUES = (
    st.tuples(TYPES, SHAPES, STRIDES, FILLS).map("{0[0]}[{0[1]}{0[2]}]{0[3]}".format)
    | NUMBERS
    | st.tuples(TYPES, NUMBERS).map(":".join)
)
PARAMETERS = st.sampled_from(
    [
        ".u64 .ptr {}",
        ".u64 {}",
        ".b64 {}",
        ".u32 {}",
        ".s8 {}",
        ".f32 {}",
        ".f64 {}",
        ".b16 {}",
        ".b128 {}",
        ".b8 {}[2]",
        ".b8 {}[16]",
    ]
)


@given(st.lists(st.tuples(VALUES, PARAMETERS), max_size=4), SIZES, SIZES, SIZES)
def test_any_facts_make_a_launch_or_are_refused(pairs: list[tuple[str, str]], grid: str, block: str, smem: str) -> None:
    with mock.patch("tilewise.engine.memory.available_bytes", return_value=1_000_000):
        try:
            facts = facts_of(
                "n=4", *(f"a{index}={value}" for index, (value, _) in enumerate(pairs)), grid=grid, block=block, smem=smem
            )
            names = whole_numbers(facts)
            configure(facts, names)
            declared = [".u32 n", *(parameter.format(f"p{index}") for index, (_, parameter) in enumerate(pairs))]
            bound = bind_arguments(facts, read_parameters(", ".join(f".param {text}" for text in declared), 1), names)
        except TilewiseError:
            return
    assert sum(argument.array.nbytes for argument in bound if argument.array is not None) <= 1_000_000
