"""What a check is of: a kernel's builds, its launch configuration, and a way to make its arguments anew for each run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewise.core.launch import Launch
from tilewise.core.launch_facts import LaunchFacts
from tilewise.engine.arguments import BoundArgument, Configuration, bind_arguments, configure, whole_numbers
from tilewise.engine.check_builds import Builds
from tilewise.engine.kernel_file import KernelEntry
from tilewise.ptx.debug_info import read_functions

Bind = Callable[[KernelEntry], tuple[BoundArgument, ...]]


@dataclass(frozen=True, slots=True)
class Subject:
    """A launch of a kernel that no run has touched yet."""

    builds: Builds
    configuration: Configuration
    """Sizes may be what no device takes."""
    stated_dynamic_limit_bytes: int | None
    bind: Bind
    """Makes the arguments of one run, with the same values each time."""

    def launch(self, entry: KernelEntry, arguments: tuple[BoundArgument, ...]) -> Launch:
        """The launch of one build."""
        configuration = self.configuration
        return Launch(
            entry.module,
            entry.name,
            configuration.grid,
            configuration.block,
            tuple(argument.passed for argument in arguments),
            configuration.cluster,
            configuration.dynamic_shared_bytes,
        )


def subject_of_facts(builds: Builds, facts: LaunchFacts) -> Subject:
    """Return what launch facts say of a kernel.

    Raises TilewiseError for facts that are missing or have no value, and for arguments in another order than the source's.
    """
    names = whole_numbers(facts)
    _check_labels(builds, facts)
    limit = None if facts.max_dynamic_smem is None else facts.max_dynamic_smem.evaluate(names)
    configuration = configure(facts, names, is_judged=True)
    return Subject(builds, configuration, limit, lambda entry: bind_arguments(facts, entry.parameters, names))


def parameter_names(builds: Builds) -> tuple[str, ...]:
    """Return what the source calls the kernel's parameters; () where no build knows."""
    for _, entry in builds.entries:
        source = read_functions(entry.module.ptx).get(entry.name)
        if source is not None and len(source.parameters) == len(entry.parameters):
            return tuple(parameter.name for parameter in source.parameters)
    return ()


def _check_labels(builds: Builds, facts: LaunchFacts) -> None:
    """Raise TilewiseError for a label that is the name of another parameter than the one it stands for."""
    names = parameter_names(builds)
    if len(names) != len(facts.args):
        return
    for argument, name in zip(facts.args, names, strict=True):
        if argument.name != name and argument.name in names:
            order = ", ".join(names)
            raise argument.source.error(f"{argument.name} stands where the kernel has {name}: its parameters are {order}", 0)
