"""Mangled names in words: against the C++ runtime's own demangler, and names that NVRTC gave."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.ptx.mangled import demangle, local_name, shown_name

KNOWN = {
    "_Z1kv": "k()",
    "_Z2mmILi16EEvPf": "mm<16>(float*)",
    "_ZN2ns2mmILi16EfEEvPT0_6float41P6__halfbcxt": (
        "ns::mm<16, float>(float*, float4, P, __half, bool, char, long long, unsigned short)"
    ),
    "_ZN35_GLOBAL__N__00000000_4_k_cu__Z2ovPi2anEPi": "(anonymous namespace)::an(int*)",
    "_Z5plainidPFffE": "plain(int, double, float (*)(float))",
    "_Z2ttI1SEvPT_": "tt<S>(S*)",
}
"""Names that NVRTC 13.5 gave to kernels, and what they were called there."""

OTHERS = """\
_Z1kIJifEEvDpT_ _Z1kPA16_fRKiOd _Z1kI1SIiEEvT_ _Z1kILin3EEvv _Z1kILj3ELm4ELc65EEvv _Z2ovI6__halfEvPKT_S3_PS1_ _Z1kPVKfPrf
_Z1kPKPKf _Z1kN2ns1SES0_NS_1TE _ZN2ns1kE1SIiEPS1_ _ZN2ns1kENS_1SEPS0_ _Z1kSt4pairIifE _Z1kPFvPFfvEiE _Z1kILb0EEvNSt3foo3barE
_ZN1SIiE1kIfEEvT_ _Z4foldIiLi3EN2ns4PlusIiEEEvPKT_PS3_T1_ _Z1kI1SIJifEEEvT_ _Z1kIJPKfEEvDpT_ _Z1kIJEEvDpT_ _Z3fooIL1E3EEvv
_Z1kPA4_A5_f _Z1kPA4_PFviE _Z1kIN1A1BEEvNT_1CE _Z1kIfEvPT_RS0_KS0_ _Z1kwahstjlmxynoez _Z1kILl3ELx4ELy5EEvv
""".split()  # noqa: SIM905 - a list of them would be longer

SIMPLE = st.sampled_from(["i", "f", "b", "Dh", "1a", "6float4", "PKf", "PK2ns", "N2ns1aE", "St4pairIifE", "PVKi"])
BACK = st.sampled_from(["S_", "S0_", "S1_", "S2_"])


def compound(types: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(types, types)
    return types.map("P{}".format) | types.map("1bI{}E".format) | two.map("1cIJ{0[0]}{0[1]}ELi3EE".format) | two.map("".join)


def with_functions(types: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(SIMPLE, types)
    return compound(types) | types.map("PA4_{}".format) | two.map("PF{0[0]}{0[1]}E".format) | types.map("PFv{}E".format)


PARAMETERS = st.recursive(SIMPLE | BACK, compound, max_leaves=8) | st.recursive(SIMPLE, with_functions, max_leaves=8)


@functools.cache
def runtime_demangler() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(ctypes.util.find_library("stdc++") or "libstdc++.so.6")
    except OSError:
        pytest.skip("no C++ runtime library")
    library.__cxa_demangle.restype = ctypes.c_void_p
    return library


def by_runtime(name: str) -> str | None:
    """What the C++ runtime says: with a function's result, and with blanks between closing brackets."""
    text = runtime_demangler().__cxa_demangle(name.encode(), None, None, None)
    return None if text is None else re.sub("> (?=>)", ">", ctypes.string_at(text).decode())


@pytest.mark.parametrize(("name", "words"), KNOWN.items())
def test_names_of_kernels_are_read(name: str, words: str) -> None:
    assert str(demangle(name)) == words


@pytest.mark.parametrize("name", [*KNOWN, *OTHERS])
def test_names_read_as_the_runtime_reads_them(name: str) -> None:
    expected, found = by_runtime(name), demangle(name)
    assert expected is not None
    assert found is not None
    assert expected == str(found) or expected.endswith(f" {found}")  # behind its result


def test_signature_has_name_and_parameters() -> None:
    signature = demangle("_ZN2ns2mmILi16EEEvPfi")
    assert signature is not None
    assert (signature.name, signature.plain_name, signature.parameters) == ("ns::mm<16>", "ns::mm", ("float*", "int"))


@pytest.mark.parametrize(
    "name", ["", "gemm", "_Z", "_Z1", "_Z1k", "_ZTV1S", "_ZN1kE", "_ZplRK1SS1_", "_Z1kILi3", "_Z1kS_", "_Z1kT_", "_Z9999k"]
)
def test_what_is_no_functions_name_is_left_alone(name: str) -> None:
    assert demangle(name) is None


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZZ2mmE4tile", "tile"),
        ("_ZZ12block_reduceILi128EE2MDS0_E5total", "total"),
        ("_ZZ12block_reduceILi128EE2MDS0_E5total_$_0", "total"),
        ("_ZZ2mmE4tile_0", "tile"),
        ("tile", "tile"),
    ],
)
def test_variable_of_a_function_has_its_own_name(symbol: str, name: str) -> None:
    assert local_name(symbol) == name


def test_names_that_grow_without_end_are_left_alone() -> None:
    doubling = "_Z1k" + "".join(
        f"1aIS{f'{index - 1}' if index else ''}_S{f'{index - 1}' if index else ''}_E" for index in range(30)
    )
    packs = "_ZN1aIJiiEE" + "1bIJDpT_DpT_EE" * 40 + "Ev"
    assert demangle(doubling) is None
    assert demangle(packs) is None
    assert demangle("_Z1k" + "P" * 3000 + "i") is None
    assert demangle("_Z1k" + "i" * 5000) is None


@given(PARAMETERS, st.sampled_from(["1k", "N2ns1kE", "1kILi16EEv", "N2ns1kIfEEv", "1kI1aEvPT_"]))
def test_any_name_is_read_as_the_runtime_reads_it(parameters: str, name: str) -> None:
    expected, found = by_runtime(f"_Z{name}{parameters}"), demangle(f"_Z{name}{parameters}")
    assert (expected is None) == (found is None)
    assert expected is None or expected == str(found) or expected.endswith(f" {found}")


@given(st.text(max_size=40))
def test_any_text_is_read_or_left_alone(text: str) -> None:
    for name in (text, f"_Z{text}", f"_ZN{text}"):
        found = demangle(name)
        assert found is None or found.name


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [
        ("_ZN2ns2mmILi16EEEvPf", "ns::mm<16>"),
        ("_ZN2ns1v6reduceIRfNS0_4plusIfEEEEDTclfp1_fp0_fp0_EERKT_OT0_OT1_", "ns::v::reduce"),
        ("_ZNK2ns4tile4sizeIXLj4EEEEDTclfp_EEv", "ns::tile::size"),
        ("_ZL5twiceIXadL_Z3sumfEEEvv", "twice"),
        ("gemm", "gemm"),
        ("_Zx", "_Zx"),
        ("", ""),
    ],
)
def test_name_is_shown_without_arguments_that_are_not_read(symbol: str, shown: str) -> None:
    assert shown_name(symbol) == shown
