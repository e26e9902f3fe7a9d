"""Which array each expectation is about."""

from __future__ import annotations

from collections.abc import Sequence

from tilewise.core.errors import TilewiseError, nearest
from tilewise.engine.arguments import BoundArgument
from tilewise.engine.expect import Expectation
from tilewise.engine.kernel_file import KernelEntry
from tilewise.ptx.origins import access_origins, writing_instructions


def choose_outputs(
    entry: KernelEntry, arguments: Sequence[BoundArgument], expectations: Sequence[Expectation], out: str | None
) -> list[tuple[Expectation, str]]:
    """Return each expectation with the array that it is about: the one it names, or `out`, or the only output.

    Raises TilewiseError for names that no argument has, and where there are several outputs or none.
    """
    names = frozenset(argument.name for argument in arguments)
    arrays = [argument.name for argument in arguments if argument.is_buffer]
    if out is not None and out not in arrays:
        raise TilewiseError(f"--out {out}: no array argument is called so.{nearest(out, arrays) if arrays else ''}")
    found = []
    for expectation in expectations:
        expectation.check_names(names)
        chosen = expectation.out or out or _only_output(entry, arguments, expectation)
        if chosen not in arrays:
            raise TilewiseError(f"--expect {expectation.text!r}: {chosen} is a number, and a result is an array.")
        found.append((expectation, chosen))
    return found


def _only_output(entry: KernelEntry, arguments: Sequence[BoundArgument], expectation: Expectation) -> str:
    outputs = [argument.name for argument in arguments if argument.is_poison and argument.is_buffer]
    if len(outputs) != 1:
        origins = access_origins(entry.function)
        stored = {name for one in writing_instructions(entry.function) for name in origins.get(one.ptx_line, ())}
        pairs = zip(entry.parameters, arguments, strict=True)
        outputs = [argument.name for parameter, argument in pairs if argument.is_buffer and parameter.name in stored]
    if len(outputs) != 1:
        several = f"the kernel has the outputs {', '.join(outputs)}" if outputs else "it is not clear which array is the output"
        raise TilewiseError(f"--expect {expectation.text!r}: {several}: choose one with --out, or write NAME = ... in --expect.")
    return outputs[0]
