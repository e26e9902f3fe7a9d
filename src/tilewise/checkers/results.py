"""Results that are wrong: other than what was expected, not finite, or different from one order of the warps to another."""

from __future__ import annotations

from collections.abc import Iterator

from tilewise.checkers.base import Evidence, Kind, checker
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.ptx.origins import access_origins, place_of, writing_instructions

WRONG = Kind("wrong.result", "error", "An output differs from what --expect says it should be.")
NONFINITE = Kind("numeric.nonfinite", "error", "An output is NaN or infinite although every input is finite.")
SCHEDULE = Kind(
    "schedule.difference", "error", "The same launch gives other results where warps and blocks take turns in another order."
)


@checker(WRONG, NONFINITE, SCHEDULE)
def find_wrong_results(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each output that is not what it should be."""
    for difference in evidence.differences:
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
                "look for data that passes between threads without a barrier, an atomic or a fence"
                if kind is SCHEDULE
                else "follow one wrong element: tilewise trace shows what a thread reads and computes, line by line"
            ),
            array=difference.array,
            count=difference.wrong,
        )
    if evidence.finite_inputs:
        yield from _find_nonfinite(evidence)


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
