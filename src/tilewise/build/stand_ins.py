"""Headers of the host that kernels include by habit: what device code needs of them, where NVRTC has no such file.

NVRTC declares printf, assert, memcpy, malloc and the functions of math.h by itself; types and constants it leaves to headers.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from tilewise.build.includes import scan_includes
from tilewise.core.source import KernelSource

_BITS = (8, 16, 32, 64)
_WORDS = {8: "char", 16: "short", 32: "int", 64: "long long"}
"""As CUDA's own cuda/std/cstdint has them under NVRTC, beside which a stand-in may come to stand."""


def _define(constants: dict[str, str]) -> str:
    return "".join(f"#ifndef {name}\n#define {name} {value}\n#endif\n" for name, value in constants.items())


_SHORT = "typedef unsigned short ushort;\ntypedef unsigned int uint;\ntypedef unsigned long ulong;\n"
"""What glibc's sys/types.h adds to C's own names, and with it nearly every header of the host."""
_STDDEF = "typedef decltype(sizeof(0)) size_t;\ntypedef decltype((char*)0 - (char*)0) ptrdiff_t;\n" + _define({"NULL": "0"})
_INTEGERS = [f"{sign}int{bits}_t" for bits in _BITS for sign in ("", "u")]
_STDINT = "".join(
    f"typedef signed {_WORDS[bits]} int{bits}_t;\ntypedef unsigned {_WORDS[bits]} uint{bits}_t;\n" for bits in _BITS
) + _define(
    {f"INT{bits}_MAX": f"{2 ** (bits - 1) - 1}{'LL' * (bits == 64)}" for bits in _BITS}
    | {f"INT{bits}_MIN": f"(-{2 ** (bits - 1) - 1}{'LL' * (bits == 64)} - 1)" for bits in _BITS}
    | {f"UINT{bits}_MAX": f"{2**bits - 1}{'U' * (bits > 16)}{'LL' * (bits == 64)}" for bits in _BITS}
)
_LIMITS = _define(
    {
        "CHAR_BIT": "8",
        "SCHAR_MAX": "127",
        "UCHAR_MAX": "255",
        "SHRT_MAX": "32767",
        "SHRT_MIN": "(-32768)",
        "USHRT_MAX": "65535",
        "INT_MAX": "2147483647",
        "INT_MIN": "(-2147483647 - 1)",
        "UINT_MAX": "4294967295U",
        "LONG_MAX": "9223372036854775807L",
        "LONG_MIN": "(-9223372036854775807L - 1)",
        "ULONG_MAX": "18446744073709551615UL",
        "LLONG_MAX": "9223372036854775807LL",
        "LLONG_MIN": "(-9223372036854775807LL - 1)",
        "ULLONG_MAX": "18446744073709551615ULL",
    }
)
_FLOAT = _define(
    {
        "FLT_MAX": "3.40282347e+38F",
        "FLT_MIN": "1.17549435e-38F",
        "FLT_EPSILON": "1.19209290e-07F",
        "FLT_DIG": "6",
        "FLT_MANT_DIG": "24",
        "DBL_MAX": "1.7976931348623157e+308",
        "DBL_MIN": "2.2250738585072014e-308",
        "DBL_EPSILON": "2.2204460492503131e-16",
        "DBL_DIG": "15",
        "DBL_MANT_DIG": "53",
    }
)
_MATH = _define(
    {
        "INFINITY": "__int_as_float(0x7f800000)",
        "NAN": "__int_as_float(0x7fffffff)",
        "HUGE_VALF": "__int_as_float(0x7f800000)",
        "M_E": "2.71828182845904523536",
        "M_LOG2E": "1.44269504088896340736",
        "M_LN2": "0.69314718055994530942",
        "M_LN10": "2.30258509299404568402",
        "M_PI": "3.14159265358979323846",
        "M_PI_2": "1.57079632679489661923",
        "M_PI_4": "0.78539816339744830962",
        "M_1_PI": "0.31830988618379067154",
        "M_2_PI": "0.63661977236758134308",
        "M_SQRT2": "1.41421356237309504880",
        "M_SQRT1_2": "0.70710678118654752440",
    }
)
STAND_INS = MappingProxyType(
    {
        **dict.fromkeys(("stdio.h", "cstdio", "assert.h", "cassert", "string.h", "cstring"), ""),
        **dict.fromkeys(("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h"), _SHORT),
        **dict.fromkeys(("stdlib.h", "cstdlib", "sys/types.h"), _SHORT),
        "stddef.h": _STDDEF,
        "cstddef": f"{_STDDEF}namespace std {{ using ::size_t; using ::ptrdiff_t; }}\n",
        "stdint.h": _STDINT,
        "cstdint": f"{_STDINT}namespace std {{ {' '.join(f'using ::{name};' for name in _INTEGERS)} }}\n",
        **dict.fromkeys(("limits.h", "climits"), _LIMITS),
        **dict.fromkeys(("float.h", "cfloat"), _FLOAT),
        **dict.fromkeys(("math.h", "cmath"), _MATH),
    }
)
"""The texts by the names that are included; functions of namespace std are nvcc's alone."""


def with_stand_ins(source: KernelSource) -> KernelSource:
    """Return a source with stand-ins among its headers for those that it includes and that stand in none of its folders."""
    found = {name: STAND_INS[name] for name in scan_includes(source).missing if name in STAND_INS}
    guarded = {name: f"#pragma once\n{text}" for name, text in found.items()}
    return replace(source, headers={**guarded, **source.headers}) if found else source
