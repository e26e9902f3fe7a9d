"""The two builds of a kernel that a check looks at, compiled side by side: what one of them hides, the other may show."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

from tilewise.core.errors import CompileError, TilewiseError
from tilewise.engine.kernel_file import BuildOptions, KernelEntry, KernelFile, open_kernel

Build = Literal["optimised", "unoptimised"]
BUILDS: tuple[Build, ...] = ("optimised", "unoptimised")


@dataclass(frozen=True, slots=True)
class Builds:
    """A kernel in each build that compiles, the optimised one first; sentences about one that does not."""

    entries: tuple[tuple[Build, KernelEntry], ...]
    unchecked: tuple[str, ...] = ()
    """About builds that were asked for."""
    skipped: tuple[str, ...] = ()
    """About those that were not."""

    @property
    def first(self) -> KernelEntry:
        """The build that comes first."""
        return self.entries[0][1]


def open_builds(file: KernelFile, options: BuildOptions, kernel: str | None, asked: str | None) -> Builds:
    """Return a kernel's builds. `asked` is optimised, unoptimised or both; None: both, but the unoptimised may fail to compile.

    A PTX file has one build, as it is. Raises CompileError where the only build does not compile or the optimised one was to be
    looked at, TilewiseError for a kernel that is not there.
    """
    if file.is_ptx:
        if asked is not None and asked != "optimised":
            raise TilewiseError(f"--build {asked}: {file.path} is PTX, which has one build; leave --build out.")
        return Builds((("optimised", open_kernel(file, options, kernel)),))
    if asked in BUILDS:
        (build,) = (build for build in BUILDS if build == asked)
        return Builds(((build, _open(file, options, kernel, build)),))
    with ThreadPoolExecutor(len(BUILDS)) as pool:
        opening = [pool.submit(_open, file, options, kernel, build) for build in BUILDS]
    optimised, unoptimised = opening
    entry = optimised.result()
    return _put_together(entry, unoptimised, asked)


def _put_together(entry: KernelEntry, unoptimised: Future[KernelEntry], asked: str | None) -> Builds:
    first: tuple[tuple[Build, KernelEntry], ...] = (("optimised", entry),)
    try:
        return Builds((*first, ("unoptimised", unoptimised.result())))
    except TilewiseError as error:
        why = str(error).splitlines()[-1 if isinstance(error, CompileError) else 0]
        sentence = f"the unoptimised build does not compile: {why}"
    return Builds(first, unchecked=(sentence,)) if asked else Builds(first, skipped=(sentence,))


def _open(file: KernelFile, options: BuildOptions, kernel: str | None, build: Build) -> KernelEntry:
    if build == "optimised":
        return open_kernel(file, replace(options, assembled=True, unoptimised=False), kernel)
    try:
        return open_kernel(file, replace(options, unoptimised=True), kernel)
    except CompileError as failure:
        try:
            return open_kernel(file, replace(options, unoptimised=True, without_names=True), kernel)
        except TilewiseError:
            raise failure from None
