"""Results that are wrong: other than what was expected, not finite, or different from one order of the warps to another."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Difference, Evidence, Kind, checker
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.ptx.ast import Instruction
from tilewise.ptx.origins import access_origins, place_of, writing_instructions

WRONG = Kind("wrong.result", "error", "An output differs from what --expect says it should be.")
NONFINITE = Kind("numeric.nonfinite", "error", "An output is NaN or infinite although every input is finite.")
SCHEDULE = Kind(
    "schedule.difference", "error", "The same launch gives other results where warps and blocks take turns in another order."
)
FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")


@checker(WRONG, NONFINITE, SCHEDULE)
def find_wrong_results(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each output that is not what it should be."""
    for difference in evidence.differences:
        if difference.is_rounding and _adds_floats(evidence):
            yield _rounding(evidence, difference)
            continue
        kind = SCHEDULE if difference.is_between_schedules else WRONG
        element = f"{difference.array}[{', '.join(map(str, difference.first))}]"
        error = "" if difference.is_between_schedules else f"; the largest relative error is {difference.max_relative_error:.2g}"
        yield Finding(
            kind=kind.name,
            severity=kind.severity,
            build=evidence.build,
            message=(
                f"{difference.wrong:,} of {difference.elements:,} elements of {difference.array} differ from "
                f"{difference.against}: {element} is {difference.computed:.9g}, not {difference.expected:.9g}{error}"
            ),
            fix=(
                "look for data that passes between threads without a barrier, an atomic or a fence; where results may hang on "
                "the order, as places that atomics give out do, compare with --expect instead"
                if kind is SCHEDULE
                else "follow one wrong element: tilewise trace shows what a thread reads and computes, line by line"
            ),
            array=difference.array,
            count=difference.wrong,
        )
    if evidence.finite_inputs:
        yield from _find_nonfinite(evidence)


def _rounding(evidence: Evidence, difference: Difference) -> Finding:
    """Atomics add floats in the order in which threads come: that the sums differ in their last digits is how it must be."""
    return Finding(
        kind=SCHEDULE.name,
        severity="note",
        build=evidence.build,
        message=(
            f"{difference.wrong:,} of {difference.elements:,} elements of {difference.array} differ from {difference.against} in "
            "their last digits: atomics add floats in the order in which threads come"
        ),
        fix="nothing needs to change, unless results must repeat bit by bit: then add in a fixed order",
        array=difference.array,
        count=difference.wrong,
    )


def _adds_floats(evidence: Evidence) -> bool:
    """Whether the kernel, or a function of its module, adds floats by atomics."""
    functions = (evidence.function, *evidence.callees)
    opcodes = (item.opcode.split(".") for function in functions for item in function.body if isinstance(item, Instruction))
    return any(words[0] in ("atom", "red") and "add" in words and set(FLOATS) & set(words) for words in opcodes)


def _find_nonfinite(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each line that stores to an output with elements that are not finite."""
    for index, state in enumerate(evidence.arguments):
        if not state.nonfinite or state.first_nonfinite is None:
            continue
        places = store_places(evidence, index)
        element = f"{state.name}[{', '.join(map(str, state.first_nonfinite))}]"
        for place in places or (None,):
            yield Finding(
                kind=NONFINITE.name,
                severity=NONFINITE.severity,
                build=evidence.build,
                message=(
                    f"{state.nonfinite:,} elements of {state.name} are NaN or infinite, the first of them {element}, and every "
                    "input is finite"
                ),
                fix="look for overflow (exp of a large number, before its maximum is subtracted) and for a division by 0",
                lines=() if place is None else (place,),
                array=state.name,
                count=state.nonfinite,
            )


def store_places(evidence: Evidence, argument: int) -> tuple[Place, ...]:
    """Return the places of the kernel's own instructions that store through an argument's pointer."""
    parameter = evidence.function.parameters[argument].name
    origins = access_origins(evidence.function)
    found = (
        place_of(instruction)
        for instruction in writing_instructions(evidence.function)
        if parameter in origins.get(instruction.ptx_line, ())
    )
    return tuple(dict.fromkeys(found))
