"""`tilewise cache`: what the disk cache holds, and an empty one."""

from __future__ import annotations

from typing import Annotated

import typer

from tilewise.core.errors import TilewiseError, nearest

ACTIONS = ("show", "clear")


def cache(
    action: Annotated[str, typer.Argument(metavar="[clear]", help="Remove everything that the cache has kept.")] = "show",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what the cache of compiled kernels holds, or clear it."""
    if action not in ACTIONS:
        raise TilewiseError(f"cache cannot {action!r}.{nearest(action, ACTIONS)}")
    from tilewise.build.cache import default_cache
    from tilewise.render.json import as_json as to_json
    from tilewise.render.units import show_bytes

    kept = default_cache()
    try:
        held = kept.clear() if action == "clear" else kept.stats()
    except OSError as error:
        raise TilewiseError(f"the cache folder {kept.root} cannot be used: {error.strerror or error}.") from None
    if as_json:
        figures = {"folder": str(held.root), "entries": held.entries, "bytes": held.bytes, "limit_bytes": kept.limit_bytes}
        print(to_json({"action": action, **figures}))
    elif action == "clear":
        print(f"removed {held.entries:,} entries, {show_bytes(held.bytes)}, from {held.root}")
    else:
        for name, value in (
            ("folder", str(held.root)),
            ("entries", f"{held.entries:,}"),
            ("bytes", show_bytes(held.bytes)),
            ("limit", show_bytes(kept.limit_bytes)),
        ):
            print(f"{name:8}{value}")
