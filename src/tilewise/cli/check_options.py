"""The options of `tilewise check` beyond the launch and the compiler's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Expect = Annotated[
    list[str] | None, typer.Option(metavar="[NAME =] EXPRESSION", help="What an output should be, such as 'C = A @ B'.")
]
Output = Annotated[str | None, typer.Option(metavar="NAME", help="The output that --expect is about, where it names none.")]
Rtol = Annotated[float | None, typer.Option(help="Relative tolerance of --expect; by type and depth of the sums if left out.")]
Atol = Annotated[float | None, typer.Option(help="Absolute tolerance of --expect.")]
Build = Annotated[str | None, typer.Option(help="optimised, unoptimised or both; both as far as they compile if left out.")]
Schedules = Annotated[int, typer.Option(metavar="N", help="Run under so many orders of warps and blocks, and compare.")]
SampleBlocks = Annotated[int | None, typer.Option(metavar="N", help="Run only so many blocks, spread over the grid.")]
Only = Annotated[list[str] | None, typer.Option(metavar="KIND", help="Report only such kinds: 'race.*'; may be repeated.")]
Ignore = Annotated[list[str] | None, typer.Option(metavar="KIND", help="Leave such kinds out: 'perf.*'; may be repeated.")]
Baseline = Annotated[Path | None, typer.Option(metavar="FILE", help="Leave out what this earlier report has (--json's).")]
WriteBaseline = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as a baseline.")]
FailOn = Annotated[str, typer.Option(help="The least severity that counts: note, warning or error.")]
Lines = Annotated[bool, typer.Option("--lines", help="Show traffic and bank conflicts line by line.")]
Sarif = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the findings as SARIF.")]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as a web page.")]
Threads = Annotated[int | None, typer.Option(help="CPU threads to emulate on, all by default; findings are the same.")]
