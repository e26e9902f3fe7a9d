"""`tilewise run` of a file that states no launch: what its kernels take, and a command line to complete."""

from __future__ import annotations

import re
import shlex

from commanding import Tilewise, Write
from others_kernels import MATMUL, SEVERAL

import tilewise as package


def test_listing_names_parameters_and_a_command(tilewise: Tilewise, write: Write) -> None:
    file = write(MATMUL)
    shown = tilewise("run", file, code=2)
    assert re.search(r"^  A +const float\* +u64", shown, re.MULTILINE)
    assert re.search(r"^  n +int +u32", shown, re.MULTILINE)
    (kernel,) = tilewise.json("run", file, code=2)["kernels"]
    assert kernel["name"] == "mm"
    arguments = ["A=f32[1024]:normal", "B=f32[1024]:normal", "C=f32[1024]", "n=1024"]
    launch = ["--grid", "1", "--block", "256", *(word for text in arguments for word in ("--arg", text))]
    assert shlex.split(kernel["command"]) == ["tilewise", "run", str(file), *launch]
    assert kernel["command"] in shown


def test_types_come_from_mangled_names_where_there_is_no_source(tilewise: Tilewise, write: Write) -> None:
    ptx = package.compile(SEVERAL, "k.cu").ptx
    kernels = {kernel["ptx_name"]: kernel for kernel in tilewise.json("run", write(ptx, "k.ptx"), code=2)["kernels"]}
    scale = kernels["_ZN2ns5scaleILi5EfEEvPT0_i"]
    assert scale["name"] == "ns::scale<5, float>"
    assert [(parameter["name"], parameter["type"]) for parameter in scale["parameters"]] == [("p0", "float*"), ("p1", "int")]
    assert [parameter["type"] for parameter in kernels["plain"]["parameters"]] == [""]
    assert sum(kernel["name"] == "twice" for kernel in kernels.values()) == 2


def test_only_the_chosen_kernel_is_listed(tilewise: Tilewise, write: Write) -> None:
    (kernel,) = tilewise.json("run", write(SEVERAL), "--kernel", "scale<7, double>", code=2)["kernels"]
    assert kernel["name"] == "ns::scale<7, double>"
    assert "--kernel 'ns::scale<7, double>'" in kernel["command"]
    assert "'x=f64[1024]'" in kernel["command"]


def test_kernels_with_a_dynamic_array_are_listed_with_bytes_for_it(tilewise: Tilewise, write: Write) -> None:
    text = (
        "extern __shared__ float s[];\n__device__ __noinline__ void put(float v) { s[threadIdx.x] = v; }\n"
        'extern "C" __global__ void direct(float* x) { s[threadIdx.x] = 1; __syncthreads();'
        " x[threadIdx.x] = s[threadIdx.x ^ 1]; }\n"
        'extern "C" __global__ void called(float* x) { put(x[threadIdx.x]); }\n'
    )
    fixed = text.replace("extern __shared__ float s[]", "__shared__ float s[1024]")
    for kernel in tilewise.json("run", write(text), code=2)["kernels"]:
        words = shlex.split(kernel["command"])
        assert words[words.index("--smem") + 1] == "4096"
        assert tilewise.json(*words[1:])["faults"] == []
    for kernel in tilewise.json("run", write(fixed, "fixed.cu"), code=2)["kernels"]:
        assert "--smem" not in kernel["command"]


def test_listed_commands_fit_every_kind_of_parameter(tilewise: Tilewise, write: Write) -> None:
    file = write(
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nstruct P { float a; int b; };\n"
        "__global__ void k(const __half* h, __nv_bfloat16* b, float4* v, const uint2* u, float4 w, P p, __half x, bool f,\n"
        "                  char c, long long q, unsigned short s, double d, float g, void* o) { v[threadIdx.x] = w; }"
    )
    command = tilewise.json("run", file, code=2)["kernels"][0]["command"]
    words = shlex.split(command)
    assert [words[index + 1] for index, word in enumerate(words) if word == "--arg"] == [
        "h=f16[1024]:normal",
        "b=bf16[1024]",
        "v=f32[1024,4]",
        "u=u32[1024,2]:uniform(0,100)",
        "w=f32[4]:zeros",
        "p=u8[8]:zeros",
        "x=f16:1",
        "f=1",
        "c=1",
        "q=1024",
        "s=1",
        "d=1.0",
        "g=1.0",
        "o=f32[1024]",
    ]
    report = tilewise.json(*words[1:])
    assert report["faults"] == []
    assert report["arrays"][2]["mean"] is None or report["arrays"][2]["first"] == [0] * 8
