"""A cache folder that cannot be trusted or written is refused once, and everything works without it."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path

import pytest

from tilewise.build.cache import Cache, CacheWarning, default_cache, key_of

KEY = key_of("a kernel")
PARTS = {"ptx": b".version 9.5\n"}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")


def refuse(cache: Cache, reason: str) -> None:
    """Assert that the cache keeps nothing, finds nothing and says why, once."""
    with pytest.warns(CacheWarning, match=reason) as said:
        cache.put(KEY, PARTS)
    text = str(said[0].message)
    assert str(cache.root) in text
    assert "TILEWISE_CACHE_DIR" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(KEY) is None
        cache.put(KEY, PARTS)
        assert cache.folder("headers") is None


def test_new_folder_and_its_entries_are_for_the_user_alone(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(KEY, PARTS)
    (entry,) = cache.root.iterdir()
    assert stat.S_IMODE(cache.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_folder_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(KEY, PARTS)
    cache.root.chmod(mode)
    refuse(cache, f"mode {mode:o}")


def test_folder_that_others_may_only_read_is_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    Cache(tmp_path).put(KEY, PARTS)
    assert Cache(tmp_path).get(KEY) == PARTS


@as_root
def test_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(KEY, PARTS)
    os.chown(cache.root, 12345, 12345)
    refuse(cache, "belongs to user 12345")


@as_root
def test_link_of_another_user_to_our_folder_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "ours"
    target.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(target)
    os.chown(link, 12345, 12345, follow_symlinks=False)
    refuse(Cache(link), "belongs to user 12345")


def test_own_link_to_own_folder_is_used(tmp_path: Path) -> None:
    target = tmp_path / "ours"
    target.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(target)
    Cache(tmp_path / "link").put(KEY, PARTS)
    assert Cache(target).get(KEY) == PARTS


def test_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    refuse(Cache(file), "File exists|not a folder")
    assert file.read_text() == "not a folder"


def test_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    refuse(Cache(tmp_path / "file" / "cache"), "Not a directory")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc, in which nobody can make a folder")
def test_place_where_no_folder_can_be_made_is_refused() -> None:
    refuse(Cache(Path("/proc/self/tilewise")), "No such file|Permission|Operation not permitted")


def test_folder_removed_meanwhile_is_made_again(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    cache.put(KEY, PARTS)
    cache.clear()
    cache.root.rmdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(KEY) is None
        cache.put(KEY, PARTS)
    assert cache.get(KEY) == PARTS


def test_default_cache_follows_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWISE_CACHE_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("TILEWISE_CACHE_LIMIT_MB", "7")
    cache = default_cache()
    assert (cache.root, cache.limit_bytes) == (tmp_path / "here", 7_000_000)
    assert default_cache() is cache  # so that a bad folder is said once
    monkeypatch.setenv("TILEWISE_CACHE_DIR", str(tmp_path / "there"))
    assert default_cache().root == tmp_path / "there"
