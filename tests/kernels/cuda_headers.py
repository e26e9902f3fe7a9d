"""Where CUDA's own headers come from under test."""

from __future__ import annotations

import pytest
from cuda.pathfinder import find_nvidia_header_directory

from tilewise.build.nvrtc_library import version


def need_cuda_headers() -> None:
    """Skip the calling test where NVRTC is older than 13.3, which bundles the headers, and no toolkit has them either."""
    if version() < (13, 3) and find_nvidia_header_directory("cudart") is None:
        pytest.skip("this NVRTC bundles no CUDA headers, and no toolkit or nvidia-cuda-runtime is installed")
