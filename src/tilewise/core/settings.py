"""What the environment sets: the only reader of environment variables (docs/adr/0001-settings-in-core.md)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewise.core.errors import TilewiseError

CACHE_DIR = "TILEWISE_CACHE_DIR"
"""A folder of the user's own for compiled modules."""

CACHE_LIMIT = "TILEWISE_CACHE_LIMIT_MB"
"""Megabytes (10^6 bytes) that the cache may take; 0 keeps nothing."""

DEFAULT_CACHE_LIMIT_MB = 512


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment sets, with defaults filled in."""

    cache_dir: Path
    cache_limit_bytes: int


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings that `environment` (default: the process's) gives; a variable set to nothing counts as unset.

    Raises TilewiseError for a value that cannot be meant.
    """
    variables = os.environ if environment is None else environment
    return Settings(_cache_dir(variables.get(CACHE_DIR, "")), _cache_limit_bytes(variables.get(CACHE_LIMIT, "")))


def _cache_dir(value: str) -> Path:
    if not value:
        return _user_cache_dir()
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError as error:
        raise TilewiseError(f"{CACHE_DIR} = {value!r}: {error} Give an absolute path.") from None


def _user_cache_dir() -> Path:
    """The platform's own folder for caches; without platformdirs, which a GPU machine may lack, the XDG specification's."""
    try:
        from platformdirs import user_cache_path
    except ImportError:
        base = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "tilewise"
    return user_cache_path("tilewise", appauthor=False)


def _cache_limit_bytes(value: str) -> int:
    if not value:
        return DEFAULT_CACHE_LIMIT_MB * 10**6
    if not (value.isascii() and value.isdecimal()):
        raise TilewiseError(f"{CACHE_LIMIT} = {value!r} is not a number of megabytes: give a whole number, such as 512.")
    return int(value) * 10**6
