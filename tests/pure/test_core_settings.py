"""What the environment sets."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from tilewise.core.errors import TilewiseError
from tilewise.core.settings import read_settings


def test_defaults_are_the_platforms_cache_folder_and_512_megabytes() -> None:
    settings = read_settings({})
    assert settings.cache_dir == Path(platformdirs.user_cache_dir("tilewise", appauthor=False))
    assert settings.cache_limit_bytes == 512_000_000


def test_empty_variables_count_as_unset() -> None:
    assert read_settings({"TILEWISE_CACHE_DIR": "", "TILEWISE_CACHE_LIMIT_MB": ""}) == read_settings({})


@pytest.mark.parametrize(
    ("value", "folder"),
    [("/a/b", Path("/a/b")), ("~/c", Path.home() / "c"), ("d", Path.cwd() / "d")],
)
def test_cache_folder_is_made_absolute(value: str, folder: Path) -> None:
    assert read_settings({"TILEWISE_CACHE_DIR": value}).cache_dir == folder


def test_home_of_nobody_is_refused() -> None:
    with pytest.raises(TilewiseError, match=r"TILEWISE_CACHE_DIR = '~nobody-at-all/x'"):
        read_settings({"TILEWISE_CACHE_DIR": "~nobody-at-all/x"})


def test_limit_of_zero_is_a_limit() -> None:
    assert read_settings({"TILEWISE_CACHE_LIMIT_MB": "0"}).cache_limit_bytes == 0


@pytest.mark.parametrize("value", ["-1", "1.5", "1 GB", "many", "²"])
def test_limit_that_is_no_whole_number_is_refused(value: str) -> None:
    with pytest.raises(TilewiseError, match=r"TILEWISE_CACHE_LIMIT_MB = .* whole number"):
        read_settings({"TILEWISE_CACHE_LIMIT_MB": value})


def test_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWISE_CACHE_LIMIT_MB", "3")
    assert read_settings().cache_limit_bytes == 3_000_000
