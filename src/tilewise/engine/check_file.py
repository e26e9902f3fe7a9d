"""A check of a file: its kernel in both builds, launched as facts say, its report without what comments and filters leave out."""

from __future__ import annotations

from tilewise.core.launch_facts import LaunchFacts
from tilewise.core.report import Report
from tilewise.engine.check import CheckOptions, Tell, check_subject
from tilewise.engine.check_builds import open_builds
from tilewise.engine.check_filter import Filters, apply_filters
from tilewise.engine.check_subject import subject_of_facts
from tilewise.engine.kernel_file import BuildOptions, KernelFile


def check_file(
    file: KernelFile,
    how: BuildOptions,
    facts: LaunchFacts,
    build: str | None,
    options: CheckOptions,
    filters: Filters,
    tell: Tell = lambda _: None,
) -> Report:
    """Check a kernel of a file; `build` is one of check_builds.CHOICES, None for what compiles.

    Raises CompileError, and TilewiseError for facts and expectations that do not fit the kernel.
    """
    tell("compiling")
    subject = subject_of_facts(open_builds(file, how, facts.kernel, build), facts)
    report = check_subject(subject, options, tell)
    return apply_filters(report, filters, {str(file.path): file.text})
