"""A pretended GPU for tests of what runs on one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_driver import FakeDriver

from tilewise.build.nvrtc import compile_source
from tilewise.core.module import Module
from tilewise.engine import built, matmul_gpu
from tilewise.gpu import device, driver


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """An H200 whose kernels run on the emulator; nothing that another test opened or built stays."""
    pretended = FakeDriver()

    def compile_and_remember(*args: object) -> Module:
        module = compile_source(*args)  # type: ignore[arg-type]  # passed on
        if module.cubin is not None:
            pretended.modules[module.cubin] = module
        return module

    monkeypatch.setattr(driver, "load_driver", lambda: pretended)
    monkeypatch.setattr(built, "compile_source", compile_and_remember)
    caches = (
        driver.open_gpu,
        device.device_of,
        built.build_rung,
        built.build_fp32,
        built.build_auxiliary,
        matmul_gpu.get_ready,
    )
    for cache in caches:
        cache.cache_clear()
    yield pretended
    for cache in caches:
        cache.cache_clear()
