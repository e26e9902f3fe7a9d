"""The PEP 517 backend: setuptools, plus the ziglang wheel as a build requirement where no C compiler works."""

from __future__ import annotations

from typing import Any

from c_compiler import build_requirements
from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 - every hook that this file does not replace is setuptools' own


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what a wheel build needs installed first."""
    return build_meta.get_requires_for_build_wheel(config_settings) + build_requirements()


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """Return what an editable build needs installed first."""
    return build_meta.get_requires_for_build_editable(config_settings) + build_requirements()
