"""Every program runs in every build."""

from __future__ import annotations

import pytest
from running import BUILDS


@pytest.fixture(params=BUILDS)
def build(request: pytest.FixtureRequest) -> str:
    return str(request.param)
