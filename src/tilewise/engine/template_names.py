"""Names of the kernel templates that a source declares: a compiler wants an instance's as from outside of every namespace."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tilewise.core.errors import TilewiseError
from tilewise.ptx.cursor import without_comments

_CALLED = re.compile(r"\b(?!__)([A-Za-z_]\w*)\s*\(")
"""The first in a declaration is the kernel's name: what stands before a parenthesis and is no attribute."""
_TOKEN = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
    |\bnamespace\b(?P<namespace>[\w\s:]*)\{
    |\btemplate\s*<[^;{}]{0,2000}?\b__global__\b(?P<kernel>[^;{}]{0,2000})
    |(?P<brace>[{}])""",
    re.VERBOSE,
)


def declared_name(declaration: str) -> str | None:
    """Return the name in a kernel's declaration, of which `declaration` is what follows `__global__`; None if there is none."""
    found = _CALLED.search(declaration)
    return found[1] if found else None


def full_name(kernel: str, text: str) -> str:
    """Return a template's instance such as "mm<16>" with the namespaces that a source has its template in: "ns::mm<16>".

    Any other name comes back as it is. Raises TilewiseError where the name may mean several templates.
    """
    name, bracket, rest = kernel.partition("<")
    tail = "".join(name.split()).removeprefix("::")
    if not bracket:
        return kernel
    found = tuple(dict.fromkeys(each for each in _templates(without_comments(text)) if f"::{each}".endswith(f"::{tail}")))
    if len(found) > 1 and tail not in found:
        candidates = ", ".join(f"{each}{bracket}{rest}" for each in found)
        raise TilewiseError(f"{kernel!r} may be any of {candidates}: choose one with --kernel.")
    return f"{found[0]}{bracket}{rest}" if len(found) == 1 else kernel


def _templates(text: str) -> Iterator[str]:
    """Yield the full names of kernel templates, without those of namespaces that have none."""
    open_braces: list[str] = []
    """For each, the namespace that it opens; empty for any other."""
    for token in _TOKEN.finditer(text):
        if token["namespace"] is not None:
            open_braces.append("".join(token["namespace"].split()))
        elif token["kernel"] is not None:
            name = declared_name(token["kernel"])
            if name is not None:
                yield "::".join([*filter(None, open_braces), name])
        elif token["brace"] == "{":
            open_braces.append("")
        elif token["brace"] and open_braces:
            open_braces.pop()
