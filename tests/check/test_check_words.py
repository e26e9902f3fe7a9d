"""Checkers: facts and counters made by hand, and the findings that they become."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from evidence import ARRAY, LOAD, NOTHING, PTX, STORE, evidence, setup, site

from tilewise.checkers.base import ArrayState, Difference, judge_launch, judge_run, kinds
from tilewise.core.counters import Counters
from tilewise.core.facts import (
    Access,
    AccessKind,
    Conflict,
    Fault,
    FaultKind,
    IdleBarrier,
    Observed,
    ShortBarrier,
    Uninitialised,
    Unwritten,
)
from tilewise.core.finding import Finding
from tilewise.core.module import KernelResources
from tilewise.core.place import Place

ORIGIN = (0, 0, 0)


SINGLE = PTX.replace("mul.f64 %fd2, %fd1, %fd1", "mov.f64 %fd2, %fd1")
"""Without arithmetic of doubles."""


def found(**changes: Any) -> list[Finding]:
    return list(judge_run(evidence(**{"ptx": SINGLE, **changes})))


def only(**changes: Any) -> Finding:
    (finding,) = found(**changes)
    return finding


def seen(**facts: Any) -> Observed:
    changes: dict[str, Any] = {name: tuple(facts[name]) for name in facts}
    return replace(NOTHING, **changes)


def fault(kind: FaultKind, **changes: Any) -> Fault:
    given: dict[str, Any] = {"detail": "4 bytes at byte 8000 of argument 1", "count": 3, "place": Place("k.cu", 6, 3), **changes}
    return Fault(kind, "k.cu", 6, "st.global.f32", (1, 0, 0), (7, 0, 0), **given)


def access(line: int, kind: AccessKind, thread: int = 0, block: int = 0, iteration: int = 1) -> Access:
    return Access(Place("k.cu", line), "x", kind, (block, 0, 0), (thread, 0, 0), iteration)


def conflict(first: Access, second: Access, **changes: Any) -> Conflict:
    given: dict[str, Any] = {
        "space": "shared",
        "array": "_ZZ1kE4tile",
        "offset": 16,
        "in_warp": False,
        "across_blocks": False,
        "is_pending": False,
        "same_value": False,
        "needs_fence": False,
        "count": 5,
        **changes,
    }
    return Conflict(first=first, second=second, **given)


# -- faults


@pytest.mark.parametrize(
    ("kind", "space", "how", "expected"),
    [
        ("out of bounds", "global", "read", "oob.global.read"),
        ("out of bounds", "global", "copy", "oob.global.read"),
        ("out of bounds", "global", "write", "oob.global.write"),
        ("out of bounds", "global", "atomic", "oob.global.write"),
        ("out of bounds", "shared", "read", "oob.shared"),
        ("out of bounds", "local", "write", "oob.local"),
        ("out of bounds", "param", "read", "oob.param"),
        ("misaligned", "global", "read", "misaligned"),
        ("store to a read-only buffer", "global", "write", "oob.global.write"),
        ("jump to nowhere", "", None, "oob.jump"),
        ("stack overflow", "", None, "oob.stack"),
        ("failed assertion", "", None, "trap.assert"),
        ("trap", "", None, "trap.instruction"),
        ("missing lanes", "", None, "warp.mask"),
        ("deadlock", "", None, "deadlock.spin"),
    ],
)
def test_fault_has_its_kind(kind: FaultKind, space: str, how: AccessKind | None, expected: str) -> None:
    finding = only(observed=seen(faults=[fault(kind, space=space, access=how, array="argument 1")]))
    assert (finding.kind, finding.severity, finding.count) == (expected, "error", 3)
    assert finding.lines == (Place("k.cu", 6, 3),)
    assert (finding.blocks, finding.threads) == (((1, 0, 0),), ((7, 0, 0),))


def test_bad_address_names_the_array() -> None:
    finding = only(observed=seen(faults=[fault("out of bounds", space="global", access="write", array="argument 1")]))
    assert finding.array == "B"
    assert "writes 4 bytes at byte 8000 of B" in finding.message


def test_index_that_wrapped_is_overflow() -> None:
    one = fault("out of bounds", space="global", access="write", array="argument 1", wrapped=True)
    assert only(observed=seen(faults=[one])).kind == "overflow.index"


@pytest.mark.parametrize(
    ("kind", "barrier", "expected"),
    [("deadlock", 1, "barrier.count"), ("deadlock", 0, "barrier.divergence"), ("divergent barrier", 0, "barrier.divergence")],
)
def test_stuck_barrier_has_its_kind(kind: FaultKind, barrier: int, expected: str) -> None:
    finding = only(observed=seen(faults=[fault(kind, barrier=barrier)]))
    assert (finding.kind, finding.severity) == (expected, "error")


def test_barrier_that_threads_had_left_is_a_note() -> None:
    finding = only(observed=seen(short_barriers=[ShortBarrier(Place("k.cu", 9), ORIGIN, ORIGIN, 4)]))
    assert (finding.kind, finding.severity, finding.lines) == ("barrier.divergence", "note", (Place("k.cu", 9),))


def test_faults_of_several_instructions_of_a_line_are_one_finding() -> None:
    faults = [fault("misaligned", space="shared", access="read", ptx_line=line) for line in (10, 12)]
    assert only(observed=seen(faults=faults)).count == 6


# -- races

READ, WRITE, OTHER_WRITE = access(21, "read", 1, iteration=3), access(17, "write", 33, iteration=4), access(18, "write", 40)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (conflict(WRITE, READ), "race.shared.raw"),
        (conflict(READ, WRITE), "race.shared.war"),
        (conflict(WRITE, OTHER_WRITE), "race.shared.ww"),
        (conflict(access(5, "copy"), WRITE), "race.shared.ww"),
        (conflict(WRITE, READ, in_warp=True), "race.shared.warp"),
        (conflict(WRITE, READ, space="global"), "race.global"),
        (conflict(WRITE, READ, space="global", in_warp=True), "race.global"),
        (conflict(WRITE, READ, space="global", needs_fence=True), "race.global.fence"),
        (conflict(WRITE, READ, needs_fence=True), "race.shared.raw"),
        (conflict(WRITE, OTHER_WRITE, same_value=True), "race.benign"),
        (conflict(access(5, "copy"), READ, is_pending=True), "async.cp_async_wait"),
    ],
)
def test_race_has_its_kind(one: Conflict, expected: str) -> None:
    finding = only(observed=seen(conflicts=[one]))
    assert finding.kind == expected
    assert finding.severity == ("note" if expected == "race.benign" else "error")
    lines = (one.second.place,) if one.is_pending else (one.first.place, one.second.place)
    assert finding.lines == lines
    assert finding.array == "tile"
    assert (finding.threads, finding.blocks) == ((one.first.thread, one.second.thread), (ORIGIN, ORIGIN))


def test_race_says_who_did_what_in_which_iteration() -> None:
    message = only(observed=seen(conflicts=[conflict(READ, WRITE)])).message
    assert "line 21 of iteration 3 reads byte 16 of tile and line 17 of iteration 4 writes it" in message
    assert "threads 1 and 33 of block 0" in message


def test_race_of_global_memory_within_a_warp_asks_for_no_more_than_syncwarp() -> None:
    finding = only(observed=seen(conflicts=[conflict(WRITE, READ, space="global", in_warp=True)]))
    assert "no __syncwarp or barrier between them" in finding.message
    assert "__syncwarp()" in finding.fix
    alone = only(observed=seen(conflicts=[conflict(WRITE, WRITE, space="global", in_warp=True)]))
    assert "__syncwarp" not in alone.message + alone.fix


def test_race_of_global_memory_names_the_element_and_both_blocks() -> None:
    one = conflict(WRITE, access(17, "write", 2, block=5), space="global", array="argument 0", offset=404, across_blocks=True)
    finding = only(observed=seen(conflicts=[one]))
    assert "A[1, 1]" in finding.message
    assert "thread 33 of block 0 and thread 2 of block 5" in finding.message


# -- memory without contents


@pytest.mark.parametrize("space", ["shared", "global", "local"])
def test_load_of_what_nobody_wrote(space: Any) -> None:
    finding = only(observed=seen(uninitialised=[Uninitialised(space, "argument 1", 8, access(4, "read"), 7)]))
    assert (finding.kind, finding.severity, finding.count) == (f"uninit.{space}", "error", 7)
    assert finding.lines == (Place("k.cu", 4),)


def test_output_with_holes_says_how_many_elements() -> None:
    finding = only(observed=seen(unwritten=[Unwritten("argument 1", 3840, 160, (Place("k.cu", 6), Place("k.cu", 6)))]))
    assert (finding.kind, finding.array, finding.count, finding.lines) == ("unwritten.output", "B", 40, (Place("k.cu", 6),))
    assert "40 of 1,000 elements of B" in finding.message
    assert "B[960]" in finding.message


def test_workspace_with_holes_is_a_warning() -> None:
    finding = only(observed=seen(unwritten=[Unwritten("argument 1", 3840, 160, (), is_read=True)]))
    assert (finding.kind, finding.severity) == ("unwritten.output", "warning")
    assert "workspace" in finding.message


# -- launches


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"block": (33, 33, 1)}, ["launch.threads"]),
        ({"block": (1, 1, 65)}, ["launch.threads"]),
        ({"block": (0, 1, 1)}, ["launch.threads"]),
        ({"bound_threads": 256}, []),
        ({"bound_threads": 255}, ["launch.threads"]),
        ({"required_block": (256, 1, 1)}, []),
        ({"required_block": (128, 1, 1)}, ["launch.threads"]),
        ({"grid": (4, 0, 1)}, ["launch.grid"]),
        ({"grid": (1, 65_536, 1)}, ["launch.grid"]),
        ({"grid": (2**31 - 1, 65_535, 65_535)}, []),
        ({"dynamic_shared_bytes": 48 * 1024}, []),
        ({"dynamic_shared_bytes": 48 * 1024 + 4}, ["launch.smem_limit"]),
        ({"dynamic_shared_bytes": 65_536, "stated_dynamic_limit_bytes": 65_536}, []),
        ({"dynamic_shared_bytes": 65_540, "stated_dynamic_limit_bytes": 65_536}, ["launch.smem_limit"]),
        ({"dynamic_shared_bytes": 300_000, "stated_dynamic_limit_bytes": 300_000}, ["launch.smem_limit"]),
        ({"block": (1024, 1, 1), "resources": KernelResources("k", 65, 0, 0)}, ["launch.registers"]),
        ({"block": (1024, 1, 1), "resources": KernelResources("k", 64, 0, 0)}, []),
        ({"resources": None}, []),
    ],
)
def test_launch_is_held_against_the_device(changes: dict[str, Any], expected: list[str]) -> None:
    findings = judge_launch(setup(**changes))
    assert [finding.kind for finding in findings] == expected
    assert all(finding.lines == (Place("k.cu", 3),) for finding in findings)


# -- results


def test_wrong_result_quotes_the_first_element() -> None:
    difference = Difference("B", "2 * A", 3, 1000, (17,), 1.5, 2.5, 0.4)
    finding = only(differences=(difference,))
    assert (finding.kind, finding.array, finding.count) == ("wrong.result", "B", 3)
    assert "B[17] is 1.5, not 2.5" in finding.message
    between = replace(difference, is_between_schedules=True)
    finding = only(differences=(between,))
    assert (finding.kind, finding.severity) == ("schedule.difference", "error")
    rounding = replace(between, is_rounding=True)  # and nothing adds floats by atomics
    assert only(differences=(rounding,)) == finding


def test_result_that_is_not_finite_stands_at_its_stores() -> None:
    arguments = (ArrayState("A", ARRAY, (9,), 36), ArrayState("B", ARRAY, (9,), 36, 4, (2,)), ArrayState("n", None))
    finding = only(arguments=arguments)
    assert (finding.kind, finding.array, finding.count) == ("numeric.nonfinite", "B", 4)
    assert [place.line for place in finding.lines] == [6]
    assert found(arguments=arguments, finite_inputs=False) == []


MASKED = (
    SINGLE.replace("{", "{{")
    .replace("}", "}}")
    .replace("st.global.f32 [%rd5], %f2;", "{}\n  st.global.f32 [%rd5], %f2;\n  .loc 1 7 3\n  {}")
)


@pytest.mark.parametrize(
    ("before", "store", "line"),
    [
        ("mov.f32 %f2, 0fFF800000;", "ret;", 6),
        ("mov.b32 %r1, -8388608; mov.b32 %f3, %r1; selp.f32 %f2, %f3, %f1, 1;", "ret;", 6),
        ("mov.f32 %f3, 0f7F800000; neg.f32 %f2, %f3;", "ret;", 6),
        ("", "st.global.b32 [%rd5], -8388608;", 7),
        ("", "st.global.f32 [%rd5], 0fFF800000;", 7),
    ],
)
def test_infinity_that_the_kernel_stores_as_it_stands_in_the_text_is_a_note(before: str, store: str, line: int) -> None:
    state = ArrayState("B", ARRAY, (9,), 36, 4, (2,), -math.inf)
    arguments = (ArrayState("A", ARRAY, (9,), 36), state, ArrayState("n", None))
    ptx = MASKED.format(before, store)
    finding = only(ptx=ptx, arguments=arguments)
    assert (finding.severity, finding.count, [place.line for place in finding.lines]) == ("note", 4, [line])
    for other in (replace(state, infinity=math.inf), replace(state, infinity=None)):
        errors = found(ptx=ptx, arguments=(arguments[0], other, arguments[2]))
        assert {finding.severity for finding in errors} == {"error"}


def test_infinity_that_is_computed_from_one_in_the_text_is_an_error() -> None:
    state = ArrayState("B", ARRAY, (9,), 36, 4, (2,), -math.inf)
    arguments = (ArrayState("A", ARRAY, (9,), 36), state, ArrayState("n", None))
    ptx = MASKED.format("mov.f32 %f3, 0fFF800000; add.f32 %f2, %f3, %f1;", "ret;")
    assert only(ptx=ptx, arguments=arguments).severity == "error"


# -- performance


def counted(**figures: Any) -> Counters:
    return Counters(sites=(site(**figures),))


@pytest.mark.parametrize(("transactions", "is_found"), [(40, False), (80, False), (81, True), (320, True)])
def test_uncoalesced_is_more_than_twice_the_sectors_that_the_bytes_fill(transactions: int, is_found: bool) -> None:
    findings = found(counters=counted(space="global", kind="load", ptx_line=LOAD, transactions=transactions))
    assert [(one.kind, one.severity, one.array, one.lines[0].line) for one in findings] == (
        [("perf.uncoalesced", "warning", "A", 4)] if is_found else []
    )


def test_one_lane_that_loads_four_bytes_is_not_uncoalesced() -> None:
    assert found(counters=counted(space="global", kind="load", ptx_line=LOAD, bytes=40, transactions=10)) == []


def test_row_of_elements_from_which_lanes_stay_away_is_not_uncoalesced() -> None:
    sparse = replace(site("global", "load", LOAD, bytes=160), opcode="ld.global.nc.f32")
    assert found(counters=Counters(sites=(sparse,))) == []
    assert found(counters=Counters(sites=(replace(sparse, transactions=60),))) != []


def test_bank_conflict_is_judged_by_wavefronts() -> None:
    figures = {"space": "shared", "kind": "store", "ptx_line": STORE, "worst_conflict_ways": 8}
    (finding,) = found(counters=counted(**figures, transactions=80))
    assert (finding.kind, finding.severity) == ("perf.bank_conflict", "warning")
    assert "8-way" in finding.message
    assert found(counters=counted(**figures, transactions=11)) == []
    assert found(counters=counted(**{**figures, "kind": "atomic"}, transactions=80)) == []


def test_traffic_says_how_often_each_element_is_requested_unless_it_is_staged() -> None:
    sites = (site("global", "load", LOAD, bytes=64 * 4000, transactions=8000, requests=2000),)
    counters = Counters(requested_load_bytes=64 * 4000, sites=sites)
    finding = only(counters=counters)
    assert (finding.kind, finding.severity, finding.array, finding.count) == ("perf.traffic", "note", "A", 64)
    assert "each element 64 times" in finding.message
    assert found(counters=replace(counters, shared_store_bytes=64 * 4000)) == []


def test_doubles_are_judged_by_what_the_arguments_are() -> None:
    finding = only(ptx=PTX)
    assert (finding.kind, finding.lines[0].line) == ("perf.fp64", 5)
    assert found(ptx=PTX, arguments=(ArrayState("A", replace(ARRAY, name="f64"), (9,), 72), *evidence().arguments[1:])) == []


def test_local_memory_must_stand_in_the_cubin() -> None:
    sites = (replace(site("global", "load", LOAD), space="local"),)
    spilled = setup(resources=KernelResources("k", 32, 0, 128))
    assert "perf.local_memory" in {one.kind for one in found(counters=Counters(sites=sites), setup=spilled)}
    assert "perf.local_memory" not in {one.kind for one in found(counters=Counters(sites=sites))}


@pytest.mark.parametrize(
    ("registers", "threads", "is_found"), [(32, 256, False), (255, 256, False), (255, 64, False), (255, 160, True)]
)
def test_low_occupancy_by_registers_is_less_than_an_eighth(registers: int, threads: int, is_found: bool) -> None:
    given = setup(block=(threads, 1, 1), resources=KernelResources("k", registers, 0, 0))
    assert ("perf.occupancy" in {one.kind for one in found(setup=given)}) is is_found


@pytest.mark.parametrize(("shared", "is_found"), [(13_000, False), (16_000, True)])
def test_low_occupancy_by_shared_memory_is_less_than_a_quarter(shared: int, is_found: bool) -> None:
    given = setup(block=(32, 1, 1), resources=KernelResources("k", 32, shared, 0))
    assert ("perf.occupancy" in {one.kind for one in found(setup=given)}) is is_found


def test_barrier_that_orders_nothing_is_a_note() -> None:
    finding = only(observed=seen(idle_barriers=[IdleBarrier(Place("k.cu", 5), 6)]))
    assert (finding.kind, finding.severity, finding.count) == ("perf.barrier", "note", 6)


def test_performance_is_judged_only_of_a_run_with_counts() -> None:
    assert found(counters=None) == []


# -- the registry


def test_every_kind_has_a_sentence_and_every_finding_a_kind() -> None:
    known = kinds()
    assert len(known) >= 35
    assert all(kind.summary.endswith(".") for kind in known.values())
    assert list(known) == sorted(known)
