"""Results that are wrong: other than what was expected, not finite, or different from one order of the warps to another."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Difference, Evidence, Kind, checker
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.ptx.ast import Function, Instruction, Integer
from tilewise.ptx.literals import stored_literals
from tilewise.ptx.origins import access_origins, place_of, writing_instructions

WRONG = Kind("wrong.result", "error", "An output differs from what --expect says it should be.")
NONFINITE = Kind("numeric.nonfinite", "error", "An output is NaN or infinite although every input is finite.")
SCHEDULE = Kind(
    "schedule.difference", "error", "The same launch gives other results where warps and blocks take turns in another order."
)
INFINITIES = ((16, 0x7C00), (16, 0x7F80), (32, 0x7F800000), (64, 0x7FF0000000000000))
"""Width and bits of infinity in f16, bf16, f32 and f64; a literal may have them as a signed number too."""
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
    """Yield a finding for each line that stores to an output with elements that are not finite; notes where that is meant."""
    for index, state in enumerate(evidence.arguments):
        if not state.nonfinite or state.first_nonfinite is None:
            continue
        first = f"{state.name}[{', '.join(map(str, state.first_nonfinite))}]"
        meant = () if state.infinity is None else _literal_places(evidence, index, state.infinity)
        what = f"{state.infinity}, which stands in the kernel as a literal" if meant else "NaN or infinite"
        for place in meant or store_places(evidence, index) or (None,):
            yield Finding(
                kind=NONFINITE.name,
                severity="note" if meant else NONFINITE.severity,
                build=evidence.build,
                message=f"{state.nonfinite:,} elements of {state.name} are {what}, first {first}, and every input is finite",
                fix=(
                    "nothing needs to change where it is meant, as in a mask"
                    if meant
                    else "look for overflow (exp of a large number, before its maximum is subtracted) and for a division by 0"
                ),
                lines=() if place is None else (place,),
                array=state.name,
                count=state.nonfinite,
            )


def _literal_places(evidence: Evidence, argument: int, infinity: float) -> tuple[Place | None, ...]:
    """The places of stores to an argument that may write an infinity as it stands in the text; None for a called function's."""
    sign = infinity < 0
    wanted = {bits | sign << (width - 1) for width, bits in INFINITIES}
    wanted |= {bits - (1 << (width - 1)) for width, bits in INFINITIES} if sign else set()

    def lines(function: Function) -> set[int]:
        written = stored_literals(function).items()
        return {
            line
            for line, found in written
            if any((one.value if isinstance(one, Integer) else one.bits) in wanted for one in found)
        }

    own = stores_through(evidence, argument)
    if own:
        meant = lines(evidence.function)
        return tuple(dict.fromkeys(place_of(store) for store in own if store.ptx_line in meant))
    return (None,) if any(map(lines, evidence.callees)) else ()


def store_places(evidence: Evidence, argument: int) -> tuple[Place, ...]:
    """Return the places of the kernel's own instructions that store through an argument's pointer."""
    return tuple(dict.fromkeys(map(place_of, stores_through(evidence, argument))))


def stores_through(evidence: Evidence, argument: int) -> tuple[Instruction, ...]:
    """Return the kernel's own instructions that store through an argument's pointer."""
    parameter = evidence.function.parameters[argument].name
    origins = access_origins(evidence.function)
    return tuple(store for store in writing_instructions(evidence.function) if parameter in origins.get(store.ptx_line, ()))
