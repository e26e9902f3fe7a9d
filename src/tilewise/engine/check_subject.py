"""What a check is of: a kernel's builds, its launch configuration, and a way to make its arguments anew for each run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewise.core.launch import Launch
from tilewise.core.launch_facts import LaunchFacts
from tilewise.engine.arguments import BoundArgument, Configuration, bind_arguments, configure, whole_numbers
from tilewise.engine.check_builds import Builds
from tilewise.engine.kernel_file import KernelEntry

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

    Raises TilewiseError for facts that are missing or have no value.
    """
    names = whole_numbers(facts)
    limit = None if facts.max_dynamic_smem is None else facts.max_dynamic_smem.evaluate(names)
    configuration = configure(facts, names, is_judged=True)
    return Subject(builds, configuration, limit, lambda entry: bind_arguments(facts, entry.parameters, names))
