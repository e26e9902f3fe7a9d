"""What a cached module depends on: every file that its source can include, by contents."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from tilewise.build.includes import Includes, scan_includes
from tilewise.core.source import KernelSource


def scan(folder: Path, text: str, **headers: str) -> Includes:
    return scan_includes(KernelSource(text, str(folder / "kernel.cu"), headers=headers, include_paths=(folder / "include",)))


def write(path: Path, text: str) -> tuple[str, str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path), hashlib.sha256(text.encode()).hexdigest()


def test_reached_files_are_listed_with_their_digests(tmp_path: Path) -> None:
    one = write(tmp_path / "include" / "one.cuh", '#include "sub/two.cuh"\n')
    two = write(tmp_path / "include" / "sub" / "two.cuh", '#include "three.cuh"\n')
    three = write(tmp_path / "include" / "sub" / "three.cuh", "int three;\n")
    beside = write(tmp_path / "beside.h", "int beside;\n")
    write(tmp_path / "include" / "unused.h", "int unused;\n")
    found = scan(tmp_path, "#include <one.cuh>\n#include <beside.h>\n")
    assert found == Includes(tuple(sorted((one, two, three, beside))), (), False)


@pytest.mark.parametrize(
    "line",
    [
        '#include "x.h"',
        "#include <x.h>",
        '  #  include\t"x.h"  // why',
        '/* a */ #include "x.h"',
        '/* over\nlines */ #include "x.h"',
        '%:include "x.h"',
        '#include\\\n "x.h"',
        '#inc\\\r\nlude "x.h"',
        '#include_next "x.h"',
        '#if 0\n#include "x.h"\n#endif',
        '#if __has_include("x.h")\n#endif',
        "#if defined(A) && __has_include( <x.h> )\n#endif",
        'int a;\n#include "x.h"\nint b;',
    ],
)
def test_each_way_to_include_is_seen(tmp_path: Path, line: str) -> None:
    header = write(tmp_path / "include" / "x.h", "int x;\n")
    assert scan(tmp_path, line) == Includes((header,), (), False)


@pytest.mark.parametrize(
    "line", ["#include NAME", "#include /* */ <x.h>", '#/* */include "x.h"', "#if __has_include(NAME)", "#include MAKE(x)"]
)
def test_name_that_cannot_be_read_is_said(tmp_path: Path, line: str) -> None:
    assert scan(tmp_path, line).computed


@pytest.mark.parametrize("line", ["// as #include does", "int include;", "#define include_me 1", '#pragma once // "x.h"', ""])
def test_text_without_includes_depends_on_nothing(tmp_path: Path, line: str) -> None:
    assert scan(tmp_path, line) == Includes((), (), False)


def test_names_found_nowhere_are_listed(tmp_path: Path) -> None:
    assert scan(tmp_path, '#include <cuda_fp16.h>\n#include "given.h"\n', **{"given.h": ""}).missing == ("cuda_fp16.h",)


def test_in_memory_header_is_scanned_too(tmp_path: Path) -> None:
    header = write(tmp_path / "include" / "x.h", "int x;\n")
    assert scan(tmp_path, '#include "given.h"', **{"given.h": '#include "x.h"'}).files == (header,)


def test_headers_that_include_each_other_end(tmp_path: Path) -> None:
    one = write(tmp_path / "include" / "one.h", '#include "two.h"\n#include "../include/one.h"\n')
    two = write(tmp_path / "include" / "two.h", '#include "one.h"\n')
    assert scan(tmp_path, '#include "one.h"').files == (one, two)


def test_a_header_in_each_folder_counts(tmp_path: Path) -> None:
    beside = write(tmp_path / "x.h", "int beside;\n")
    other = write(tmp_path / "include" / "x.h", "int other;\n")
    assert set(scan(tmp_path, '#include "x.h"').files) == {beside, other}


def test_linked_header_includes_from_the_links_folder(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "real.h", '#include "near.h"\n')
    near = write(tmp_path / "include" / "near.h", "int near;\n")
    (tmp_path / "include" / "link.h").symlink_to(tmp_path / "elsewhere" / "real.h")
    assert near in scan(tmp_path, '#include "link.h"').files


def test_name_too_long_for_a_file_is_missing(tmp_path: Path) -> None:
    name = "x" * 5000
    assert scan(tmp_path, f'#include "{name}"').missing == (name,)


def test_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    os.mkfifo(tmp_path / "include" / "x.h")
    assert scan(tmp_path, '#include "x.h"').missing == ("x.h",)


@pytest.mark.parametrize("text", ["/*" * 50_000, "/* */" * 50_000, "#" + " " * 200_000, "#include " * 20_000, "\\\n" * 50_000])
def test_scanning_takes_linear_time(tmp_path: Path, text: str) -> None:
    start = time.perf_counter()
    scan(tmp_path, text)
    assert time.perf_counter() - start < 2
