"""Devices that are not in the catalogue: a JSON file with the figures of one, as `tilewise devices NAME --json` prints them."""

from __future__ import annotations

from pathlib import Path

from tilewise.core.errors import TilewiseError
from tilewise.hw import catalog
from tilewise.hw.device import Device

MOST_BYTES = 2**20
"""Far more than a device takes."""


def find_device(text: str) -> Device:
    """Return the device that a catalogue name or the path of a JSON file stands for.

    What ends in .json is a path; anything else is one where no device has that name and a file does.
    Raises TilewiseError for an unknown name, and for a file that cannot be read or does not describe a device.
    """
    path = Path(text)
    if text.lower().endswith(".json"):
        return load_device(path)
    try:
        return catalog.device(text)
    except TilewiseError:
        if _is_file(path):
            return load_device(path)
        raise


def load_device(path: Path) -> Device:
    """Return the device that a JSON file describes.

    Raises TilewiseError, naming the file, where that cannot be.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # a null character in a path is a ValueError
        raise TilewiseError(f"the device file cannot be read: {_reason(error)}.", where=str(path)) from None
    if len(data) > MOST_BYTES:
        raise TilewiseError(f"the device file is longer than {MOST_BYTES:,} bytes: give one device.", where=str(path))
    try:
        return Device.from_json(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise TilewiseError(f"the device file is not UTF-8 text: byte {error.start}.", where=str(path)) from None
    except TilewiseError as error:
        raise TilewiseError(str(error), where=str(path)) from None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
