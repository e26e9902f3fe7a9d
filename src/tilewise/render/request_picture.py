"""One request as a picture: which lanes went to which banks of shared memory, or to which sectors of global memory.

Only lays out: boxes, lines and words in a plane of WIDTH by `height` units. What draws them is the page's template.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tilewise.core.counters import Request, SiteCounters
from tilewise.hw.banks import BANKS, WORD_BYTES, AccessKind, conflict_ways, lane_groups
from tilewise.hw.device import WARP_LANES

WIDTH = 672
CELL = 21
"""A column a bank or a lane: 32 of them are WIDTH."""
ROW = 18
MOST_ROWS = 32
SECTOR_BYTES = 32


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; `style` is its class, `title` what pointing at it says."""

    x: float
    y: float
    width: float
    height: float
    style: str
    label: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, and the sentence below it."""

    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    caption: str


def draw_request(site: SiteCounters) -> Picture | None:
    """Return a picture of a site's example, if it has one that costs more than it must."""
    request = site.example
    if request is None or not any(address is not None for address in request.addresses):
        return None
    if site.space == "shared":
        return _draw_banks(site, request) if site.worst_conflict_ways > 1 else None
    return _draw_sectors(request) if request.transactions > least_sectors(request) else None


def least_sectors(request: Request) -> int:
    """Return the sectors that the bytes which a request asks for need, side by side."""
    return -(-len(_bytes_asked(request)) // SECTOR_BYTES)


def _bytes_asked(request: Request) -> set[int]:
    return {byte for address in request.addresses if address is not None for byte in range(address, address + request.lane_bytes)}


# -- shared memory: a column a bank, a box a word, as high as the passes that it takes


def _draw_banks(site: SiteCounters, request: Request) -> Picture:
    kind: AccessKind = "load" if site.kind == "load" else "store"
    active = sum(1 << lane for lane, address in enumerate(request.addresses) if address is not None)
    places = [address or 0 for address in request.addresses]
    groups = lane_groups(places, active, request.lane_bytes, kind)
    worst = max(groups, key=lambda group: conflict_ways(places, _mask(group), request.lane_bytes, kind))
    by_bank: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for lane in worst:
        for word in range(places[lane] // WORD_BYTES, -(-(places[lane] + request.lane_bytes) // WORD_BYTES)):
            by_bank[word % BANKS][word].append(lane)
    ways = max(len(words) for words in by_bank.values())
    shown = min(ways, MOST_ROWS)
    boxes = [Box(bank * CELL, shown * ROW, CELL, ROW, "axis", str(bank), f"bank {bank}") for bank in range(BANKS)]
    for bank, words in sorted(by_bank.items()):
        style = "bad" if len(words) > 1 else "good"
        for row, (word, lanes) in enumerate(sorted(words.items())[:shown]):
            title = f"bank {bank}, word {word}: {_lanes(lanes)}"
            label = str(lanes[0]) if len(lanes) == 1 else f"{lanes[0]}+"
            boxes.append(Box(bank * CELL, (shown - 1 - row) * ROW, CELL, ROW, style, label, title))
    together = "" if len(groups) == 1 else f" Shown are lanes {worst[0]} to {worst[-1]}, which are served together."
    idle = BANKS - len(by_bank)
    caption = (
        f"A column a bank of shared memory, a box a word with the lane that wants it: the fullest bank has {ways} words and "
        f"takes {ways} passes; {idle} of {BANKS} banks do nothing.{together}"
    )
    return Picture((shown + 1) * ROW, tuple(boxes), (), caption)


def _mask(lanes: tuple[int, ...]) -> int:
    return sum(1 << lane for lane in lanes)


def _lanes(lanes: list[int]) -> str:
    return f"lane {lanes[0]}" if len(lanes) == 1 else f"lanes {', '.join(map(str, lanes))}"


# -- global memory: lanes above, sectors below, a line from each lane to where it goes


def _draw_sectors(request: Request) -> Picture:
    asked = _bytes_asked(request)
    sectors = sorted({byte // SECTOR_BYTES for byte in asked})
    column = {sector: index for index, sector in enumerate(sectors)}
    width = WIDTH / max(len(sectors), WARP_LANES)
    lane_row, sector_row = ROW, 6 * ROW
    boxes, lines = [], []
    for lane, address in enumerate(request.addresses):
        style = "idle" if address is None else "lane"
        where = "at rest" if address is None else f"byte {address - sectors[0] * SECTOR_BYTES:,}"
        boxes.append(Box(lane * CELL, 0, CELL, lane_row, style, str(lane), f"lane {lane}: {where}"))
        if address is not None:
            first, last = address // SECTOR_BYTES, (address + request.lane_bytes - 1) // SECTOR_BYTES
            for sector in range(first, last + 1):
                lines.append(Line((lane + 0.5) * CELL, lane_row, (column[sector] + 0.5) * width, sector_row))
    for sector, index in column.items():
        used = sum(byte in asked for byte in range(sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES))
        title = f"sector {sector - sectors[0]:,} from the first: {used} of {SECTOR_BYTES} bytes asked for"
        filled = 2 * ROW * used / SECTOR_BYTES
        boxes.append(Box(index * width, sector_row, width, 2 * ROW, "bad", title=title))
        boxes.append(Box(index * width, sector_row + 2 * ROW - filled, width, filled, "good", title=title))
    moved = len(sectors) * SECTOR_BYTES
    caption = (
        f"Lanes above, sectors of {SECTOR_BYTES} bytes below, filled as far as they are asked for: {len(sectors)} sectors, "
        f"{moved:,} bytes moved for {len(asked):,} asked for, where {least_sectors(request)} would do."
    )
    return Picture(sector_row + 2 * ROW, tuple(boxes), tuple(lines), caption)
