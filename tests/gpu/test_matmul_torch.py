"""matmul on PyTorch's CUDA tensors, held against PyTorch's product in float64."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

import tilewise
from tilewise.core.errors import TilewiseError

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu


def normal(*shape: int) -> Any:
    return torch.randn(*shape, device="cuda")


def assert_product(result: Any, a: Any, b: Any) -> None:
    exact, scale = torch.matmul(a.double(), b.double()), torch.matmul(a.double().abs(), b.double().abs())
    assert result.dtype == torch.float32
    assert result.shape == exact.shape
    assert result.device == a.device
    assert bool(((result.double() - exact).abs() <= 1e-30 + max(1e-5, a.shape[-1] * 2.0**-24) * scale).all())


def stored(rows: int, columns: int, order: str, pad: int, offset: int) -> Any:
    """A matrix whose rows (columns) lie `pad` numbers apart, `offset` numbers behind an allocation's start; NaN all round it."""
    lines, length = (rows, columns) if order == "r" else (columns, rows)
    leading = length + pad
    buffer = torch.full((offset + lines * leading + 8,), float("nan"), device="cuda")
    view = buffer[offset : offset + lines * leading].view(lines, leading)[:, :length]
    view.copy_(normal(lines, length))
    return view if order == "r" else view.T


def test_500_random_problems() -> None:
    draw = random.Random(5)
    for _ in range(500):
        M, N, K = (draw.choice((draw.randint(1, 40), draw.randint(1, 300), draw.choice((64, 128, 256, 1000)))) for _ in range(3))
        a = stored(M, K, draw.choice("rc"), draw.choice((0, 0, 1, 4, 7)), draw.choice((0, 0, 1, 2, 4)))
        b = stored(K, N, draw.choice("rc"), draw.choice((0, 0, 1, 4, 7)), draw.choice((0, 0, 1, 2, 4)))
        if draw.random() < 0.3:
            out = stored(M, N, draw.choice("rc"), draw.choice((0, 3, 4)), draw.choice((0, 1)))
            out.fill_(float("nan"))
            assert tilewise.matmul(a, b, out=out) is out
            assert_product(out, a, b)
        else:
            assert_product(tilewise.matmul(a, b), a, b)


@pytest.mark.parametrize("layout", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize("sizes", [(4096, 1024, 513), (1, 4096, 4096), (2040, 2040, 2040), (64, 64, 20_000), (8, 8192, 1000)])
def test_larger_products(sizes: tuple[int, int, int], layout: str) -> None:
    M, N, K = sizes
    a, b = stored(M, K, layout[0], 0, 0), stored(K, N, layout[1], 0, 0)
    assert_product(tilewise.matmul(a, b), a, b)


def test_identical_bits_from_run_to_run() -> None:
    a, b = normal(777, 1234), normal(1234, 555)
    first = tilewise.matmul(a, b)
    assert all(torch.equal(first, tilewise.matmul(a, b)) for _ in range(5))


def test_vectors_stacks_and_odd_strides() -> None:
    for a, b in (
        (normal(5), normal(5)),
        (normal(5), normal(5, 7)),
        (normal(4, 5), normal(5)),
        (normal(3, 4, 5), normal(5, 7)),
        (normal(2, 1, 4, 5), normal(3, 5, 7)),
        (normal(40, 90)[:, ::3], normal(60, 20)[::2]),
        (normal(1, 30).expand(40, 30), normal(30, 1).expand(30, 50)),
        (normal(0, 5), normal(5, 3)),
        (normal(4, 0), normal(0, 3)),
    ):
        assert_product(tilewise.matmul(a, b), a, b)


def test_the_product_runs_on_the_current_stream_and_nobody_waits() -> None:
    a, b = normal(512, 512), normal(512, 512)
    tilewise.matmul(a, b)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(400_000_000)  # some 0.2 s
        a.fill_(2.0)
        started = time.perf_counter()
        result = tilewise.matmul(a, b)
        taken = time.perf_counter() - started
        assert not stream.query()
    stream.synchronize()
    assert taken < 0.1
    assert_product(result, a, b)


def test_capture_into_a_graph_at_the_first_call_of_its_form() -> None:
    a, b = normal(331, 257), normal(257, 199)
    strided = normal(331, 771)[:, ::3]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = tilewise.matmul(a, b)
        copied = tilewise.matmul(strided, b)
    for _ in range(3):
        a.copy_(normal(331, 257))
        strided.copy_(normal(331, 257))
        graph.replay()
        torch.cuda.synchronize()
        assert_product(result, a, b)
        assert_product(copied, strided, b)


def test_prepared_calls_and_their_capture() -> None:
    a, b = normal(300, 200), stored(200, 400, "c", 0, 0)
    call = tilewise.plan(300, 400, 200, layout="rc").bind(a, b)
    assert call() is call.out
    assert_product(call.out, a, b)
    a.copy_(normal(300, 200))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    graph.replay()
    assert_product(call.out, a, b)


def test_out_beside_an_operand_is_written_and_out_upon_one_refused() -> None:
    base = normal(64, 100)
    a, out, b = base[:, :50], base[:, 50:], normal(50, 50)
    expected = a.clone()
    tilewise.matmul(a, b, out=out)
    assert_product(out, expected, b)
    with pytest.raises(TilewiseError, match="out overlaps a in memory"):
        tilewise.matmul(a, b, out=base[:, 49:99])


def test_tensors_that_are_not_what_they_seem_are_refused() -> None:
    a = normal(4, 4)
    for bad, message in (
        (normal(4, 4).requires_grad_(), "requires a gradient"),
        (torch.imag(torch.conj(torch.randn(4, 4, dtype=torch.complex64, device="cuda"))), "negated view"),
        (normal(4, 4).to_sparse(), "no dense matrix"),
        (normal(4, 4).double(), "of type float64"),
        (normal(4, 4).half(), "of type float16"),
        (normal(4, 4).cpu(), "a is on GPU 0 and b on the CPU"),
    ):
        with pytest.raises(TilewiseError, match=message):
            tilewise.matmul(a, bad)
    with torch.no_grad():
        tilewise.matmul(a, normal(4, 4).requires_grad_())


def test_parameters_are_tensors_too() -> None:
    layer = torch.nn.Linear(64, 48, bias=False, device="cuda")
    x = normal(32, 64)
    with torch.inference_mode():
        assert_product(tilewise.matmul(x, layer.weight.T), x, layer.weight.T)


def test_arrays_on_two_gpus_are_refused() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    with pytest.raises(TilewiseError, match="a is on GPU 0 and b on GPU 1"):
        tilewise.matmul(normal(4, 4), normal(4, 4).to("cuda:1"))


def test_a_thread_that_never_touched_the_gpu_may_call() -> None:
    from concurrent.futures import ThreadPoolExecutor

    a, b = normal(200, 300), normal(300, 100)
    torch.cuda.synchronize()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: tilewise.matmul(a, b), range(64)))
    for result in results:
        assert torch.equal(result, results[0])
    assert_product(results[0], a, b)
