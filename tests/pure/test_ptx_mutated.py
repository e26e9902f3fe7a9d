from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tilewise.core.errors import TilewiseError
from tilewise.ptx.cfg import build_cfg
from tilewise.ptx.parse import parse

HEAD = ".version 9.5\n.target sm_90a, debug\n.address_size 64\n"
OPEN = HEAD + ".visible .entry k(.param .u64 a)\n{\n.reg .b32 %r<9>;\n.reg .pred %p<3>;\n"

SAMPLE = (
    HEAD
    + """
	// .globl	k
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0
)
;
.const .align 4 .b8 w[8] = {0, 0, 128, 63};
.global .align 8 .u64 p[2] = {generic(w)+4, 7};
.extern .shared .align 16 .b8 dyn[];
.func (.param .b32 func_retval0) f(.param .b32 f_param_0)
{
	ret;
}
.visible .entry k(
	.param .u64 .ptr .align 1 k_param_0,
	.param .align 8 .b8 k_param_1[16]
)
.maxntid 256, 1, 1
{
	.reg .pred 	%p<4>;
	.reg .f32 	%f<9>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<4>;
	.loc	1 18 0
$L__func_begin0:
	.shared .align 4 .b8 tile[4096];
	ld.param.u64 	%rd1, [k_param_0+8];
	mov.u32 	%r1, %tid.x;
	setp.lt.s32 	%p1|%p2, %r1, -7;
	@!%p1 bra 	$L__BB0_2;
	.loc	1 9 33, function_name $L__info_string0, inlined_at 1 24 5
	mov.f32 	%f1, 0f3F800000;
	{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2; @p bra D; bra W; D: }
	st.global.v2.f32 	[%rd1+-1024], {%f1, %f2};
	{ // callseq 0, 0
	.param .b32 param0;
	.param .b32 retval0;
	prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _);
	call (retval0), %rd1, (param0), prototype_0;
	}
$L__BB0_2:
	.pragma "nounroll";
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];
$L__brx: .branchtargets $L__BB0_2, $L__end;
	brx.idx 	%r1, $L__brx;
$L__end:
	ret;
}
	.file	1 "/src/k.cu"
	.section	.debug_str
	{
$L__info_string0:
.b8 95,90,55,0
	}
"""
)

TOKENS = [
    *("{", "}", "(", ")", "[", "]", ",", ";", ":", "::", ".", "@", "!", "|", "_", "%", '"', "//", "/*", "*/", "\\", "\n", "\0"),
    *("0x", "0f", "-", "+", "<", ">", "=", "1.5", "1e999", "9" * 30, "9" * 5000, "\u0660", "\ud800", "é", "WARP_SZ", "%tid.x"),
    *(
        "generic(",
        "0xFF00(",
        ".loc 1 0 0\n",
        ".reg .b32 %r<999999999>;",
        ".section x {",
        ".v4",
        ".align",
        ".ptr",
        "bra",
        "call",
        "L:",
    ),
    *("brx.idx %r1, x;", ".loc 1 2 3, function_name $L__info_string0, inlined_at 1 2 3\n", ".file 1 "),
]

edits = st.tuples(st.integers(0, len(SAMPLE)), st.sampled_from([0, 0, 1, 3, 20, 400]), st.sampled_from(["", "", *TOKENS]))


def refusal(text: str) -> str | None:
    """Parse `text` and build its graphs: the message where that is refused, None where it is understood."""
    try:
        for function in parse(text).functions:
            build_cfg(function, lambda instruction: instruction.opcode.startswith("mbarrier"))
    except TilewiseError as error:
        return str(error)
    return None


def test_sample_is_whole() -> None:
    assert refusal(SAMPLE) is None


@given(st.lists(edits, min_size=1, max_size=5))
@settings(max_examples=300)
def test_mutated_text_parses_or_is_refused(changes: list[tuple[int, int, str]]) -> None:
    text = SAMPLE
    for at, length, insertion in changes:
        text = text[:at] + insertion + text[at + length :]
    message = refusal(text)
    assert message is None or message.startswith("PTX line ")


@given(st.text(max_size=200), st.sampled_from(["", HEAD, OPEN]))
@example("\0", "")
def test_any_text_parses_or_is_refused(text: str, before: str) -> None:
    message = refusal(before + text)
    assert message is None or message.startswith("PTX line ")


@pytest.mark.parametrize("before", [HEAD, OPEN], ids=["module", "body"])
@pytest.mark.parametrize(
    "token",
    [
        *('"', '"\\"', "/*", "/* *", "//", " ", "\n", "{", "}", "{}", "(", "[", "@p ", "a.", "a::", "L", "L:", "add ", "1+", "-"),
        *("add.s32 %r1, ", "add.s32 {", "mov.b32 %r1, (", "[%r1, {", "call (", "generic(", "0xFF(", ".section a {", '.file 1 "'),
        *(
            ".loc 1 1 1\n",
            ".reg ",
            ".x.y",
            ".align 4 ",
            ".target a,",
            ".func .attribute( (",
            ".maxntid 1, ",
            '.pragma "',
            ".visible ",
        ),
        *("x : .branchtargets ", "x : .callprototype ( ", ".global .b8 x", "$L: .b8 1,", "%r1|", "!", "{ .reg .b32 z; }"),
    ],
)
def test_repetition_takes_linear_time(before: str, token: str) -> None:
    start = time.perf_counter()
    message = refusal(before + token * 50_000)
    assert message is None or len(message) < 1000
    assert time.perf_counter() - start < 10  # linear: a fraction of a second; quadratic: minutes


@pytest.mark.parametrize(
    "instruction",
    [
        "mov.b32 %r1, " + "1+" * 50_000 + "1;",
        "mov.b32 %r1, " + "(" * 50_000 + "1" + ")" * 50_000 + ";",
        "mov.b32 " + "{" * 50_000 + "%r1" + "}" * 50_000 + ";",
        "mov.b32 " + "[" * 50_000 + "%r1" + "]" * 50_000 + ";",
        "mov.b32 " + "[%r1," * 50_000 + "%r1" + "]" * 50_000 + ";",
        "call " + "(" * 50_000 + "%r1" + ")" * 50_000 + ";",
        "{" * 50_000 + "ret;" + "}" * 50_000,
        "mov.b32 %r1, " + "9" * 50_000 + ";",
        "".join(f".reg .b32 %z{number}<99999>;" for number in range(30)),
    ],
    ids=lambda text: text[:20],
)
def test_deep_or_large_text_is_refused(instruction: str) -> None:
    with pytest.raises(TilewiseError, match=r"^PTX line 8: "):
        parse(OPEN + instruction + "}")
