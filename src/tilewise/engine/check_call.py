"""`tilewise.check`: a check from Python, of a file, a text, a source or a module, with arrays of NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewise.core.argument import parse_argument
from tilewise.core.dtypes import DTYPES, Dtype, find_dtype
from tilewise.core.errors import TilewiseError
from tilewise.core.launch import CHECKED_INSTRUCTIONS, as_dim3
from tilewise.core.launch_facts import LaunchFacts
from tilewise.core.module import Module
from tilewise.core.report import Report, require_severity
from tilewise.core.scanner import FlagText
from tilewise.core.source import KernelSource
from tilewise.engine.arguments import BoundArgument, Configuration, bind_argument, describe_parameter, plan_argument
from tilewise.engine.check import CheckOptions, check_subject
from tilewise.engine.check_builds import Builds, open_builds
from tilewise.engine.check_filter import Filters, apply_filters
from tilewise.engine.check_results import Tolerances
from tilewise.engine.check_subject import Subject, parameter_names, subject_of_facts
from tilewise.engine.expect import parse_expectation
from tilewise.engine.kernel_file import BuildOptions, KernelEntry, KernelFile, find_kernel, open_file
from tilewise.hw.device import Device
from tilewise.hw.device_file import find_device

if TYPE_CHECKING:
    from tilewise.ptx.ast import Variable

Kernel = str | Path | KernelSource | Module
Size = int | Sequence[int]


def check(
    kernel: Kernel,
    *,
    grid: Size | None = None,
    block: Size | None = None,
    args: Sequence[Any] | Mapping[str, Any] | None = None,
    expect: str | Sequence[str] = (),
    out: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    name: str | None = None,
    dynamic_shared_bytes: int = 0,
    max_dynamic_shared_bytes: int | None = None,
    build: str | None = None,
    device: str | Device = "h200",
    options: BuildOptions | None = None,
    schedules: int = 1,
    sample_blocks: int | None = None,
    threads: int | None = None,
    max_instructions: int | None = CHECKED_INSTRUCTIONS,
    only: Sequence[str] = (),
    ignore: Sequence[str] = (),
    baseline: Path | None = None,
    fail_on: str = "error",
) -> Report:
    """Return what is wrong with a launch of a kernel; it runs on this CPU.

    `kernel` is a .cu or .ptx file (a Path, or a text that ends so), CUDA C++, a KernelSource or a Module; `name` the kernel in
    it, where there are several. `args` are in the order of the parameters, or by names that `expect` and the report then use:
    NumPy arrays (which are copied, and stay as they are), numbers, or the values of `--arg`, such as "f32[64, 64]:normal"
    (without a fill: memory that nobody has written). Without grid, block and args, the file's own `// tilewise:` lines state
    them. All else is as for the command's options of these names; `max_instructions` None lifts the limit.
    Raises CompileError, and TilewiseError for what does not fit the kernel.
    """
    where = find_device(device) if isinstance(device, str) else device
    wanted = CheckOptions(
        device=where,
        expectations=tuple(parse_expectation(text) for text in ([expect] if isinstance(expect, str) else expect)),
        out=out,
        tolerances=Tolerances(atol, rtol),
        schedules=schedules,
        sample_blocks=sample_blocks,
        threads=threads,
        max_instructions=max_instructions,
        fail_on=require_severity(fail_on),
    )
    how = BuildOptions(arch=where.arch) if options is None else options
    file = _file(kernel)
    facts = file.facts(LaunchFacts(kernel=name)) if file else LaunchFacts(kernel=name)
    builds = open_builds(file, how, facts.kernel, build) if file else _module_builds(kernel, name)
    if grid is None and block is None and args is None and file is not None:
        subject = subject_of_facts(builds, facts)
    else:
        subject = _subject(builds, grid, block, args, dynamic_shared_bytes, max_dynamic_shared_bytes)
    report = check_subject(subject, wanted)
    sources = {str(file.path): file.text} if file else {}
    return apply_filters(report, Filters(tuple(only), tuple(ignore), baseline), sources)


def _file(kernel: Kernel) -> KernelFile | None:
    """What a kernel is given as, as a file; None for a module."""
    match kernel:
        case Module():
            return None
        case KernelSource():
            return KernelFile(Path(kernel.name), kernel.text, is_ptx=False, source=kernel)
        case Path():
            return open_file(kernel)
        case str() if "\n" not in kernel and kernel.endswith((".cu", ".ptx")):
            return open_file(Path(kernel))
        case str():
            return KernelFile(Path("kernel.cu"), kernel, is_ptx=False)
        case _:
            raise TilewiseError(f"kernel is a {type(kernel).__name__}: give a file, CUDA C++, a KernelSource or a Module.")


def _module_builds(kernel: Kernel, name: str | None) -> Builds:
    assert isinstance(kernel, Module)
    return Builds((("optimised", find_kernel(kernel, name)),))


def _subject(
    builds: Builds,
    grid: Size | None,
    block: Size | None,
    args: Sequence[Any] | Mapping[str, Any] | None,
    shared_bytes: int,
    most_shared_bytes: int | None,
) -> Subject:
    """A launch as the caller gives it."""
    if grid is None or block is None or args is None:
        raise TilewiseError("a launch takes grid, block and args: give all three, or none where the file's own lines state them.")
    if not isinstance(shared_bytes, int) or shared_bytes < 0:
        raise TilewiseError(f"dynamic_shared_bytes = {shared_bytes!r}: give a whole number of at least 0.")
    configuration = Configuration(as_dim3("grid", grid), as_dim3("block", block), (1, 1, 1), shared_bytes)
    return Subject(builds, configuration, most_shared_bytes, _Given(args, builds).bind)


class _Given:
    """Arguments as a caller gives them, bound anew for each run."""

    def __init__(self, args: Sequence[Any] | Mapping[str, Any], builds: Builds) -> None:
        parameters = builds.first.parameters
        if len(args) != len(parameters):
            takes = ", ".join(map(describe_parameter, parameters)) or "none"
            many = "s" * (len(parameters) != 1)
            raise TilewiseError(
                f"the kernel takes {len(parameters)} argument{many} ({takes}), not {len(args)}: give args one each."
            )
        named = args if isinstance(args, Mapping) else dict(zip(_names(builds), args, strict=True))
        self._values = tuple(named.items())
        self._numbers = {label: value for label, value in self._values if isinstance(value, int)}

    def bind(self, entry: KernelEntry) -> tuple[BoundArgument, ...]:
        """Return the arguments of one run."""
        pairs = zip(self._values, entry.parameters, strict=True)
        copies: dict[int, Any] = {}
        return tuple(
            self._bind(label, value, parameter, index, copies) for index, ((label, value), parameter) in enumerate(pairs)
        )

    def _bind(self, label: str, value: Any, parameter: Variable, index: int, copies: dict[int, Any]) -> BoundArgument:
        import numpy as np

        if isinstance(value, np.ndarray):
            return self._bind_array(label, value, parameter, copies)
        if isinstance(value, np.generic):
            value = value.item()
        text = value if isinstance(value, str) else repr(int(value) if isinstance(value, bool) else value)
        argument = parse_argument(FlagText("args", f"{label}={text}"))
        plan, shape = plan_argument(argument, self._numbers)
        assert plan is argument.value
        return bind_argument(argument, parameter, shape, self._numbers, (0, index))

    def _bind_array(self, label: str, value: Any, parameter: Variable, copies: dict[int, Any]) -> BoundArgument:
        """Bind a copy of an array: the same for one that is given twice. `copies` are those of this run, by identity."""
        import numpy as np

        dtype = _dtype(value.dtype.name)
        if dtype is None:
            raise TilewiseError(f"{label} is of type {value.dtype}: give an array of {', '.join(DTYPES)}'s storage types.")
        if parameter.count is not None:
            return BoundArgument(label, dtype, value, np.void(value.tobytes()))
        copied = copies.setdefault(id(value), value.copy())
        copied.flags.writeable = value.flags.writeable
        return BoundArgument(label, dtype, copied, copied)


def _dtype(storage: str) -> Dtype | None:
    """The element type of a NumPy type; whole numbers where several types are stored as it."""
    named = find_dtype(storage)
    return named if named is not None else next((one for one in DTYPES.values() if one.storage == storage), None)


def _names(builds: Builds) -> tuple[str, ...]:
    """The parameters' names: those of the source, where a build knows them all."""
    names = parameter_names(builds)
    return names if names and all(names) else tuple(f"arg{index}" for index in range(len(builds.first.parameters)))
