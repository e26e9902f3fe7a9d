"""How long work on a GPU takes: contestants take turns, each a CUDA graph of many calls on changing inputs, between two events.

Turns put all under the same clocks and temperatures; a graph hides what a call costs the host; inputs that change past the L2
cache keep it from serving them. Knows nothing of what is timed.
"""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tilewise.core.errors import TilewiseError
from tilewise.gpu.driver import Gpu

Work = Callable[[int, int], object]
"""Enqueues one call: on a stream, with the inputs of that number."""
Method = Literal["graph", "events"]
LEAST_SECONDS = 1e-7
"""No call is taken to be shorter: events tell half a microsecond apart [CUDA Runtime API, cudaEventElapsedTime]."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much time goes into a figure."""

    round_seconds: float = 2e-3
    """Of one contestant's turn, at the least."""
    total_seconds: float = 0.4
    """Of all turns of all contestants, about."""
    least_rounds: int = 7
    most_rounds: int = 60


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure that was taken several times: its median, and between which values eight of ten lie."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Timing:
    """One contestant's times."""

    seconds: tuple[float, ...]
    """Of one call, a figure a round."""
    calls: int
    """In a round."""
    method: Method
    """"events" where the work could not be captured into a graph: the host's time may then show."""

    @property
    def spread(self) -> Spread:
        """Seconds of a call."""
        return spread(self.seconds)


def spread(values: Sequence[float]) -> Spread:
    """Return median, tenth and ninetieth percentile (for fewer than two values, all the same)."""
    if len(values) < 2:
        return Spread(values[0], values[0], values[0])
    tenths = statistics.quantiles(values, n=10, method="inclusive")
    return Spread(statistics.median(values), tenths[0], tenths[-1])


def ratios(theirs: Timing, ours: Timing) -> Spread:
    """Return their time over ours, round by round."""
    return spread([other / own for other, own in zip(theirs.seconds, ours.seconds, strict=True)])


def time_interleaved(gpu: Gpu, works: Mapping[str, Work], *, sets: int, effort: Effort | None = None) -> dict[str, Timing]:
    """Return how long one call of each contestant takes.

    Each has inputs 0 to `sets` - 1, which a round goes through at least once. Every contestant runs before it is timed; what it
    allocates or compiles in its first call is not part of the figure. Waits for the GPU.
    """
    effort = effort or Effort()
    with gpu.current(), _stream(gpu) as stream, contextlib.ExitStack() as stack:
        turns: dict[str, _Turn] = {}
        for name, work in works.items():
            work(stream, 0)
            gpu.synchronize(stream)
            turns[name] = stack.enter_context(_prepare_turn(gpu, work, stream, sets, effort))
        total = sum(turn.take(stream) for turn in turns.values())
        rounds = max(effort.least_rounds, min(effort.most_rounds, math.ceil(effort.total_seconds / max(LEAST_SECONDS, total))))
        seconds: dict[str, list[float]] = {name: [] for name in turns}
        order = list(turns)
        for _ in range(rounds):
            for name in order:
                seconds[name].append(turns[name].take(stream) / turns[name].calls)
            order.append(order.pop(0))
    return {name: Timing(tuple(seconds[name]), turn.calls, turn.method) for name, turn in turns.items()}


class _Turn:
    """One contestant's turn: a graph of calls, or the calls themselves."""

    def __init__(self, gpu: Gpu, run: Callable[[int], object], calls: int, method: Method) -> None:
        self.calls, self.method = calls, method
        self._gpu, self._run = gpu, run
        self._events = [gpu.call("cuEventCreate", 0) for _ in range(2)]

    def take(self, stream: int) -> float:
        """Run the turn and return its seconds."""
        start, end = self._events
        self._gpu.call("cuEventRecord", start, stream)
        self._run(stream)
        self._gpu.call("cuEventRecord", end, stream)
        self._gpu.call("cuEventSynchronize", end, doing="timing")
        milliseconds: float = self._gpu.call("cuEventElapsedTime", start, end)
        return milliseconds / 1e3

    def close(self) -> None:
        """Give the events back."""
        for event in self._events:
            self._gpu.call("cuEventDestroy", event)


@contextlib.contextmanager
def _prepare_turn(gpu: Gpu, work: Work, stream: int, sets: int, effort: Effort) -> Iterator[_Turn]:
    def run_calls(stream: int, calls: int) -> None:
        for call in range(calls):
            work(stream, call % sets)

    probe = _Turn(gpu, lambda stream: run_calls(stream, 3), 3, "events")
    probe.take(stream)
    calls = max(sets, math.ceil(effort.round_seconds / max(LEAST_SECONDS, probe.take(stream) / probe.calls)))
    probe.close()
    graph = _capture(gpu, stream, lambda: run_calls(stream, calls))
    if graph is None:
        turn = _Turn(gpu, lambda stream: run_calls(stream, calls), calls, "events")
    else:
        turn = _Turn(gpu, lambda stream: gpu.call("cuGraphLaunch", graph, stream), calls, "graph")
    try:
        yield turn
    finally:
        turn.close()
        if graph is not None:
            gpu.call("cuGraphExecDestroy", graph)


def _capture(gpu: Gpu, stream: int, enqueue: Callable[[], None]) -> Any | None:
    """Return an executable graph of what `enqueue` puts on the stream, None where that cannot be captured."""
    gpu.call("cuStreamBeginCapture", stream, gpu.cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED)
    try:
        enqueue()
    except (RuntimeError, TilewiseError):  # libraries raise their own kinds of RuntimeError
        gpu.cuda.cuStreamEndCapture(stream)
        return None
    code, graph = gpu.cuda.cuStreamEndCapture(stream)
    if code:
        return None
    executable = gpu.call("cuGraphInstantiate", graph, 0)
    gpu.call("cuGraphDestroy", graph)
    gpu.call("cuGraphUpload", executable, stream)
    return executable


@contextlib.contextmanager
def _stream(gpu: Gpu) -> Iterator[int]:
    stream = gpu.call("cuStreamCreate", gpu.cuda.CUstream_flags.CU_STREAM_NON_BLOCKING.value)
    try:
        yield int(stream)
    finally:
        gpu.call("cuStreamSynchronize", stream)
        gpu.call("cuStreamDestroy", stream)
