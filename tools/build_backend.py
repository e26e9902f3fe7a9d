"""The PEP 517 backend: setuptools, plus the ziglang wheel as a build requirement where no C compiler works."""

from __future__ import annotations

from typing import Any

from c_compiler import build_requirements
from setuptools import build_meta

# setuptools' own hooks, but for the two that this file adds to.
build_editable = build_meta.build_editable
build_sdist = build_meta.build_sdist
build_wheel = build_meta.build_wheel
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what a wheel build needs installed first."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *build_requirements()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """Return what an editable build needs installed first."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *build_requirements()]
