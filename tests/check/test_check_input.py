"""Bad input to `tilewise check`, and kernels that behave badly: a sentence or a finding, never a traceback."""

from __future__ import annotations

from pathlib import Path

from commanding import Tilewise, Write

FACTS = "// tilewise: --grid 1 --block 32 --arg y=f32[32] --arg n=32\n"
HEAD = FACTS + 'extern "C" __global__ void k(float* y, int n) {\n'
GOOD = HEAD + "  y[threadIdx.x] = n;\n}\n"


def kernel(body: str) -> str:
    return f"{HEAD}  {body}\n}}\n"


def test_arguments_in_another_order_than_the_source_are_refused(tilewise: Tilewise, write: Write) -> None:
    swapped = GOOD.replace("--arg y=f32[32] --arg n=32", "--arg n=s64[32] --arg y=1")
    assert "n stands where the kernel has y: its parameters are y, n" in tilewise("check", write(swapped), code=2)
    renamed = GOOD.replace("--arg y=f32[32]", "--arg result=f32[32]")
    assert tilewise.json("check", write(renamed), "--expect", "result = n * ones(n)")["verdict"] == "clean"


def test_instruction_that_the_emulator_lacks_makes_it_incomplete(tilewise: Tilewise, write: Write) -> None:
    text = kernel('asm volatile("tcgen05.fence::before_thread_sync;"); y[threadIdx.x] = n;')
    report = tilewise.json("check", write(text), "--arch", "sm_100a", code=2)
    assert report["verdict"] == "incomplete"
    assert any("tcgen05" in sentence for sentence in report["coverage"]["unchecked"])
    guarded = kernel('if (n < 0) asm volatile("tcgen05.fence::before_thread_sync;"); y[threadIdx.x] = n;')
    report = tilewise.json("check", write(guarded), "--arch", "sm_100a")
    assert any("tcgen05" in sentence for sentence in report["coverage"]["skipped"])


def test_what_a_kernel_prints_is_shown_without_control_characters(tilewise: Tilewise, write: Write) -> None:
    text = kernel('if (threadIdx.x == 0) printf("\\033[2J%d%s\\n", n, "[bold]"); y[threadIdx.x] = n;')
    shown = tilewise("check", write(text))
    assert "printed: [2J32[bold]" in shown
    assert "\033" not in shown


def test_build_that_does_not_compile_counts_only_if_it_was_asked_for(tilewise: Tilewise, write: Write) -> None:
    text = GOOD.replace("y[threadIdx.x] = n;", "#ifdef __CUDACC_DEBUG__\n  this is no C++\n#endif\n  y[threadIdx.x] = n;")
    report = tilewise.json("check", write(text))
    assert report["coverage"]["builds"] == ["optimised", "unoptimised"]  # --Ofast-compile=max takes it
    report = tilewise.json("check", write(text), "--build", "unoptimised")
    assert report["coverage"]["builds"] == ["unoptimised"]


def test_ptx_has_one_build(tilewise: Tilewise, write: Write) -> None:
    import tilewise as package

    file = write(FACTS + package.compile(GOOD, "k.cu").ptx, "k.ptx")
    assert tilewise.json("check", file, "--expect", "y = n * ones(32)")["coverage"]["builds"] == ["optimised"]
    assert "one build" in tilewise("check", file, "--build", "both", code=2)


def test_results_that_hang_on_the_order_are_reported_where_nothing_else_is(tilewise: Tilewise, write: Write) -> None:
    text = (
        "// tilewise: --grid 64 --block 32 --arg y=u32[64] --arg c=u32[1]:zeros\n"
        'extern "C" __global__ void k(unsigned* y, unsigned* c) { if (!threadIdx.x) y[blockIdx.x] = atomicAdd(c, 1u); }\n'
    )
    report = tilewise.json("check", write(text), "--schedules", "4", code=1)
    assert [(finding["kind"], finding["array"]) for finding in report["findings"]] == [("schedule.difference", "y")]
    assert tilewise.json("check", write(text))["findings"] == []


def test_sums_of_floats_that_round_differently_in_another_order_are_a_note(tilewise: Tilewise, write: Write) -> None:
    text = (
        "// tilewise: --grid 1 --block 256 --arg x=f32[256]:normal --arg sum=f32[1]:zeros\n"
        'extern "C" __global__ void k(const float* x, float* sum) { atomicAdd(sum, BODY); }\n'
    )
    report = tilewise.json("check", write(text.replace("BODY", "x[threadIdx.x]")), "--schedules", "8")
    assert [(finding["kind"], finding["severity"]) for finding in report["findings"]] == [("schedule.difference", "note")]
    early = text.replace("BODY", "x[threadIdx.x] + atomicAdd(sum, 0)")
    (finding,) = tilewise.json("check", write(early), "--schedules", "8", code=1)["findings"]
    assert (finding["kind"], finding["severity"]) == ("schedule.difference", "error")


def test_order_in_which_a_launch_never_ends_is_told(tilewise: Tilewise, write: Write) -> None:
    text = (
        "// tilewise: --grid 2 --block 32 --arg x=s32[1]:zeros --arg y=s32[64]:zeros\n"
        'extern "C" __global__ void k(int* x, int* y) { int mine = atomicAdd(x, 1);\n'
        "  for (unsigned i = blockIdx.x == 1 && mine == 0; i; i += 2) BODY; }\n"
    )
    words = ("--schedules", "8", "--max-instructions", "100000")
    report = tilewise.json("check", write(text.replace("BODY", 'asm volatile("")')), *words, code=1)
    (finding,) = report["findings"]
    assert finding["kind"] == "deadlock.spin"
    assert finding["lines"][0]["line"] == 3
    assert "in a loop that nothing ends" in finding["message"]
    assert finding["message"].endswith("under seed 1")
    report = tilewise.json("check", write(text.replace("BODY", "y[threadIdx.x] = i")), *words, code=2)
    assert report["findings"] == []
    (sentence,) = report["coverage"]["unchecked"]
    assert sentence.startswith("the launch under seed ")
    assert "at most 100,000 are allowed" in sentence


def test_what_a_launch_that_got_stuck_leaves_out_is_no_finding(tilewise: Tilewise, write: Write) -> None:
    text = (
        "// tilewise: --grid 1 --block 64 --arg y=f32[64]\n"
        'extern "C" __global__ void k(float* y) {\n'
        '  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");\n  else asm volatile("bar.sync 2, 64;");\n'
        "  y[threadIdx.x] = 1;\n}\n"
    )
    report = tilewise.json("check", write(text), "--expect", "y = ones(64)", code=1)
    assert {finding["kind"] for finding in report["findings"]} == {"barrier.count"}


def test_access_in_a_header_is_told_by_its_call(tilewise: Tilewise, write: Write) -> None:
    write("__device__ __forceinline__\nvoid put(float* to, float v) {\n\n  *to = v;\n}\n", "put.h")
    text = (
        "// tilewise: --grid 1 --block 64 --arg y=f32[64]\n"
        '#include "put.h"\nextern "C" __global__ void k(float* y) {\n  __shared__ float s[64];\n'
        "  put(&s[threadIdx.x], 1.f * threadIdx.x);\n  y[threadIdx.x] = s[63 - threadIdx.x];\n}\n"
    )
    findings = tilewise.json("check", write(text), code=1)["findings"]
    (message,) = (finding["message"] for finding in findings if finding["kind"] == "race.shared.raw")
    assert message.startswith("line 5 writes byte ")
    assert "of s and line 6 reads it" in message


def test_store_to_a_bit_field_reads_nothing(tilewise: Tilewise, write: Write) -> None:
    text = (
        "// tilewise: --grid 1 --block 32 --arg y=u32[32]\n"
        "struct Fields { unsigned low : 8, middle : 16, high : 8; };\n"
        'extern "C" __global__ void k(unsigned* y) {\n'
        "  Fields fields;\n  fields.middle = threadIdx.x;\n  fields.low = 1;\n  y[threadIdx.x] = fields.READ;\n}\n"
    )
    assert tilewise.json("check", write(text.replace("READ", "middle + fields.low")))["findings"] == []
    unset = text.replace("fields.middle = ", "int i = ").replace("fields.low = 1;", "").replace("READ", "high + i")
    findings = tilewise.json("check", write(unset), code=1)["findings"]
    assert "uninit.local" in {finding["kind"] for finding in findings}


def test_baseline_of_a_report_silences_what_it_has(tilewise: Tilewise, write: Write, tmp_path: Path) -> None:
    file, known = write(kernel("y[threadIdx.x + 1] = n;")), tmp_path / "known.json"
    tilewise("check", file, "--write-baseline", known, code=1)
    report = tilewise.json("check", file, "--baseline", known)
    assert report["findings"] == []
    assert report["coverage"]["skipped"] == ["2 findings that the baseline has"]


def test_workspace_that_is_not_filled_is_no_error(tilewise: Tilewise, write: Write) -> None:
    text = (
        "// tilewise: --grid 1 --block 32 --arg tmp=f32[100] --arg y=f32[32]\n"
        'extern "C" __global__ void k(float* tmp, float* y) {\n'
        "  tmp[threadIdx.x] = threadIdx.x; __syncthreads(); y[threadIdx.x] = tmp[31 - threadIdx.x];\n}\n"
    )
    (finding,) = tilewise.json("check", write(text))["findings"]
    assert (finding["kind"], finding["severity"], finding["array"]) == ("unwritten.output", "warning", "tmp")
    assert tilewise.json("check", write(text.replace("y[threadIdx.x] =", "y[0] =")), code=1)["verdict"] == "findings"


def test_file_with_a_byte_order_mark_and_windows_lines_is_read(tilewise: Tilewise, tmp_path: Path) -> None:
    facts = "// tilewise: --grid 1 --block 8 --arg x=s32[7]"
    text = f'{facts}\r\nextern "C" __global__ void one(int* x) {{\r\n  x[threadIdx.x] = 1;\r\n}}\r\n'
    path = tmp_path / "grüße.cu"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert "grüße.cu:3" in tilewise("check", path, code=1)


def test_copies_of_an_access_that_the_compiler_made_count_together(tilewise: Tilewise, write: Write) -> None:
    text = 'extern "C" __global__ void k(int* x) {\n  for (int j = 0; j < 4; ++j) x[32 * j + threadIdx.x] = j;\n}\n'
    report = tilewise.json("check", write(text), "--grid", "1", "--block", "32", "--arg", "x=s32[72]", code=1)
    (finding,) = [one for one in report["findings"] if one["kind"] == "oob.global.write"]
    assert finding["count"] == 32 + 24


def test_part_of_a_shared_array_that_the_optimiser_split_has_its_name(tilewise: Tilewise, write: Write) -> None:
    text = """__global__ void k(int* x) {
        __shared__ int s[2];
        if (threadIdx.x == 0) s[0] = x[0], s[1] = x[1];
        if (threadIdx.x == 40) s[0] = 5;
        __syncthreads();
        x[threadIdx.x + 2] = s[0];
    }"""
    report = tilewise.json("check", write(text), "--grid", "1", "--block", "64", "--arg", "x=s32[66]:arange", code=1)
    assert {one["array"] for one in report["findings"] if one["kind"].startswith("race.shared")} == {"s"}
