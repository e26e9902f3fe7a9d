"""Files, facts and kernels that are wrong in themselves: refused in words, run to a limit, or reported, and never a crash."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from checking import check, has, run_check, shown

FACTS = "// tilewise: --grid 1 --block 32 --arg x=s32[32]:zeros\n"
KERNEL = "__global__ void k(int* x) { *x = 1; }"
ENDLESS = "template <int N> struct A { enum { v = A<N + 1>::v }; }; enum { V = A<0>::v };"
DOUBLED = """// tilewise: --grid 1 --block 32 --arg x=f32[32]:normal --arg y=f32[32] --arg n=32
extern "C" __global__ void k(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x];
}
"""


def write(folder: Path, content: str | bytes, name: str = "k.cu") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(*words: str | Path) -> str:
    """What a check that could not run says."""
    code, said = run_check(*words)
    assert code == 2, said
    assert said.startswith("tilewise: "), said
    return said


# -- files


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("binary.cu", b"\x7fELF\0\0\1", "is no text: give a .cu or .ptx file"),
        ("notes.txt", "hello", "holds neither CUDA C++ nor PTX"),
        ("empty.ptx", "", "PTX line 1: expected `.version`"),
        ("noise.ptx", bytes(range(1, 256)), "PTX line 1"),
        ("cut.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(", "PTX line 4"),
        ("wrong.cu", FACTS + "__global__ void k(int* x) {\n  oops;\n}", 'wrong.cu:3: error: identifier "oops" is undefined'),
        ("asm.cu", FACTS + '__global__ void k(int* x) {\n  asm("no.such;");\n}', "asm.cu:3: error"),
        ("stray.cu", FACTS.replace("--arg", "--nvcc rm --arg") + "__global__ void k(int* x) {}", "stray.cu:1: '--nvcc' is no"),
        ("quote.cu", "// tilewise: --grid '1\n__global__ void k(int* x) {}", "quote.cu:1: the launch facts cannot be split"),
        ("deep.cu", FACTS + f"{ENDLESS}\n{KERNEL}", "deep.cu:2"),
        ("outside.cu", f"// tilewise: --grid 1 --block 1 --arg x=../x.npy\n{KERNEL}", "outside.cu:1: --arg, column 3"),
        ("absolute.cu", f"// tilewise: --grid 1 --block 1 --arg x=/x.npy\n{KERNEL}", "absolute.cu:1: --arg, column 3"),
    ],
)  # fmt: skip
def test_file_is_refused_in_words(tmp_path: Path, name: str, content: str | bytes, said: str) -> None:
    assert said in refused(write(tmp_path, content, name))


def test_file_that_is_not_there_and_folder_are_refused(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refused(tmp_path / "absent.cu")
    assert "cannot be read: Is a directory" in refused(tmp_path)


def test_terminal_codes_of_a_file_are_not_printed(tmp_path: Path) -> None:
    file = write(tmp_path, FACTS + "__global__ void k(int* x) {\n  x[40] = 1;  // \x1b]0;title\x07\x1b[31m\n}")
    code, printed = run_check(file)
    assert code == 1
    assert "x[40] = 1;" in printed
    assert not {"\x1b", "\x07"} & set(printed)


def test_includes_of_a_file_end_with_its_own_error(tmp_path: Path) -> None:
    assert "k.cu:2: error" in refused(write(tmp_path, FACTS + '#include "k.cu"\n__global__ void k(int* x) {}'))


# -- facts and expectations


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kernel", "nn"], "has no kernel 'nn'"),
        (["--arg", "z=4"], "the kernel takes 3 arguments"),
        (["--arg", "n=f32[4]"], "n is an array, and the parameter is a number"),
        (["--arg", "n=1.5"], "n is no whole number of 32 bits"),
        (["--arg", "x=f32[4294967296,65536]"], "GB of memory"),
        (["--arg", "x=f32[m]"], "no whole-number argument that is known here is called m"),
        (["--block", "1,1,1,1"], "--block, column 6"),
        (["--smem", "-1"], "-1 bytes of shared memory"),
        (["--expect", "y = 2 * q"], "no argument is called q"),
        (["--expect", "z = 2 * x"], "no argument is called z"),
        (["--expect", "y = x[:3]"], "has shape (3,), and y has (32,)"),
        (["--expect", "y = x @ y @ n"], "--expect"),
        (["--expect", "y = x.dtype"], "expected names, numbers, operators"),
        (["--expect", "y = __import__('os')"], "no function is called __import__"),
        (["--expect", "y = x ** 9"], "an exponent is a whole number up to 8"),
        (["--expect", "y = zeros(1 << 40)"], "--expect"),
        (["--expect", "y = ("], "--expect"),
        (["--expect", "y = 2 * x", "--out", "q"], "--out q: no array argument is called so"),
        (["--only", "nosuch"], "fits no kind of finding"),
        (["--fail-on", "bad"], "severity 'bad' is unknown"),
        (["--build", "fast"], "--build 'fast' is unknown"),
        (["--schedules", "0"], "--schedules 0"),
        (["--baseline", "absent.json"], "absent.json cannot be read"),
        (["--device", "h2000"], "there is no device 'h2000' in the catalogue. Did you mean h200"),
        (["--arch", "sm_10"], "arch 'sm_10' is none that NVRTC"),
        (["-D", "1=2"], "'1'"),
    ],
)
def test_request_is_refused_in_words(tmp_path: Path, words: list[str], said: str) -> None:
    assert said in refused(write(tmp_path, DOUBLED), *words)


@pytest.mark.parametrize(
    ("words", "kind"),
    [(["--grid", "0"], "launch.grid"), (["--grid", "1,70000"], "launch.grid"), (["--block", "2048"], "launch.threads")],
)
def test_launch_that_no_device_takes_is_a_finding(tmp_path: Path, words: list[str], kind: str) -> None:
    report = check(write(tmp_path, DOUBLED), *words)
    assert has(report, "error", kind, [2]), shown(report)
    assert report["coverage"]["blocks_run"] == 0


def test_file_without_facts_gets_a_command_line_to_complete(tmp_path: Path) -> None:
    code, printed = run_check(write(tmp_path, DOUBLED.partition("\n")[2]))
    assert code == 2
    for part in ("const float*", "--grid 1", "--block 256", "--arg 'y=f32[1024]'"):
        assert part in printed


# -- kernels that do not end, or end badly


@pytest.mark.parametrize(
    "body", ["while (x[0] != 5) x[0] = 2;", "for (volatile int i = 1; i; i += 2) {}", "while (!atomicAdd(x, 0)) {}"]
)
def test_endless_kernel_stops_at_its_limit(tmp_path: Path, body: str) -> None:
    file = write(tmp_path, f"{FACTS}__global__ void k(int* x) {{ {body} }}")
    report = check(file, "--max-instructions", "100000")
    limit = any("at most 100,000 are allowed" in sentence for sentence in report["coverage"]["unchecked"])
    assert limit or any(finding["kind"] == "deadlock.spin" for finding in report["findings"]), shown(report)
    assert report["verdict"] != "clean"


def test_huge_grid_is_sampled_only_when_asked(tmp_path: Path) -> None:
    file, grid = write(tmp_path, DOUBLED), ("--grid", "2147483647", "--ignore", "race.*")
    limited = check(file, *grid, "--max-instructions", "10000", "--expect", "y = 2 * x")
    assert "at most 10,000 are allowed" in limited["coverage"]["unchecked"][0]
    sampled = check(file, *grid, "--sample-blocks", "3", "--expect", "y = 2 * x")
    assert sampled["verdict"] == limited["verdict"] == "incomplete"
    assert (sampled["coverage"]["blocks_run"], sampled["coverage"]["blocks_total"]) == (3, 2147483647)
    assert "3 of 2,147,483,647 blocks" in sampled["coverage"]["unchecked"][0]


def test_launch_that_cannot_but_take_too_long_is_not_begun(tmp_path: Path) -> None:
    started = time.monotonic()
    report = check(write(tmp_path, DOUBLED), "--grid", "2147483647,65535")
    assert report["verdict"] == "incomplete"
    assert report["coverage"]["blocks_run"] == 0
    assert "140,735,340,806,145 blocks of 32 threads take" in report["coverage"]["unchecked"][0]
    assert "--sample-blocks N" in report["coverage"]["unchecked"][0]
    assert time.monotonic() - started < 30


def test_unsupported_instruction_makes_a_check_incomplete_only_where_it_is_reached(tmp_path: Path) -> None:
    unknown = 'asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(0));'
    text = f"{FACTS}__global__ void k(int* x) {{\n  if (x[threadIdx.x] == WANTED) {unknown}\n  x[threadIdx.x] = 3;\n}}"
    reached = check(write(tmp_path, text), "-D", "WANTED=0")
    assert reached["verdict"] == "incomplete"
    assert any("k.cu:3: the emulator does not have mbarrier.init" in sentence for sentence in reached["coverage"]["unchecked"])
    spared = check(write(tmp_path, text), "-D", "WANTED=7")
    assert spared["verdict"] == "clean"
    assert any("mbarrier.init" in sentence for sentence in spared["coverage"]["skipped"])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("if (threadIdx.x == 3) __trap();", "trap.instruction"),
        ("assert(threadIdx.x < 7);", "trap.assert"),
        ("x[32] = 1;", "oob.global.write"),
        ("((volatile int*)0)[threadIdx.x] = 1;", "oob.global.write"),
        ("x[0] = ((volatile int*)0x7fffffff0000)[threadIdx.x];", "oob.global.read"),
        ("((void (*)())0x30)();", "oob.jump"),
    ],
)
def test_kernel_that_ends_badly_is_a_finding_at_its_line(tmp_path: Path, body: str, kind: str) -> None:
    report = check(write(tmp_path, f"{FACTS}__global__ void k(int* x) {{\n  {body}\n}}"))
    assert has(report, "error", kind, [3]), shown(report)


def test_recursion_without_end_is_a_finding(tmp_path: Path) -> None:
    function = "__device__ __noinline__ int f(int* x, int n) { return x[n & 31] == 9 ? n : f(x, n + 1) + x[n & 31]; }\n"
    report = check(write(tmp_path, f"{FACTS}{function}__global__ void k(int* x) {{ x[threadIdx.x] = f(x, 1); }}"))
    assert any(finding["kind"] == "oob.stack" for finding in report["findings"]), shown(report)


@pytest.mark.parametrize(
    ("body", "kind", "part"),
    [
        ('printf("%s", (const char*)0);', "oob.global.read", "a string for its %s, at address 0x0"),
        ('printf("%s", open_ended);', "oob.global.read", "at byte 4 of variable open_ended, which has 4"),
        ("printf((const char*)x + 200);", "oob.global.read", "at byte 200 of x, which has 128"),
    ],
)
def test_string_that_printf_cannot_read_is_told_as_what_it_is(tmp_path: Path, body: str, kind: str, part: str) -> None:
    text = f"{FACTS}__device__ char open_ended[4] = {{65, 66, 67, 68}};\n__global__ void k(int* x) {{\n  {body}\n}}"
    report = check(write(tmp_path, text))
    assert has(report, "error", kind, [4]), shown(report)
    (finding,) = (one for one in report["findings"] if one["kind"] == kind)
    assert part in finding["message"]
    assert "ends with a 0 byte" in finding["fix"]
    assert all(one["kind"] != "perf.local_memory" for one in report["findings"]), shown(report)


@pytest.mark.parametrize(
    ("body", "fix"),
    [
        ("while (true) {}", "end the loop by a condition"),
        ("while (x[0] == 0) __syncthreads();", "read the flag with a volatile or atomic load"),
        ("while (((volatile int*)x)[0] == 0) {}", "let a thread set what is waited for"),
        ("while (atomicAdd(x, 0) == 0) {}", "let a thread set what is waited for"),
    ],
)
def test_endless_loop_is_told_what_would_end_it(tmp_path: Path, body: str, fix: str) -> None:
    report = check(write(tmp_path, f"{FACTS}__global__ void k(int* x) {{ {body} }}"))
    fixes = [finding["fix"] for finding in report["findings"] if finding["kind"] == "deadlock.spin"]
    assert [one.startswith(fix) for one in fixes] == [True], shown(report)


def test_functions_that_call_each_other_without_end_are_a_finding(tmp_path: Path) -> None:
    functions = (
        "__device__ __noinline__ int g(int n);\n"
        "__device__ __noinline__ int f(int n) { return n == -1 ? 0 : 1 + g(n + 1) * 3; }\n"
        "__device__ __noinline__ int g(int n) { return n == -2 ? 0 : 2 + f(n + 1) * 5; }\n"
    )
    report = check(write(tmp_path, f"{FACTS}{functions}__global__ void k(int* x) {{ x[threadIdx.x] = f(5); }}"))
    assert {finding["kind"] for finding in report["findings"]} == {"oob.stack"}, shown(report)


def test_kernel_that_prints_does_not_spoil_the_report(tmp_path: Path) -> None:
    body = 'printf("{\\"verdict\\": \\"\\x1b[31m%s %n %d", "a", x, threadIdx.x); x[threadIdx.x] = 1;'
    file = write(tmp_path, f"{FACTS}__global__ void k(int* x) {{ {body} }}")
    assert check(file)["verdict"] == "clean"
    assert "\x1b" not in run_check(file)[1]
