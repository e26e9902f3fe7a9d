"""Random numbers, digests and searches, against other implementations of the same: exact."""

from __future__ import annotations

import hashlib
import zlib
from collections import deque

import numpy as np
import numpy.typing as npt
import pytest
from running import blocks_for, in_every_build, program

pytestmark = in_every_build

Words = npt.NDArray[np.uint32]

# Random123's known answers for philox4x32-10: counter, key, words.
PHILOX_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def philox(counters: Words, keys: Words) -> Words:
    """Ten rounds over rows of counters and keys, in 64-bit arithmetic."""
    low = np.uint64(0xFFFFFFFF)
    c, k = counters.astype(np.uint64).T.copy(), keys.astype(np.uint64).T.copy()
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = np.stack([q >> np.uint64(32) ^ c[1] ^ k[0], q & low, p >> np.uint64(32) ^ c[3] ^ k[1], p & low])
        k = (k + np.array([[0x9E3779B9], [0xBB67AE85]], np.uint64)) & low
    return c.T.astype(np.uint32)


def test_philox_gives_the_known_answers(build: str) -> None:
    counters, keys, answers = (np.array([words(row[part]) for row in PHILOX_ANSWERS], np.uint32) for part in range(3))
    out = np.zeros_like(counters)
    program("philox", build).run("philox_words", 1, 32, counters, keys, out, len(out))
    np.testing.assert_array_equal(out, answers)
    np.testing.assert_array_equal(philox(counters, keys), answers)


def test_philox_equals_numpy_over_random_counters_and_keys(build: str) -> None:
    random = np.random.default_rng(4)
    counters, keys = (random.integers(0, 2**32, (1000, width), dtype=np.uint32) for width in (4, 2))
    out = np.zeros_like(counters)
    program("philox", build).run("philox_words", blocks_for(1000, 96), 96, counters, keys, out, len(out))
    np.testing.assert_array_equal(out, philox(counters, keys))


def test_philox_uniform_numbers(build: str) -> None:
    n, seed = 500, 0x0123456789ABCDEF
    numbers = np.zeros((n, 4), np.float32)
    program("philox", build).run("philox_uniform", 4, 128, numbers, seed, n)
    counters = np.zeros((n, 4), np.uint32)
    counters[:, 0] = np.arange(n)
    drawn = philox(counters, np.tile(np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint32), (n, 1)))
    np.testing.assert_array_equal(numbers, (drawn >> np.uint32(8)) / 2.0**24)


@pytest.mark.parametrize("threads", [32, 50])
def test_sha256_of_messages_of_every_length(build: str, threads: int) -> None:
    random = np.random.default_rng(256)
    messages = [random.bytes(length) for length in range(130)]
    starts = np.cumsum([0, *map(len, messages)]).astype(np.int32)
    digests = np.zeros((len(messages), 8), np.uint32)
    text = np.frombuffer(b"".join(messages), np.uint8)
    program("sha256", build).run("sha256", blocks_for(len(messages), threads), threads, text, starts, digests, len(messages))
    for message, digest in zip(messages, digests, strict=True):
        assert digest.astype(">u4").tobytes() == hashlib.sha256(message).digest()


def test_crc32_of_messages_of_every_length(build: str) -> None:
    random = np.random.default_rng(32)
    messages = [random.bytes(length) for length in (*range(70), 500)]
    starts = np.cumsum([0, *map(len, messages)]).astype(np.int64)
    sums = np.zeros(len(messages), np.uint32)
    text = np.frombuffer(b"".join(messages), np.uint8)
    program("crc32", build).run("crc32", blocks_for(len(messages), 40), 40, text, starts, sums, len(messages))
    np.testing.assert_array_equal(sums, [zlib.crc32(message) for message in messages])


def test_collatz_steps_of_64_bit_numbers(build: str) -> None:
    starts = np.concatenate([np.arange(500), [2**38 - 1, 2**33 + 7, 837799, 63728127]]).astype(np.uint64)
    steps = np.zeros(len(starts), np.uint32)
    program("collatz", build).run("collatz", blocks_for(len(starts), 72), 72, starts, steps, len(starts))

    def count(x: int) -> int:
        steps = 0
        while x > 1:
            x = 3 * x + 1 if x % 2 else x // 2
            assert x < 2**64
            steps += 1
        return steps

    np.testing.assert_array_equal(steps, [count(int(start)) for start in starts])


def edit_distance(a: str, b: str) -> int:
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        now = [i]
        for j, y in enumerate(b, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (x != y)))
        before = now
    return before[-1]


@pytest.mark.parametrize("threads", [32, 45])
def test_levenshtein_distances(build: str, threads: int) -> None:
    random = np.random.default_rng(threads)
    drawn = ["".join(random.choice(list("abc"), length)) for length in random.integers(0, 128, 24)]
    texts = ["kitten", "sitting", "", "", "", "abc", "same", "same", *drawn]
    starts = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    distances = np.full(len(texts) // 2, -1, np.int32)
    text = np.frombuffer("".join(texts).encode(), np.uint8)
    program("levenshtein", build).run("levenshtein", len(distances), threads, text, starts, distances)
    assert list(distances[:4]) == [3, 0, 3, 0]
    np.testing.assert_array_equal(distances, [edit_distance(a, b) for a, b in zip(texts[::2], texts[1::2], strict=True)])


@pytest.mark.parametrize(("vertices", "edges"), [(1, 0), (400, 900), (300, 3000)])
def test_breadth_first_search(build: str, vertices: int, edges: int) -> None:
    search = program("breadth_first", build)
    random = np.random.default_rng(edges)
    sources, targets = random.integers(0, vertices, (2, edges))
    order = np.argsort(sources, kind="stable")
    row_starts = np.searchsorted(sources[order], np.arange(vertices + 1)).astype(np.int32)
    neighbours = targets[order].astype(np.int32)
    levels = np.full(vertices, -1, np.int32)
    levels[0] = 0
    frontier, level = np.zeros(vertices, np.int32), 0
    size = 1
    while size:
        level += 1
        following, following_size = np.zeros(vertices, np.int32), np.zeros(1, np.int32)
        search.run(
            "expand", blocks_for(size, 40), 40, row_starts, neighbours, frontier, size, levels, level, following, following_size
        )
        frontier, size = following, int(following_size[0])

    expected, queue = {0: 0}, deque([0])
    while queue:
        vertex = queue.popleft()
        for neighbour in map(int, neighbours[row_starts[vertex] : row_starts[vertex + 1]]):
            if neighbour not in expected:
                expected[neighbour] = expected[vertex] + 1
                queue.append(neighbour)
    np.testing.assert_array_equal(levels, [expected.get(vertex, -1) for vertex in range(vertices)])


@pytest.mark.parametrize(("n", "ways"), [(4, 2), (6, 4), (8, 92)])  # OEIS A000170
def test_queens(build: str, n: int, ways: int) -> None:
    found = np.zeros(1, np.uint64)
    program("queens", build).run("queens", 2, 40, n, found)
    assert found[0] == ways
