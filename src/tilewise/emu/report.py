"""Faults of a run in words: which source line, which thread, how far from which argument."""

from __future__ import annotations

from tilewise.core.facts import AccessKind, Fault
from tilewise.core.place import Place
from tilewise.emu import abi
from tilewise.emu.arguments import BoundBuffer
from tilewise.emu.blueprint import Blueprint, SiteFacts
from tilewise.emu.lower.program import STACK_BYTES
from tilewise.emu.windows import LOCAL_WINDOW, PARAMETER_WINDOW, SHARED_WINDOW, WINDOW_BYTES

FAR_BYTES = 1 << 40
"""An address further than this from every array is told as it is."""
ACCESSES: dict[str, AccessKind] = {"load": "read", "store": "write", "atomic": "atomic", "copy": "copy", "print": "read"}
"""What sites of each kind do to memory."""
PAGE_BYTES = 1 << 16
"""Addresses so near 0, on either side, come from a null pointer and an index."""


def describe_fault(raw: abi.Fault, blueprint: Blueprint, buffers: tuple[BoundBuffer, ...]) -> Fault:
    """Return the runtime's record of a fault as a Fault."""
    site = blueprint.sites[raw.site]
    space = _space(raw, site, blueprint.local_bytes)
    offset = _offset(raw, site, space)
    near = _nearest_array(int(raw.address), buffers) if space == "global" else None
    kind = abi.FAULT_KINDS[raw.kind]
    linear = 32 * raw.warp + raw.lane
    x, y, _ = blueprint.block_shape
    return Fault(
        kind=kind,  # type: ignore[arg-type]
        file=site.file or "PTX",
        line=site.line if site.file else site.ptx_line,
        opcode=site.opcode,
        block=(raw.block[0], raw.block[1], raw.block[2]),
        thread=(linear % x, linear // x % y, linear // (x * y)),
        detail=_detail(kind, raw, site, space, offset, buffers),
        count=int(raw.count),
        place=site.source or Place("", site.ptx_line),
        ptx_line=site.ptx_line,
        space=space,
        access=ACCESSES.get(site.kind),
        array=near.name if near else "",
        offset=int(raw.address) - near.low if near else offset,
        barrier=int(raw.address)
        if not site.kind and kind in ("deadlock", "divergent barrier") and raw.kind != abi.ENDLESS
        else None,
    )


def _space(raw: abi.Fault, site: SiteFacts, local_bytes: int) -> str:
    """The state space that an address points to, or misses by little; empty for what is no access."""
    if site.kind not in ACCESSES:
        return ""
    if raw.kind == abi.OUT_OF_SHARED:
        return "shared"
    if not site.is_generic and site.kind != "print":
        return "local" if site.space == "stack" else site.space
    windows = (("shared", SHARED_WINDOW), ("local", LOCAL_WINDOW), ("param", PARAMETER_WINDOW))
    found = next((name for name, window in windows if window <= raw.address < window + WINDOW_BYTES), "global")
    past_local = raw.address - LOCAL_WINDOW - local_bytes
    is_below_shared = found == "local" and SHARED_WINDOW - raw.address < past_local
    return "shared" if is_below_shared else found


def _offset(raw: abi.Fault, site: SiteFacts, space: str) -> int:
    """Bytes from the start of shared or local memory, less than 0 before it; any other address as it is."""
    address = int(raw.address)
    if space == "local":
        return address - LOCAL_WINDOW
    if space != "shared":
        return address
    if site.is_generic and raw.kind != abi.OUT_OF_SHARED:
        return address - SHARED_WINDOW
    return (address + (1 << 31)) % (1 << 32) - (1 << 31)  # of 32 bits


def _nearest_array(address: int, buffers: tuple[BoundBuffer, ...]) -> BoundBuffer | None:
    arrays = (buffer for buffer in buffers if buffer.space != "param")
    near = min(arrays, key=lambda buffer: _distance(buffer, address), default=None)
    return None if near is None or _distance(near, address) > FAR_BYTES else near


def _detail(kind: str, raw: abi.Fault, site: SiteFacts, space: str, offset: int, buffers: tuple[BoundBuffer, ...]) -> str:
    if kind == "failed assertion":
        return f"{raw.text.decode(errors='replace')!r} does not hold"
    if kind == "trap":
        return "the kernel gives up"
    if kind == "jump to nowhere":
        return f"no function or label has the number {raw.address:#x}"
    if kind == "stack overflow":
        return f"functions that call themselves take more than {STACK_BYTES:,} bytes of the thread's stack"
    if raw.kind == abi.ENDLESS:
        rest = f"; blocks that have not started: {raw.arrived}, that are on their way: {raw.expected}" if raw.arrived else ""
        what = "for a value that nobody will write" if site.kind else "in a loop that nothing ends"
        return f"{_waiting_warps(raw)} here (lanes {raw.mask:#010x} of warp {raw.warp}) {what}{rest}"
    if not site.kind:
        if kind == "deadlock":
            came = f"{raw.arrived} of {raw.expected} warps have come"
            return f"{_waiting_warps(raw)} at barrier {raw.address}, to which {came}: nobody can go on"
        if raw.kind == abi.READS_ABSENT:
            return f"lanes {raw.mask:#010x} of warp {raw.warp} read values of lanes {raw.address:#010x}, which take no part"
        if raw.kind == abi.NOT_NAMED:
            return (
                f"lanes {raw.mask:#010x} of warp {raw.warp} are not among the lanes that they name, such as {raw.address:#010x}"
            )
        if raw.kind == abi.NEVER_CAME:
            return f"lanes {raw.mask:#010x} of warp {raw.warp} wait here for lanes {raw.address:#010x}, which never come"
        if kind == "missing lanes":
            return f"lanes {raw.mask:#010x} of warp {raw.warp} wait here for lanes {raw.address:#010x}, which wait elsewhere"
        return f"lanes {raw.mask:#010x} of warp {raw.warp} wait at barrier {raw.address} while others come to one apart from them"
    where = f"{space} address {offset}" if space in ("shared", "local") else _near_buffer(int(raw.address), buffers)
    if site.kind == "print":
        return f"printf's format, or a string for its %s, at {where}"
    if site.kind == "copy":
        return f"a copy {'to' if space == 'shared' else 'from'} {where}"
    if kind == "misaligned":
        return f"{site.bytes} bytes at {where}, which is no multiple of {site.bytes}"
    return f"{site.bytes} bytes at {where}"


def _waiting_warps(raw: abi.Fault) -> str:
    """The warps of the block that wait, as "warp 3 waits" or "warps 0-2, 5 wait"."""
    warps = [warp for warp in range(abi.LANES) if raw.warps >> warp & 1]
    if len(warps) == 1:
        return f"warp {warps[0]} waits"
    starts = [warp for warp in warps if warp - 1 not in warps]
    ends = [warp for warp in warps if warp + 1 not in warps]
    runs = ", ".join(f"{start}-{end}" if end > start else str(start) for start, end in zip(starts, ends, strict=True))
    return f"warps {runs} wait"


def _near_buffer(address: int, buffers: tuple[BoundBuffer, ...]) -> str:
    """The nearest argument, and where the address stands seen from its start."""
    arrays = [buffer for buffer in buffers if buffer.space != "param"]
    if not arrays:
        return f"address {address:#x} (no argument is an array)"

    near = min(arrays, key=lambda buffer: _distance(buffer, address))
    if _distance(near, address) > FAR_BYTES:
        null = ", as from a null pointer" if min(address, (1 << 64) - address) < PAGE_BYTES else ""
        return f"address {address:#x}, far from any array{null}"
    return f"byte {address - near.low} of {near.name}, which has {near.high - near.low}"


def _distance(buffer: BoundBuffer, address: int) -> int:
    """Bytes from a buffer to an address outside of it."""
    return max(buffer.low - address, address - buffer.high, 0)
