"""Mutation testing of the ladder: every barrier, wait, guard, tile index and stage count goes wrong once, and check must see it.

    python tools/mutants.py [--rungs r03,r06] [--jobs 2] [--json mutants.json]

Prints what became of each mutant. Ends with 1 if one survives: if check finds nothing on it and it is not shown to be equivalent.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

from mutant_check import Judgement, judge
from mutating import Mutant, mutants

from tilewise.kernels.ladder import LADDER, rung


def main(words: Sequence[str] | None = None) -> int:
    """Judge the mutants and print a row each; return the exit code."""
    arguments = _parse_arguments(words)
    chosen = [mutant for name in arguments.rungs.split(",") for mutant in mutants(rung(name))]
    rows = []
    for mutant, judgement in zip(chosen, _judge_all(chosen, arguments.jobs), strict=True):
        print(f"{judgement.fate:<10}  {mutant.name:<90}  {judgement.reason}", flush=True)
        rows.append((mutant, judgement))
    counts = Counter(judgement.fate for _, judgement in rows)
    print(", ".join(f"{count} {fate}" for fate, count in sorted(counts.items())), f"of {len(rows)} mutants")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([_as_json(*row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 1 if counts["survivor"] else 0


def _judge_all(chosen: Sequence[Mutant], jobs: int) -> Iterator[Judgement]:
    if jobs == 1:
        yield from map(judge, chosen)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(judge, chosen)


def _as_json(mutant: Mutant, judgement: Judgement) -> dict[str, object]:
    fields = asdict(mutant) | asdict(judgement)
    del fields["text"]
    return fields


def _parse_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Mutation testing of the ladder's kernels.")
    parser.add_argument("--rungs", default=",".join(row.name for row in LADDER), help="such as r03,r06")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes at once")
    parser.add_argument("--json", type=Path, help="a file for the table")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
