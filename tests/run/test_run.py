"""`tilewise run`: anybody's kernel, from its file to what it computed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commanding import Tilewise, Write
from others_kernels import MATMUL, SEVERAL

import tilewise as package

LAUNCH = ["--grid", "n/16,n/16", "--block", "16,16", "--seed", "3"]
ARGS = ["--arg", "A=f32[n,n]:normal", "--arg", "B=f32[n,n]:normal", "--arg", "C=f32[n,n]", "--arg", "n=64"]
STATED = (
    "// tilewise: --grid n/16,n/16 --block 16,16 --seed 3\n"
    "// tilewise: --arg 'A=f32[n,n]:normal' --arg 'B=f32[n,n]:normal' --arg 'C=f32[n,n]' --arg n=64\n"
)
ONE = ["--grid", "1", "--block", "1"]


def test_product_equals_numpys_and_its_bytes_are_counted(tilewise: Tilewise, write: Write, tmp_path: Path) -> None:
    saves = [word for name in "ABC" for word in ("--out", f"{name}={tmp_path}/{name}.npy")]
    report = tilewise.json("run", write(MATMUL), *LAUNCH, *ARGS, *saves)
    a, b, c = (np.load(tmp_path / f"{name}.npy").astype(np.float64) for name in "ABC")
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    assert a.std() > 0.9
    assert report["counters"]["requested_load_bytes"] == 2 * 64**3 // 16 * 4
    assert report["counters"]["fma"] == 64**3
    array_a, _, array_c = report["arrays"]
    assert (array_a["written"], array_c["written"], array_c["still_poison"]) == (False, True, 0)
    assert array_c["least"] == pytest.approx(c.min())
    assert array_c["greatest"] == pytest.approx(c.max())
    assert array_c["mean"] == pytest.approx(c.mean(), abs=1e-6)
    assert array_c["first"] == pytest.approx(c.ravel()[:8])
    assert report["numbers"] == {"n": 64}
    assert (report["grid"], report["block"], report["faults"], report["missing"]) == ([4, 4, 1], [16, 16, 1], [], [])


def test_table_shows_what_was_written_and_what_was_counted(tilewise: Tilewise, write: Write) -> None:
    shown = tilewise("run", write(MATMUL), *LAUNCH, *ARGS)
    assert "grid 4 x 4, block 16 x 16" in shown
    assert re.search(r"^C +f32\[64, 64\] ", shown, re.MULTILINE)
    assert "unchanged: A, B" in shown
    assert re.search(r"^bytes requested +131\.1 kB +16\.38 kB", shown, re.MULTILINE)
    assert "FMAs 262.1 k" in shown
    assert "program as compiled to PTX" in shown


def test_comment_lines_state_what_the_command_line_leaves_out(tilewise: Tilewise, write: Write) -> None:
    file = write(STATED + MATMUL)
    stated = tilewise.json("run", file)
    assert stated["arrays"] == tilewise.json("run", write(MATMUL, "bare.cu"), *LAUNCH, *ARGS)["arrays"]
    assert tilewise.json("run", file, "--arg", "n=32")["grid"] == [2, 2, 1]
    assert tilewise.json("run", file, "--seed", "4")["arrays"] != stated["arrays"]


def test_array_is_printed_whole(tilewise: Tilewise, write: Write) -> None:
    file = write('extern "C" __global__ void k(short* x) { x[threadIdx.x] = threadIdx.x; }')
    facts = ["--grid", "1", "--block", "1000", "--arg", "x=s16[1000]:zeros", "--out", "x"]
    shown = tilewise("run", file, *facts)
    assert [int(word) for word in re.findall(r"\d+", shown.split("x =")[1].split("]")[0])] == list(range(1000))
    assert tilewise.json("run", file, *facts)["values"] == {"x": list(range(1000))}


def test_types_that_numpy_lacks_are_shown_and_saved_as_numbers(tilewise: Tilewise, write: Write, tmp_path: Path) -> None:
    file = write('extern "C" __global__ void k(unsigned short* x) { x[threadIdx.x] ^= 0x8000; }')
    saved = tmp_path / "x.npy"
    report = tilewise.json("run", file, "--grid", "1", "--block", "4", "--arg", "x=bf16[4]:arange", "--out", f"x={saved}")
    assert report["arrays"][0]["first"] == [0, -1, -2, -3]
    assert np.load(saved).dtype == np.float32
    assert np.load(saved).tolist() == [0, -1, -2, -3]


def test_unwritten_elements_nans_and_infinities_are_noted(tilewise: Tilewise, write: Write, tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.array([1, np.nan, 2, -np.inf, np.inf], np.float32))
    file = write("__global__ void k(float* x, float* y) { x[threadIdx.x] = y[threadIdx.x]; }")
    arrays = ["--arg", "x=f32[8]", "--arg", f"y={tmp_path}/y.npy"]
    shown = tilewise("run", file, "--grid", "1", "--block", "5", *arrays)
    assert "x: 3 elements hold what unwritten memory holds" in shown
    assert "x: 1 element is NaN" in shown
    assert "x: 2 elements are infinite" in shown
    array = tilewise.json("run", file, "--grid", "1", "--block", "5", *arrays)["arrays"][0]
    assert (array["least"], array["greatest"], array["mean"]) == (1, 2, 1.5)


def test_numbers_and_structures_are_passed_by_value(tilewise: Tilewise, write: Write) -> None:
    file = write(
        "struct P { float a; int b; };\n"
        "__global__ void k(float* y, int* i, unsigned long long* u, double* v,\n"
        "                  P p, int n, unsigned long long big, float f, double d) {\n"
        "  y[0] = p.a; i[0] = p.b; i[1] = n; u[0] = big; y[1] = f; v[0] = d; }"
    )
    arrays = ["y=f32[2]", "i=s32[2]", "u=u64[1]", "v=f64[1]"]
    numbers = ["p=s32[2]:full(1065353216)", "n=-3", "big=0x8000000000000000", "f=0.5", "d=-1e300"]
    report = tilewise.json("run", file, *ONE, *(word for text in (*arrays, *numbers) for word in ("--arg", text)))
    assert [array["first"] for array in report["arrays"]] == [[1.0, 0.5], [1065353216, -3], [2**63], [-1e300]]


@pytest.mark.parametrize("name", ["k.ptx", "unnamed"])
def test_bare_ptx_enters_at_the_module(tilewise: Tilewise, write: Write, name: str) -> None:
    ptx = package.compile('extern "C" __global__ void k(int* x) { x[0] = 42; }', "k.cu").ptx
    file = write("// tilewise: --grid 1 --block 1 --arg x=s32[1]\n" + ptx, name)
    assert tilewise.json("run", file)["arrays"][0]["first"] == [42]


# -- names


@pytest.mark.parametrize(
    ("kernel", "argument", "value"),
    [
        ("ns::scale<3, int>", "x=s32[4]:full(2)", 6),
        ("ns::scale<3,int>", "x=s32[4]:full(2)", 6),
        ("ns::scale<5, float>", "x=f32[4]:full(2)", 10),
        ("scale<3, int>", "x=s32[4]:full(2)", 6),
        ("ns::scale", "x=f32[4]:full(2)", 10),
        ("scale", "x=f32[4]:full(2)", 10),
        ("twice(int*)", "x=s32[4]:full(3)", 6),
        ("_Z5twicePf", "x=f32[4]:full(1.5)", 3),
        ("plain", "x=s32[4]:full(3)", 7),
        ("hidden", "x=s32[4]:full(3)", 8),
    ],
)
def test_kernels_go_by_their_names(tilewise: Tilewise, write: Write, kernel: str, argument: str, value: float) -> None:
    count = ["--arg", "n=4"] if "scale" in kernel else []
    report = tilewise.json("run", write(SEVERAL), "--kernel", kernel, *ONE, "--arg", argument, *count)
    assert report["arrays"][0]["first"][0] == value


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ([], ["has the kernels ", "ns::scale<5, float>(float*, int)", "twice(int*)", "choose one with --kernel"]),
        (["--kernel", "twice"], ["twice(float*), twice(int*): 'twice' may be any of them"]),
        (["--kernel", "plian"], ["no kernel 'plian'. Did you mean plain"]),
        (["--kernel", "nothing<3>"], ['no kernel is called nothing<3>: identifier "nothing" is undefined']),
    ],
)
def test_kernel_that_is_not_clear_is_asked_for(tilewise: Tilewise, write: Write, kernel: list[str], said: list[str]) -> None:
    message = tilewise("run", write(SEVERAL), *kernel, *ONE, "--arg", "x=s32[4]", code=2)
    assert all(part in message for part in said), message


DEEP = """
namespace a { namespace b { template <int N> __global__ void mm(int* x) { x[0] = N; } } }
namespace c::d { template <int N> __global__ void mm(int* x) { x[0] = 10 * N; } struct S { int mm; }; }
namespace c { __device__ char e() { return "}"[0]; } namespace { template <int N> __global__ void other(int* x) { x[0] = -N; } } }
"""


@pytest.mark.parametrize(
    ("kernel", "value"), [("b::mm<16>", 16), ("a::b::mm<16>", 16), ("d::mm<16>", 160), ("other<4>", -4), ("c::other<4>", -4)]
)
def test_last_parts_of_a_templates_name_do(tilewise: Tilewise, write: Write, kernel: str, value: int) -> None:
    report = tilewise.json("run", write(DEEP), "--kernel", kernel, *ONE, "--arg", "x=s32[1]")
    assert report["arrays"][0]["first"] == [value]


def test_last_part_of_several_templates_names_lists_them(tilewise: Tilewise, write: Write) -> None:
    said = tilewise("run", write(DEEP), "--kernel", "mm<16>", *ONE, "--arg", "x=s32[1]", code=2)
    assert "'mm<16>' may be any of a::b::mm<16>, c::d::mm<16>" in said


def test_template_without_an_instance_is_named(tilewise: Tilewise, write: Write) -> None:
    file = write("template <int N> __global__ void __launch_bounds__(64) fill(int* x) { *x = N; }")
    for kernel in ([], ["--kernel", "fill"]):
        said = tilewise("run", file, *kernel, *ONE, "--arg", "x=s32[1]", code=2)
        assert "has fill as a template: give its arguments, as in --kernel 'fill<16>'" in said
    assert "fill: a template" in tilewise("run", file, code=2)


def test_facts_of_several_kernels_are_chosen_by_name(tilewise: Tilewise, write: Write) -> None:
    file = write(
        "// tilewise: --block 1 --grid 1 --arg x=s32[1]\n// tilewise: --kernel a\n// tilewise: --kernel b --grid 2\n"
        "__global__ void a(int* x) { *x = gridDim.x; }\n__global__ void b(int* x) { *x = 10 * gridDim.x; }\n"
    )
    assert tilewise.json("run", file, "--kernel", "a")["arrays"][0]["first"] == [1]
    assert tilewise.json("run", file, "--kernel", "b")["arrays"][0]["first"] == [20]
    assert "states launches of 2 kernels: choose one of a, b with --kernel" in tilewise("run", file, code=2)


# -- compiling


@pytest.mark.parametrize("apart", [False, True])
def test_macros_folders_and_standard_come_from_the_command_line(
    tilewise: Tilewise, write: Write, tmp_path: Path, apart: bool
) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "more.h").write_text("#define MORE 30\n")
    (tmp_path / "beside.h").write_text("#define BESIDE 400\n")
    file = write(
        '#include <more.h>\n#include "beside.h"\n'
        "__global__ void k(int* x) { x[0] = VALUE + FLAG + MORE + BESIDE; x[1] = __cplusplus / 100; }"
    )
    joined = ["-DVALUE=5", "-DFLAG", f"-I{tmp_path}/inc", "-std=c++20"]
    parted = ["-D", "VALUE=5", "-D", "FLAG", "-I", tmp_path / "inc", "--std", "c++20"]
    report = tilewise.json("run", file, *ONE, "--arg", "x=s32[2]", *(parted if apart else joined))
    assert report["arrays"][0]["first"] == [436, 2020]


@pytest.mark.parametrize(
    ("options", "arch"),
    [([], 900), (["--device", "a100"], 800), (["--arch", "sm_75"], 750), (["--arch", "compute_120"], 1200)],
)
def test_architecture_is_the_devices_or_as_given(tilewise: Tilewise, write: Write, options: list[str], arch: int) -> None:
    file = write("__global__ void k(int* x) { *x = __CUDA_ARCH__; }")
    assert tilewise.json("run", file, *ONE, "--arg", "x=s32[1]", *options)["arrays"][0]["first"] == [arch]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--arch", "sm_20"], "_20' is none that NVRTC"),
        (["--device", "h20"], "Did you mean h200"),
        (["--build", "fast"], "--build 'fast' is unknown"),
        (["--compile-seconds", "0"], "is no time limit"),
        (["--compile-seconds", "0.01", "-DNEW"], "compiling took longer than 0.01 s"),
        (["-DX Y=3"], "define 'X Y' is no macro's name"),
        (["-std=c++09"], "refuses an option"),
        (["--threads", "0"], "threads = 0"),
        (["--max-instructions", "0"], "max_instructions = 0"),
        (["--out", "y"], "no array argument is called 'y'. There is x"),
        (["--out", "x=x.txt"], "give the name of a .npy file"),
        (["--out", "x=/nowhere/x.npy"], "cannot be written: No such file"),
        (["--arg", "n=1"], "the kernel takes 1 argument (u64), not 2 (x, n)"),
        (["--grid", "0"], "--grid, column 1: give 1 to 2147483647"),
        (["--grid", "1,1,1,1"], "--grid, column 6"),
        (["--block", "2048"], "a block has at most 1024"),
        (["--cluster", "2"], "the emulator runs clusters of one block only"),
        (["--arg", "x=f32[$]"], "--arg, column 7"),
        (["--kernel", ""], "--kernel, column 1: expected a kernel's name"),
    ],
)
def test_what_cannot_run_is_refused_in_words(tilewise: Tilewise, write: Write, options: list[str], said: str) -> None:
    file = write("__global__ void k(int* x) { *x = 1; }")
    launch = [word for flag in ("--grid", "--block") if flag not in options for word in (flag, "1")]
    argument = [] if "x=f32[$]" in options else ["--arg", "x=s32[1]"]
    message = tilewise("run", file, *launch, *argument, *options, code=2)
    assert message.startswith("tilewise: ")
    assert said in message


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("absent.cu", None, "cannot be read: No such file"),
        ("binary.cu", b"\x7fELF\0\0", "is no text: give a .cu or .ptx file"),
        ("notes.txt", b"hello", "holds neither CUDA C++ nor PTX"),
        ("empty.cu", b"", "empty.cu has no kernel"),
        ("empty.ptx", b"", "PTX"),
        ("wrong.cu", b"__global__ void k() {\n  oops;\n}", 'wrong.cu:2: error: identifier "oops" is undefined'),
        ("wrong.ptx", b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { oops", "PTX line"),
        ("control.cu", b"__global__ void k() { \x1b[31moops; }", "control.cu:1: error"),
        ("facts.cu", b"// tilewise: --nvcc rm\n__global__ void k() {}", "facts.cu:1: '--nvcc' is no launch fact"),
    ],
)
def test_bad_files_are_refused_in_words(tilewise: Tilewise, tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    message = tilewise("run", path, *ONE, code=2)
    assert said in message
    assert "\x1b" not in message


# -- faults, limits and what is missing


def test_faults_are_shown_with_lines_and_labels_and_end_with_1(tilewise: Tilewise, write: Write) -> None:
    file = write("__global__ void k(float* x, float* y) {\n  y[threadIdx.x] = x[threadIdx.x];\n}")
    command: list[str | Path] = [
        "run",
        file,
        "--grid",
        "1",
        "--block",
        "64",
        "--arg",
        "x=f32[60]:full(2)",
        "--arg",
        "y=f32[64]:zeros",
    ]
    shown = " ".join(tilewise(*command, code=1).split())
    assert re.search(r"k\.cu:2: out of bounds: .*4 bytes at byte 240 of x, which has 240 \(4 times\)", shown)
    report = tilewise.json(*command, code=1)
    assert report["counters"] is None
    assert len(report["faults"]) == 1
    assert report["arrays"][1]["mean"] == 120 / 64


def test_endless_kernel_stops_at_its_limit(tilewise: Tilewise, write: Write) -> None:
    file = write("__global__ void k(int* x) {\n  while (x[0] != 5) x[0] = 3 * x[0];\n}")
    message = tilewise(
        "run", file, "--grid", "1", "--block", "32", "--arg", "x=s32[8]:full(1)", "--max-instructions", "1000000", code=2
    )
    assert re.search(r"k\.cu:2: stopped after .* at most 1,000,000 are allowed", message)


PRINTING = """__global__ void k(int n) {
  printf("\\033[31mthread %d of %s\\n", threadIdx.x, "k");
  if (n == 7) asm("trap;");
}
"""


@pytest.mark.parametrize(("n", "code"), [(1, 0), (7, 1)], ids=["to the end", "up to a fault"])
def test_what_a_kernel_prints_is_shown(tilewise: Tilewise, write: Write, n: int, code: int) -> None:
    command = ("run", write(PRINTING), "--grid", "1", "--block", "2", "--arg", f"n={n}", "--threads", "1")
    shown = tilewise(*command, code=code).splitlines()
    assert shown[1:3] == ["[31mthread 0 of k", "[31mthread 1 of k"], "without control characters"
    assert tilewise.json(*command, code=code)["printed"] == "\033[31mthread 0 of k\n\033[31mthread 1 of k\n"


TURNS = """__global__ void k(int* order, int* n) {
  if (threadIdx.x % 32 == 0) order[atomicAdd(n, 1)] = threadIdx.x / 32;
}
__global__ void both(int* here) {
  if (threadIdx.x == 0) { atomicAdd(here, 1); while (atomicAdd(here, 0) < gridDim.x) {} }
}
"""


def test_a_schedule_has_warps_take_turns_in_another_order(tilewise: Tilewise, write: Write) -> None:
    file = write(TURNS)
    launch = ["--kernel", "k", "--grid", "1", "--block", "256", "--arg", "order=s32[8]:zeros", "--arg", "n=s32[1]:zeros"]

    def order(*options: str) -> list[int]:
        values: list[int] = tilewise.json("run", file, *launch, "--out", "order", *options)["values"]["order"]
        return values

    orders = {tuple(order("--schedule-seed", str(seed))) for seed in range(1, 9)}
    assert order() == list(range(8))
    assert len(orders) > 1
    assert all(sorted(one) == list(range(8)) for one in orders)
    assert order("--schedule-seed", "5") == order("--schedule-seed", "5")


def test_blocks_that_wait_for_each_other_need_places(tilewise: Tilewise, write: Write) -> None:
    command = ("run", write(TURNS), "--kernel", "both", "--grid", "3", "--block", "32", "--arg", "here=s32[1]:zeros")
    tilewise(*command)
    tilewise(*command, "--resident-blocks", "3")
    shown = " ".join(tilewise(*command, "--resident-blocks", "2", code=1).split())
    assert re.search(r"k\.cu:5: deadlock: .*blocks that have not started: 1, that are on their way: 2", shown), shown
    tilewise(*command, "--resident-blocks", "0", code=2)


UNKNOWN = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u32 n) {
  .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %rd;
  ld.param.u64 %rd, [x];
  ld.param.u32 %r0, [n];
  setp.eq.u32 %p, %r0, 0;
  @%p bra SKIP;
  no.such.instruction.u32 %r1, %r0;
SKIP:
  st.global.u32 [%rd], 5;
  ret;
}
"""


def test_unknown_instruction_is_listed_or_stops_whoever_reaches_it(tilewise: Tilewise, write: Write) -> None:
    command: list[str | Path] = ["run", write(UNKNOWN, "k.ptx"), *ONE, "--arg", "x=u32[1]", "--arg"]
    assert "not in the emulator, and not reached: no.such.instruction.u32 (PTX:10)" in tilewise(*command, "n=0")
    assert "PTX line 10: the emulator does not have no.such.instruction.u32" in tilewise(*command, "n=1", code=2)


def test_run_from_a_process_writes_only_the_report_to_stdout(write: Write) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tilewise", "run", write(STATED + MATMUL), "--json"], capture_output=True, check=True
    )
    assert ended.stderr == b""
    assert json.loads(ended.stdout)["kernel"] == "mm"
