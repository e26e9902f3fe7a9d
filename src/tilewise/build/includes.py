"""Which files a source's meaning depends on, read from its #include lines: for the cache's key.

The text is scanned, not preprocessed: a line in a comment or under a false #if counts, and a name counts in every folder that
holds it. That can only make the key depend on more than it must.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from tilewise.core.source import KernelSource

_NAMED = re.compile(
    r"(?:(?:^|\*/)[^\S\n]*(?:\#|%:)[^\S\n]*(?:include|include_next|import|embed)\b|__has_(?:include|include_next|embed)[^\S\n]*\()"
    r'[^\S\n]*(?:"(?P<quoted>[^"\n]+)"|<(?P<angled>[^>\n]+)>|)',
    re.MULTILINE,
)
"""An #include or the like; neither group matches where a macro or a comment stands in place of the name."""

_COMMENTED = re.compile(r"(?:\#|%:)[^\S\n]*/\*")
"""A directive whose word may stand behind a comment."""

_CONTINUED = re.compile(r"\\[ \t]*\r?\n")


@dataclass(frozen=True, slots=True)
class Includes:
    """What a source includes, and so on down.

    `files` are paths with the SHA-256 of their contents; `missing` are names found in no folder and no in-memory header (CUDA's
    own, or a mistake); `computed` says that a name is made by a macro or hidden behind a comment, so that files may be lacking.
    """

    files: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    computed: bool


def scan_includes(source: KernelSource) -> Includes:
    """Return what `source` includes, through its own folder, its include paths and the folder of each file that it reaches.

    NVRTC looks into the folder of `source.name` as well, and for a bare name into the current one.
    """
    folders = dict.fromkeys([*(Path(name).parent for name in (source.name, *source.headers)), *source.include_paths])
    names: set[str] = set()
    looked: set[tuple[str, Path]] = set()
    found = set(source.headers)
    digests: dict[Path, str] = {}
    computed = False
    texts = [source.text, *source.headers.values()]
    while texts:
        for text in texts:
            named, by_macro = _read_names(text)
            names |= named
            computed |= by_macro
        texts = []
        for name, folder in itertools.product(sorted(names), list(folders)):
            if (name, folder) in looked:
                continue
            looked.add((name, folder))
            if (content := _read_file(folder / name)) is None:
                continue
            found.add(name)
            path = (folder / name).parent.resolve() / name.rpartition("/")[2]  # so that "a/../a/x.h" is "a/x.h"
            if path not in digests:
                digests[path] = hashlib.sha256(content).hexdigest()
                folders.setdefault(path.parent)
                texts.append(content.decode(errors="replace"))
    files = tuple(sorted((str(path), digest) for path, digest in digests.items()))
    return Includes(files, tuple(sorted(names - found)), computed)


def _read_names(text: str) -> tuple[set[str], bool]:
    """Return the names that a text includes or asks for, and whether it also includes what a macro names."""
    text = _CONTINUED.sub("", text)
    names = {match["quoted"] or match["angled"] for match in _NAMED.finditer(text)}
    return names - {None}, None in names or _COMMENTED.search(text) is not None


def _read_file(path: Path) -> bytes | None:
    """Return a regular file's contents, None where there is none that can be read, or its name cannot be one."""
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None
