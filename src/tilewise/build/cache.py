"""The disk cache: named blobs under a key, one file an entry. Knows nothing of what it keeps.

An entry is a fixed line, the SHA-256 of all that follows, the length of a JSON header, the header (key, names and lengths) and
the payloads. It is written beside its place and renamed into it, so a reader sees it whole or not at all; a damaged one is
dropped. The folder must be the user's own and writable by nobody else: the digest finds damage, not malice.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import stat
import struct
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewise.core.settings import CACHE_DIR, DEFAULT_CACHE_LIMIT_MB, read_settings

_MAGIC = b"tilewise cache 1\n"
_HEAD = struct.Struct(f"<{len(_MAGIC)}s32sI")
_ENTRY, _PART = ".entry", ".part"
_FOLDERS = "tilewise-folders"
_ABANDONED_SECONDS = 3600
"""A temporary file this old was left by a process that died."""
_UNSEEN_WRITES, _UNSEEN_SHARE = 32, 4
"""The folder is looked through after so many writes, or once they fill one part in so many of the room that was left: as many
processes, that know nothing of each other, keep the limit together."""
_KEPT_SHARE = 0.9
"""Of the limit, once entries are evicted: else a full folder would be looked through at each write."""


class CacheWarning(UserWarning):
    """The cache folder cannot be used; everything works without it, only slower."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache holds: entries, and the bytes of all its files, those in folders too."""

    root: Path
    entries: int
    bytes: int


def key_of(*parts: bytes | str) -> str:
    """Return the key of a sequence of parts: 64 hex digits. Lengths are hashed too, so ("ab", "c") and ("a", "bc") differ."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(struct.pack("<Q", len(data)) + data)
    return digest.hexdigest()


def default_cache() -> Cache:
    """Return the cache that the settings name, one object a folder."""
    settings = read_settings()
    return _cache_at(settings.cache_dir, settings.cache_limit_bytes)


class Cache:
    """Blobs in one folder, shared by any number of threads and processes.

    Beyond `limit_bytes` the entries used longest ago are evicted, to nine tenths of it. A folder that cannot be used is said
    once, as a CacheWarning; `get` then finds nothing and `put` keeps nothing.
    """

    def __init__(self, root: Path, limit_bytes: int = DEFAULT_CACHE_LIMIT_MB * 10**6) -> None:
        self.root = root
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._warned = False
        self._unseen_writes, self._unseen_bytes, self._room_bytes = 0, 0, 0
        """Since the folder was last looked through, and what it had left then."""

    def get(self, key: str) -> dict[str, bytes] | None:
        """Return the blobs put under `key`, None where there are none or they are damaged."""
        path = self._path(key)
        try:
            self._check_root()
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None
        parts = _unpack(key, data)
        with contextlib.suppress(OSError):  # evicted meanwhile, or a read-only disk
            if parts is None:
                path.unlink()
            else:
                os.utime(path)
        return parts

    def put(self, key: str, parts: Mapping[str, bytes]) -> None:
        """Keep the blobs under `key`, in place of what was there."""
        path = self._path(key)
        data = _pack(key, parts)
        if len(data) > self.limit_bytes:
            return
        try:
            self._make_root()
            self._write(path, data)
            if self._is_due(len(data)):
                self._look_through(path)
        except OSError as error:
            self._warn(error)

    def folder(self, name: str) -> Path | None:
        """Return a folder of that name for files that must lie on disk, None where the cache cannot be used.

        It lives until `clear` and does not count towards the limit.
        """
        path = self.root / _FOLDERS / name
        try:
            self._make_root()
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            self._warn(error)
            return None
        return path

    def stats(self) -> CacheStats:
        """Return what the cache holds; raises OSError where its folder cannot be read."""
        try:
            files = list(self._files(_ENTRY, _PART))
        except FileNotFoundError:
            return CacheStats(self.root, 0, 0)
        in_folders = (path for path in (self.root / _FOLDERS).rglob("*") if path.is_file())
        entries = sum(path.suffix == _ENTRY for path, _ in files)
        return CacheStats(self.root, entries, sum(status.st_size for _, status in files) + sum(map(_size, in_folders)))

    def clear(self) -> CacheStats:
        """Remove everything that the cache has put into its folder, and nothing else; return what that was.

        Raises OSError where the folder is not ours to change.
        """
        stats = self.stats()
        with contextlib.suppress(FileNotFoundError):
            self._check_root()
            for path, _ in self._files(_ENTRY, _PART):
                path.unlink(missing_ok=True)
            shutil.rmtree(self.root / _FOLDERS)
        return stats

    def _path(self, key: str) -> Path:
        if not re.fullmatch(r"[0-9a-f]{64}", key):
            raise ValueError(f"{key!r} is no key: make one with key_of")
        return self.root / (key + _ENTRY)

    def _make_root(self) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._check_root()

    def _check_root(self) -> None:
        """Raise OSError unless the folder (and a link that leads to it) is this user's and writable by nobody else."""
        for status in (self.root.lstat(), self.root.stat()):
            if os.name == "posix" and status.st_uid != os.geteuid():
                raise PermissionError(f"it belongs to user {status.st_uid}")
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError("it is not a folder")
        if os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"others may write to it: mode {stat.S_IMODE(status.st_mode):o}")

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file whole: beside its place first, then renamed."""
        handle, name = tempfile.mkstemp(dir=self.root, suffix=_PART)
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            part.replace(path)
        except BaseException:  # Ctrl-C too leaves nothing behind
            part.unlink(missing_ok=True)
            raise

    def _is_due(self, written_bytes: int) -> bool:
        """Whether the folder may by now hold more than the limit, as far as this process knows."""
        with self._lock:
            self._unseen_writes += 1
            self._unseen_bytes += written_bytes
            return self._unseen_writes >= _UNSEEN_WRITES or _UNSEEN_SHARE * self._unseen_bytes >= self._room_bytes

    def _look_through(self, newest: Path) -> None:
        """Remove abandoned temporary files and, beyond the limit, the entries used longest ago, `newest` last."""
        for path, status in self._files(_PART):
            if time.time() - status.st_mtime > _ABANDONED_SECONDS:
                path.unlink(missing_ok=True)
        entries = sorted(self._files(_ENTRY), key=lambda entry: (entry[0] == newest, entry[1].st_mtime_ns))
        held = sum(status.st_size for _, status in entries)
        wanted = _KEPT_SHARE * self.limit_bytes if held > self.limit_bytes else self.limit_bytes
        for path, status in entries:
            if held <= wanted or path == newest:
                break
            path.unlink(missing_ok=True)
            held -= status.st_size
        with self._lock:
            self._unseen_writes, self._unseen_bytes, self._room_bytes = 0, 0, self.limit_bytes - held

    def _files(self, *suffixes: str) -> Iterator[tuple[Path, os.stat_result]]:
        """Yield the cache's own files with their status, passing over those that another process removes meanwhile."""
        with os.scandir(self.root) as found:
            for file in found:
                if file.name.endswith(suffixes):
                    with contextlib.suppress(FileNotFoundError):
                        yield Path(file.path), file.stat(follow_symlinks=False)

    def _warn(self, error: OSError) -> None:
        with self._lock:
            warned, self._warned = self._warned, True
        if not warned:
            reason = error.strerror or error
            warnings.warn(
                f"The cache folder {self.root} cannot be used ({reason}): everything is compiled anew. "
                f"Set {CACHE_DIR} to a folder that is yours alone.",
                CacheWarning,
                stacklevel=3,
            )


@functools.cache
def _cache_at(root: Path, limit_bytes: int) -> Cache:
    return Cache(root, limit_bytes)


def _pack(key: str, parts: Mapping[str, bytes]) -> bytes:
    header = json.dumps({"key": key, "parts": [[name, len(part)] for name, part in parts.items()]}).encode()
    body = b"".join([struct.pack("<I", len(header)), header, *parts.values()])
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(key: str, data: bytes) -> dict[str, bytes] | None:
    """Return an entry's blobs, None unless it is whole and filed under its own key."""
    if len(data) < _HEAD.size:
        return None
    magic, digest, header_bytes = _HEAD.unpack_from(data)
    body = memoryview(data)[len(_MAGIC) + len(digest) :]
    if magic != _MAGIC or hashlib.sha256(body).digest() != digest:
        return None
    start = _HEAD.size + header_bytes
    header = json.loads(data[_HEAD.size : start])
    if header["key"] != key:
        return None
    parts = {}
    for name, size in header["parts"]:
        parts[name] = data[start : start + size]
        start += size
    return parts


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0
