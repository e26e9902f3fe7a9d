"""Fuzzing for as long as you like: launch facts, expectations and PTX, each in a process of its own.

    python tools/fuzz.py [--minutes 60] [--targets facts,expect,ptx] [--seed 1]

Ends with 1 at the first input that is neither answered nor refused in words, which it prints, made small.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from fuzzing import TARGETS
from hypothesis import HealthCheck, Phase, given, seed, settings

BATCH = 500
"""Inputs a round."""


def main() -> int:
    """Fuzz the targets side by side; return the exit code."""
    arguments = _parse_arguments()
    if arguments.child:
        return fuzz(arguments.targets, arguments.minutes * 60, arguments.seed)
    command = [
        sys.executable,
        __file__,
        "--child",
        "--minutes",
        str(arguments.minutes),
        "--seed",
        str(arguments.seed),
        "--targets",
    ]
    children = {name: subprocess.Popen([*command, name]) for name in arguments.targets.split(",")}
    codes = {name: child.wait() for name, child in children.items()}
    for name, code in codes.items():
        if code:
            print(f"{name}: failed, exit code {code}")  # below 0: a signal took the process down
    return 1 if any(codes.values()) else 0


def fuzz(name: str, seconds: float, first_seed: int) -> int:
    """Feed one target until the time is up."""
    draw, take = TARGETS[name]
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        run = settings(
            max_examples=BATCH,
            database=None,
            deadline=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )(seed(first_seed + rounds)(given(draw())(take)))
        run()
        rounds += 1
    print(f"{name}: {rounds * BATCH:,} inputs, all answered or refused in words", flush=True)
    return 0


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzz what reads others' texts.")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--targets", default=",".join(TARGETS), help="such as facts,ptx")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
