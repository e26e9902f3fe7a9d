"""The compiler in a process of its own: a source of others may make it run for ever, fill the memory or crash.

This file is both sides: `run_nvrtc_apart` here, and, run as a program, what the child does. They exchange one JSON object each.
"""

from __future__ import annotations

import base64
import json
import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tilewise.build.nvrtc_library import Output, run_nvrtc
from tilewise.core.errors import CompileError, TilewiseError
from tilewise.core.source import KernelSource

MEMORY_LIMIT_BYTES = 8 << 30
"""Address space of the child; compiling CUTLASS-like headers takes about 2 GB."""


def run_nvrtc_apart(
    source: KernelSource,
    arch: str,
    options: tuple[str, ...],
    include_options: tuple[str, ...],
    names: tuple[str, ...],
    limit_s: float,
) -> Output:
    """Compile `source` as `run_nvrtc` does, in a child process that is stopped after `limit_s` seconds.

    Raises what `run_nvrtc` raises, and TilewiseError where the child is stopped or crashes.
    """
    request = {"source": _pack_source(source), "arguments": [arch, options, include_options, names], "limit_s": limit_s}
    # -P: modules are not looked for in the current folder, which may be that of the source.
    command = [sys.executable, "-P", "-m", "tilewise.build.apart"]
    try:
        child = subprocess.run(
            command, input=json.dumps(request).encode(), capture_output=True, timeout=limit_s, check=False, env=_environment()
        )
    except subprocess.TimeoutExpired:
        raise TilewiseError(f"compiling took longer than {limit_s:g} s and was stopped.", where=source.name) from None
    if child.returncode:
        raise TilewiseError(f"the compiler {_ending(child)}.", where=source.name)
    return _unpack_reply(json.loads(child.stdout))


def main() -> None:
    """Compile what stdin asks for and answer on stdout, kept from all else that may write there."""
    with os.fdopen(os.dup(1), "wb") as reply:
        os.dup2(2, 1)
        request = json.load(sys.stdin.buffer)
        _limit(request["limit_s"])
        arch, *lists = request["arguments"]
        try:
            output = run_nvrtc(_unpack_source(request["source"]), arch, *map(tuple, lists))
            answer: dict[str, Any] = {"output": _pack_output(output)}
        except CompileError as error:
            answer = {"compile_error": [str(error), error.log]}
        except TilewiseError as error:
            answer = {"error": [str(error), error.where]}
        reply.write(json.dumps(answer).encode())


def _limit(limit_s: float) -> None:
    """Limit this process: the parent's time limit in processor time too, should the parent be gone, and memory."""
    seconds = math.ceil(limit_s) + 1
    for kind, amount in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, MEMORY_LIMIT_BYTES), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        allowed = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(kind, (allowed, hard))


def _environment() -> dict[str, str]:
    """This process's environment, with Tilewise found where it is here."""
    home = str(Path(__file__).parents[2])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))}


def _ending(child: subprocess.CompletedProcess[bytes]) -> str:
    """How a child that did not answer ended."""
    if child.returncode < 0:
        return f"crashed ({signal.Signals(-child.returncode).name})"
    said = child.stderr.decode(errors="replace").strip().splitlines()
    return f"ended with status {child.returncode}: {said[-1] if said else 'it said nothing'}"


# -- as JSON


def _pack_source(source: KernelSource) -> dict[str, Any]:
    return {
        "text": source.text,
        "name": source.name,
        "headers": dict(source.headers),
        "include_paths": [str(path) for path in source.include_paths],
        "defines": dict(source.defines),
        "std": source.std,
    }


def _unpack_source(fields: Mapping[str, Any]) -> KernelSource:
    return KernelSource(**{**fields, "include_paths": tuple(map(Path, fields["include_paths"]))})


def _pack_output(output: Output) -> dict[str, Any]:
    return {**asdict(output), "cubin": None if output.cubin is None else base64.b64encode(output.cubin).decode()}


def _unpack_reply(answer: Mapping[str, Any]) -> Output:
    if "compile_error" in answer:
        raise CompileError(*answer["compile_error"])
    if "error" in answer:
        message, where = answer["error"]
        raise TilewiseError(message.removeprefix(f"{where}: ") if where else message, where=where)
    fields = answer["output"]
    cubin = None if fields["cubin"] is None else base64.b64decode(fields["cubin"])
    lowered = tuple((name, lowered) for name, lowered in fields["lowered_names"])
    return Output(**{**fields, "cubin": cubin, "lowered_names": lowered})


if __name__ == "__main__":
    main()
