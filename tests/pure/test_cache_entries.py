"""Entries of the disk cache: whole, absent or dropped, never wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.build.cache import Cache, key_of

KEY = key_of("a kernel")
PARTS = {"ptx": b".version 9.5\n", "cubin": bytes(range(256)), "empty": b""}
BLOBS = st.dictionaries(st.text(max_size=8), st.binary(max_size=40), max_size=4)


def entry_file(cache: Cache, key: str = KEY) -> Path:
    (file,) = cache.root.glob(f"{key}*")
    return file


def test_blobs_come_back_as_they_were_put(tmp_path: Path) -> None:
    Cache(tmp_path / "new" / "folder").put(KEY, PARTS)
    assert Cache(tmp_path / "new" / "folder").get(KEY) == PARTS


@given(BLOBS)
def test_any_names_and_bytes_come_back(parts: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        cache.put(KEY, parts)
        assert cache.get(KEY) == parts


def test_unknown_key_is_a_miss_and_creates_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "absent")
    assert cache.get(KEY) is None
    assert not cache.root.exists()


def test_later_put_replaces(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, {"ptx": b"old"})
    cache.put(KEY, {"ptx": b"new"})
    assert cache.get(KEY) == {"ptx": b"new"}
    assert len(list(tmp_path.iterdir())) == 1


@given(st.data())
def test_any_flipped_bits_make_a_miss_and_the_entry_goes(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        cache.put(KEY, PARTS)
        file = entry_file(cache)
        content = bytearray(file.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        file.write_bytes(content)
        assert cache.get(KEY) is None
        assert not file.exists()
        cache.put(KEY, PARTS)
        assert cache.get(KEY) == PARTS


def test_every_truncation_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, PARTS)
    file = entry_file(cache)
    content = file.read_bytes()
    for length in range(len(content)):
        file.write_bytes(content[:length])
        assert cache.get(KEY) is None


def test_trailing_bytes_are_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, PARTS)
    with entry_file(cache).open("ab") as file:
        file.write(b"x")
    assert cache.get(KEY) is None


def test_entry_filed_under_another_key_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, PARTS)
    other = key_of("another kernel")
    file = entry_file(cache)
    file.rename(file.with_name(file.name.replace(KEY, other)))
    assert cache.get(other) is None


def test_key_must_come_from_key_of(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="key_of"):
        Cache(tmp_path).put("../../etc/passwd", PARTS)


@given(st.lists(st.binary(max_size=6), max_size=4), st.lists(st.binary(max_size=6), max_size=4))
def test_keys_differ_where_parts_differ(one: list[bytes], other: list[bytes]) -> None:
    assert (key_of(*one) == key_of(*other)) == (one == other)


def test_key_of_text_is_that_of_its_utf8() -> None:
    assert key_of("Ω") == key_of("Ω".encode())


def test_entries_unused_longest_are_evicted(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit_bytes=4000)
    keys = [key_of(str(number)) for number in range(4)]
    for age, key in enumerate(keys[:3]):
        cache.put(key, {"ptx": bytes(1000)})
        os.utime(entry_file(cache, key), (1000 + age, 1000 + age))
    assert cache.get(keys[0])  # used last, though put first
    cache.put(keys[3], {"ptx": bytes(1000)})
    assert [cache.get(key) is not None for key in keys] == [True, False, True, True]
    assert cache.stats().bytes <= 4000


@pytest.mark.parametrize(("limit_bytes", "looks"), [(10**9, 300 // 32 + 1), (100_000, 200)])
def test_folder_is_looked_through_now_and_then_and_keeps_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit_bytes: int, looks: int
) -> None:
    """300 entries of a good 1,000 bytes: far below the limit, and three times as much as it allows."""
    looks_at: list[Path] = []
    look = Cache._look_through

    def count(cache: Cache, newest: Path) -> None:
        looks_at.append(newest)
        look(cache, newest)

    monkeypatch.setattr(Cache, "_look_through", count)
    cache = Cache(tmp_path, limit_bytes)
    for number in range(300):
        cache.put(key_of(str(number)), {"ptx": bytes(1000)})
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= limit_bytes
    assert 0 < len(looks_at) <= looks
    assert cache.get(key_of("299"))


def test_two_caches_of_one_folder_keep_its_limit_together(tmp_path: Path) -> None:
    """As two processes, neither of which sees what the other writes."""
    caches = [Cache(tmp_path, 200_000) for _ in range(2)]
    for number in range(400):
        caches[number % 2].put(key_of(str(number)), {"ptx": bytes(1000)})
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 200_000


def test_entry_beyond_the_limit_is_not_kept_and_evicts_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit_bytes=2000)
    cache.put(KEY, PARTS)
    cache.put(key_of("large"), {"ptx": bytes(2001)})
    assert cache.get(key_of("large")) is None
    assert cache.get(KEY) == PARTS


def test_temporary_file_of_a_dead_process_goes_and_a_fresh_one_stays(tmp_path: Path) -> None:
    dead, living = tmp_path / "dead.part", tmp_path / "living.part"
    for file in (dead, living):
        file.write_bytes(b"half")
    os.utime(dead, (time.time() - 7200,) * 2)
    Cache(tmp_path).put(KEY, PARTS)
    assert not dead.exists()
    assert living.exists()


def test_stats_count_what_clear_removes(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    (tmp_path / "notes.txt").write_text("the user's own")
    for number in range(3):
        cache.put(key_of(str(number)), PARTS)
    folder = cache.folder("headers")
    assert folder
    (folder / "a.h").write_bytes(bytes(70))
    ours = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "notes.txt"]
    stats = cache.stats()
    assert (stats.root, stats.entries, stats.bytes) == (tmp_path, 3, sum(path.stat().st_size for path in ours))
    assert cache.clear() == stats
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert cache.stats().bytes == 0


def test_absent_folder_is_empty(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "absent")
    assert (cache.clear().entries, cache.stats().bytes) == (0, 0)


WRITER = """
import sys
from pathlib import Path
from tilewise.build.cache import Cache, key_of

cache, own = Cache(Path(sys.argv[1])), sys.argv[2].encode()
for number in range(100):
    cache.put(key_of("shared"), {"who": own, "what": own * 5000})
    found = cache.get(key_of("shared"))
    assert found is not None, "an entry vanished"
    assert found["what"] == found["who"] * 5000, "an entry was torn"
"""


def test_two_processes_putting_one_key_never_tear_it(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("one", "other")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(list(tmp_path.iterdir())) == 1


def test_hit_takes_well_under_a_millisecond(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put(KEY, {"ptx": bytes(10_000), "cubin": bytes(50_000)})
    seconds = []
    for _ in range(50):
        start = time.perf_counter()
        cache.get(KEY)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 1e-3
