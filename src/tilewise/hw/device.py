"""What one GPU model is: its limits, its rates, and where each figure comes from.

Knows no model by name (hw/catalog.py does) and computes no more than products of its own figures.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tilewise.core.errors import TilewiseError, nearest

WARP_LANES = 32
"""Threads a warp, on every compute capability [CUDA Programming Guide, Compute Capabilities, table 30]."""
NVRTC_13_LEAST = (7, 5)
"""Lowest compute capability that NVRTC 13 compiles for [CUDA 13.0 release notes: Maxwell, Pascal and Volta dropped]."""
MOST = 10**18
"""Of any figure: an exabyte, an exahertz."""
GIVEN_BY_USER = "given in the device file"
"""Source of a figure that a device file states without one."""


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU model. Sizes are bytes, rates a second or a clock of one SM; `registers` are 32-bit.

    Raises TilewiseError, naming the field, for figures that no GPU can have.
    """

    key: str
    """What a user types: "h200"."""
    name: str
    arch: str
    """What NVRTC gets: "sm_90a"."""
    compute_capability: tuple[int, int]
    sms: int
    clock_hz: int
    """The highest clock that the vendor's peak rates assume; under load a power limit may hold it lower."""
    threads_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    shared_bytes_per_sm: int
    threads_per_block: int
    registers_per_thread: int
    registers_per_block: int
    shared_bytes_per_block: int
    """What a block gets without opting in, and the most that arrays of fixed size take."""
    shared_bytes_per_block_optin: int
    reserved_shared_bytes_per_block: int
    """What the driver takes for itself of each resident block's shared memory."""
    register_allocation_unit: int
    """Registers of a warp are allocated in multiples of this."""
    warp_allocation_granularity: int
    """Sub-partitions of an SM: each holds its own part of the registers, and a block's warps are spread over all."""
    shared_allocation_unit_bytes: int
    memory_bytes: int
    """Capacity as sold, whose GB are 2^30 bytes; a driver keeps about one per cent of it."""
    hbm_bandwidth_bytes_per_s: int
    """Of device memory, be it HBM or GDDR: bus width times data rate, as the vendor states it."""
    l2_bytes: int
    fp32_fmas_per_sm_per_clock: int
    shared_wavefronts_per_sm_per_clock: float
    l1_sectors_per_sm_per_clock: float
    """32-byte sectors between L1 and registers."""
    sources: Mapping[str, str] = field(hash=False, repr=False)
    """Where each figure comes from, by the name of its field."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", dict(self.sources))
        found = tuple(_objections(self))
        if found:
            raise TilewiseError(f"device {self.key!r}: " + " ".join(found))

    @property
    def warps_per_sm(self) -> int:
        """Warps resident on an SM at most."""
        return self.threads_per_sm // WARP_LANES

    @property
    def fp32_fmas_per_s(self) -> int:
        """Thread FMAs of the whole device."""
        return self.fp32_fmas_per_sm_per_clock * self.sms * self.clock_hz

    @property
    def fp32_flops_per_s(self) -> int:
        """The vendor's peak: two operations an FMA."""
        return 2 * self.fp32_fmas_per_s

    @property
    def shared_wavefronts_per_s(self) -> float:
        """Shared-memory wavefronts of the whole device."""
        return self.shared_wavefronts_per_sm_per_clock * self.sms * self.clock_hz

    @property
    def l1_sectors_per_s(self) -> float:
        """Sectors between L1 and registers, of the whole device."""
        return self.l1_sectors_per_sm_per_clock * self.sms * self.clock_hz

    @property
    def compiler_requirement(self) -> str | None:
        """What must be installed beside Tilewise to compile for this device, as a sentence; None where nothing must."""
        if self.compute_capability >= NVRTC_13_LEAST:
            return None
        return (
            f"{self.name} has compute capability {_dotted(self.compute_capability)}, and NVRTC 13 compiles for "
            f"{_dotted(NVRTC_13_LEAST)} and up: install the cu12 extra (pip install 'tilewise[cu12]')."
        )

    def to_json(self) -> str:
        """Return the device as a JSON object that `from_json` reads back."""
        values = {name: getattr(self, name) for name in _FIELDS}
        return json.dumps({**values, "compute_capability": _dotted(self.compute_capability)}, indent=2)

    @classmethod
    def from_json(cls, text: str) -> Device:
        """Return the device that a JSON object (or a list of one) describes; `sources` may be left out, in whole or in part.

        Raises TilewiseError, naming each field, its value and what would be right, for anything else than such an object.
        """
        try:
            given = json.loads(text)
        except json.JSONDecodeError as error:
            raise TilewiseError(
                f"the device file is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
            ) from None
        except (ValueError, RecursionError):  # what Python refuses to read: numbers of thousands of digits, thousands of brackets
            raise TilewiseError("the device file holds a number too long or brackets too deep for any device.") from None
        match given:
            case [dict() as only]:
                given = only
        if not isinstance(given, dict):
            raise TilewiseError(f"the device file holds {_shown(given)}; give a JSON object with a device's fields.")
        found = (*_wrong_names(given), *_wrong_values(given))
        if found:
            raise TilewiseError("the device file: " + " ".join(found))
        values = {name: _from_json_value(name, given[name]) for name in _FIELDS if name != "sources"}
        stated = given.get("sources", {})
        return cls(**values, sources={name: stated.get(name, GIVEN_BY_USER) for name in FIGURES})


_FIELDS = {row.name: str(row.type) for row in fields(Device)}
_INTEGERS = tuple(name for name, kind in _FIELDS.items() if kind == "int")
_RATES = tuple(name for name, kind in _FIELDS.items() if kind == "float")
_MAY_BE_ZERO = ("reserved_shared_bytes_per_block",)
FIGURES = (*_INTEGERS, *_RATES)
"""The fields that a source stands behind."""


def _dotted(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _objections(device: Device) -> Iterator[str]:
    for name in FIGURES:
        value = getattr(device, name)
        if value < 0 or (value == 0 and name not in _MAY_BE_ZERO):
            yield f"{name} = {value} is not positive."
    for name in ("threads_per_sm", "threads_per_block"):
        value = getattr(device, name)
        if value % WARP_LANES:
            yield f"{name} = {value} is not a multiple of a warp's {WARP_LANES} threads."
    for part, whole in (
        ("shared_bytes_per_block", "shared_bytes_per_block_optin"),
        ("shared_bytes_per_block_optin", "shared_bytes_per_sm"),
        ("registers_per_block", "registers_per_sm"),
        ("threads_per_block", "threads_per_sm"),
    ):
        if getattr(device, part) > getattr(device, whole):
            yield f"{part} = {getattr(device, part)} is more than {whole} = {getattr(device, whole)}."
    major, minor = device.compute_capability
    if not re.fullmatch(rf"sm_{major}{minor}[af]?", device.arch):
        yield f"arch = {device.arch!r} does not name compute capability {major}.{minor}: give 'sm_{major}{minor}'."
    if set(device.sources) != set(FIGURES):
        odd = sorted(set(device.sources) ^ set(FIGURES))
        yield f"sources must name each figure and nothing else, but {', '.join(odd)} is missing or unknown."


def _wrong_names(given: dict[str, Any]) -> Iterator[str]:
    for name in given:
        if name not in _FIELDS:
            yield f"there is no field {name!r}.{nearest(name, _FIELDS)}"
    missing = [name for name in _FIELDS if name not in given and name != "sources"]
    if missing:
        yield f"missing: {', '.join(missing)}."
    sources = given.get("sources", {})
    if not isinstance(sources, dict) or not all(isinstance(text, str) for text in sources.values()):
        yield f"sources = {_shown(sources)} is not an object of strings, one a figure."
        return
    for name in sources:
        if name not in FIGURES:
            yield f"sources has {name!r}, which is no figure.{nearest(name, FIGURES)}"


def _wrong_values(given: dict[str, Any]) -> Iterator[str]:
    for name in ("key", "name", "arch"):
        if name in given and not (isinstance(given[name], str) and given[name]):
            yield f"{name} = {_shown(given[name])} is not a text: give one in quotes."
    capability = given.get("compute_capability", "9.0")
    if not (isinstance(capability, str) and re.fullmatch(r"\d+\.\d", capability)):
        yield f'compute_capability = {_shown(capability)} is not of the form "9.0".'
    for name in FIGURES:
        value = given.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            yield f"{name} = {_shown(value)} is not a number."
        elif isinstance(value, float) and not math.isfinite(value):
            yield f"{name} = {_shown(value)} is not a finite number."
        elif abs(value) > MOST:
            yield f"{name} = {_shown(value)} is more than any GPU has: at most {MOST:,}."
        elif name in _INTEGERS and value % 1:
            yield f"{name} = {_shown(value)} is not a whole number."


def _from_json_value(name: str, value: Any) -> Any:
    if name == "compute_capability":
        major, minor = value.split(".")
        return int(major), int(minor)
    return int(value) if name in _INTEGERS else value
