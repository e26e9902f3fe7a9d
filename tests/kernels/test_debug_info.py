"""What NVRTC's unoptimised builds say of C++ variables, read from the PTX."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.build.nvrtc import compile_source
from tilewise.core.source import KernelSource
from tilewise.ptx.ast import Instruction, Register
from tilewise.ptx.debug_info import read_functions
from tilewise.ptx.parse import parse

SOURCE = """struct Pair { float a; int b; };
enum class Mode : int { A, B };
__device__ __noinline__ float power(float x, int n) { float t = x; for (int i = 0; i < n; ++i) t = t * x + 1; return t; }
template <int T, class U>
__global__ void mix(U* __restrict__ out, const float4 v, Pair pair, const volatile int* index,
                    int n, Mode mode, double (*rows)[3]) {
  float kept[8];
  extern __shared__ int dynamic[];
  for (int i = 0; i < 8; ++i) kept[i] = out[i] + v.x;
  int s = kept[threadIdx.x & 7];
  { float s = pair.a; out[0] = s; }
  dynamic[threadIdx.x] = s;
  out[threadIdx.x] = power(pair.a, n);
}
template __global__ void mix<16, float>(float*, float4, Pair, const volatile int*, int, Mode, double (*)[3]);
"""
NAME = "_Z3mixILi16EfEvPT0_6float44PairPVKii4ModePA3_d"


@pytest.fixture(scope="module", params=["compute_75", "compute_90a", "compute_100", "compute_120"])
def ptx(request: pytest.FixtureRequest) -> str:
    return compile_source(KernelSource(SOURCE, "mix.cu"), request.param, ("-G",)).ptx


def test_parameters_have_the_sources_names_and_types(ptx: str) -> None:
    functions = read_functions(ptx)
    assert set(functions) == {NAME, "_Z5powerfi"}
    assert [(one.name, one.type) for one in functions[NAME].parameters] == [
        ("out", "float*"),
        ("v", "const float4"),
        ("pair", "Pair"),
        ("index", "const volatile int*"),
        ("n", "int"),
        ("mode", "Mode"),
        ("rows", "double (*)[3]"),
    ]
    assert [(one.name, one.type) for one in functions["_Z5powerfi"].variables] == [
        ("x", "float"),
        ("n", "int"),
        ("t", "float"),
        ("i", "int"),
    ]


def test_variables_stand_in_registers_that_the_function_has(ptx: str) -> None:
    registers = {function.name: function.registers for function in parse(ptx).functions}
    for name, function in read_functions(ptx).items():
        places = [place for one in function.variables for place in one.places]
        assert places
        assert all(place.first < place.end for place in places)
        assert {place.register for place in places if place.register} <= set(registers[name])


def test_array_in_local_memory_stands_past_the_depot(ptx: str) -> None:
    function = read_functions(ptx)[NAME]
    (kept,) = (one for one in function.variables if one.name == "kept")
    (place,) = kept.places
    (depot,) = (one for one in next(f for f in parse(ptx).functions if f.name == NAME).variables if one.space == "local")
    assert kept.type == "float[8]"
    assert place.register is None
    assert place.symbol == depot.name
    assert 0 <= place.offset <= (depot.count or 0) - 32


def test_register_holds_a_variable_where_it_was_just_written(ptx: str) -> None:
    """`t = t * x + 1`: the last instruction on the line that computes leaves t in its destination."""
    function = next(function for function in parse(ptx).functions if function.name == "_Z5powerfi")
    names = read_functions(ptx)["_Z5powerfi"]
    held = [
        [one.name for one in names.in_register(result.name, instruction.ptx_line + 1)]
        for instruction in function.body
        if isinstance(instruction, Instruction) and re.match(r"(add|fma)\.(rn\.)?f32", instruction.opcode)
        for result in instruction.operands[:1]
        if isinstance(result, Register)
    ]
    assert held == [["t"]]


def test_inner_variable_hides_the_outer_one_only_within_its_block(ptx: str) -> None:
    outer, inner = (one for one in read_functions(ptx)[NAME].variables if one.name == "s")
    assert (outer.type, inner.type) == ("int", "float")
    assert max(place.end for place in inner.places) < max(place.end for place in outer.places)


def test_optimised_build_says_nothing() -> None:
    assert read_functions(compile_source(KernelSource(SOURCE, "mix.cu"), "compute_90a").ptx) == {}


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return compile_source(KernelSource(SOURCE, "mix.cu"), "compute_90a", ("-G",)).ptx.splitlines()


@given(seed=st.integers(0, 2**32))
def test_damaged_information_is_read_or_left(lines: list[str], seed: int) -> None:
    choose = random.Random(seed)
    first = next(index for index, line in enumerate(lines) if ".section" in line)
    damaged = list(lines)
    for _ in range(choose.choice([1, 3, 30])):
        index = choose.randrange(first, len(damaged))
        match choose.randrange(4):
            case 0:
                damaged[index] = f".b8 {choose.randrange(256)}"
            case 1:
                del damaged[index]
            case 2:
                damaged[index] = choose.choice(lines[first:])
            case _:
                damaged[index] = (
                    f".b{choose.choice([16, 32, 64])} {choose.choice(['dynamic', '-1', '.debug_loc+99', '18446744073709551615'])}"
                )
    for function in read_functions("\n".join(damaged)).values():
        function.in_register("%r1", 40)
