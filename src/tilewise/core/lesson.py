"""What `tilewise explain` teaches: a lesson in parts, what a user asks of it, and the registry of topics.

Knows no topic and draws nothing: topics register themselves, and render shows what they return.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.problem import as_size
from tilewise.hw.device import Device

Figure = int | float
Option = Literal["sizes", "tile", "thread_tile"]
"""What a topic lets the user choose beside the device: M, N and K; the side S of a square tile; TM x TN."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of the step that follows."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A few sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in characters of one width, at most 78 columns wide."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Equation:
    """`name` = each of `forms` = `value` `unit`: the symbols first, then the same with numbers in their place."""

    name: str
    forms: tuple[str, ...]
    value: Figure
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A few rows under a header; the first column names the rows."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Check:
    """A figure that was derived (or claimed) beside the same figure, counted in a run."""

    what: str
    derived: Figure
    counted: Figure
    unit: str = ""

    @property
    def holds(self) -> bool:
        """Whether the two are equal, to the last digit."""
        return self.derived == self.counted


@dataclass(frozen=True, slots=True)
class Count:
    """What a run made on the spot says: how it was run, and figures held against it."""

    run: str
    checks: tuple[Check, ...]
    claimed: bool = False
    """Whether the figures are a rung's claims; else they were derived."""


Part = Heading | Paragraph | Picture | Equation | Table | Count


@dataclass(frozen=True, slots=True)
class Lesson:
    """The answer to `tilewise explain TOPIC`."""

    topic: str
    title: str
    parts: tuple[Part, ...]

    @property
    def checks(self) -> tuple[Check, ...]:
        """All figures that were held against a run."""
        return tuple(check for part in self.parts if isinstance(part, Count) for check in part.checks)

    def to_json(self) -> dict[str, object]:
        """Return the lesson as `tilewise explain TOPIC --json` prints it."""
        parts = [{"kind": type(part).__name__.lower(), **asdict(part)} for part in self.parts]
        for part, source in zip(parts, self.parts, strict=True):
            if isinstance(source, Count):
                part["checks"] = [{**asdict(check), "holds": check.holds} for check in source.checks]
        return {"topic": self.topic, "title": self.title, "holds": all(check.holds for check in self.checks), "parts": parts}


@dataclass(frozen=True, slots=True)
class Question:
    """What a user asks a topic about; None leaves a choice to the topic.

    Raises TilewiseError for sizes below 1.
    """

    device: Device
    M: int | None = None
    N: int | None = None
    K: int | None = None
    tile: int | None = None
    """Side S of a square tile."""
    thread_tile: tuple[int, int] | None = None
    """TM x TN."""
    threads: int | None = None
    """Host threads for the run; all by default."""

    def __post_init__(self) -> None:
        for name in ("M", "N", "K", "threads"):
            value = getattr(self, name)
            if value is not None and as_size(name, value) < 1:
                raise TilewiseError(f"{name} = {value} is not a whole number of at least 1.")

    def sizes(self, default: int) -> tuple[int, int, int]:
        """Return M, N and K: M is `default` if left out, N and K are M."""
        M = self.M or default
        return M, self.N or M, self.K or M

    @property
    def chosen(self) -> set[Option]:
        """What the user chose."""
        found: set[Option] = set()
        if self.M or self.N or self.K:
            found.add("sizes")
        if self.tile is not None:
            found.add("tile")
        if self.thread_tile is not None:
            found.add("thread_tile")
        return found


@dataclass(frozen=True, slots=True)
class Topic:
    """Something that can be explained."""

    name: str
    summary: str
    """A line for the list of topics."""
    group: str
    """Topics of one group stand together in the list."""
    takes: frozenset[Option]
    explain: Callable[[Question], Lesson]


TOPICS: dict[str, Topic] = {}
"""The registry, by name, in the order in which topics are listed."""


def register(topic: Topic) -> Topic:
    """Add a topic. Raises ValueError for a name that is taken."""
    if topic.name in TOPICS:
        raise ValueError(f"there is a topic {topic.name!r} already")
    TOPICS[topic.name] = topic
    return topic


def topics_below(prefix: str) -> list[Topic]:
    """Return the topics whose names go on after `prefix` and a dot, such as race.global for "race"."""
    return [topic for topic in TOPICS.values() if topic.name.startswith(f"{prefix}.")]


def explain(name: str, question: Question) -> Lesson:
    """Return the lesson on a topic.

    Raises TilewiseError for an unknown topic, with the nearest ones, and for a choice that the topic does not take.
    """
    if name not in TOPICS:
        raise TilewiseError(f"there is no topic {name!r}.{nearest(name, TOPICS, 'tilewise explain lists them.')}")
    topic = TOPICS[name]
    unused = sorted(question.chosen - topic.takes)
    if unused:
        taken = " and ".join(_OPTIONS[option] for option in sorted(topic.takes)) or "only --device"
        raise TilewiseError(f"{name} does not take {' and '.join(_OPTIONS[option] for option in unused)}: it takes {taken}.")
    return topic.explain(question)


_OPTIONS: dict[Option, str] = {"sizes": "--m, --n, --k", "tile": "--tile", "thread_tile": "--thread-tile"}
