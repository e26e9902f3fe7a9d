"""Results as files: a folder that can be written to, and files that appear in it whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tilewise.core.errors import TilewiseError


def open_folder(folder: Path) -> Path:
    """Return `folder`, made if it is not there.

    Raises TilewiseError where files cannot be written into it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:  # a null character in a path is a ValueError
        raise _refusal(folder, error) from None
    return folder


def write_whole(path: Path, data: bytes) -> None:
    """Write a file: beside its place first, then renamed, so that nobody sees a part of it.

    Raises TilewiseError where it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            part.chmod(0o666 & ~_mask())
            part.replace(path)
        except BaseException:  # Ctrl-C too leaves nothing behind
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _refusal(path, error) from None


def _mask() -> int:
    """What the process's new files are not allowed: mkstemp makes files for their owner alone."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _refusal(path: Path, error: OSError | ValueError) -> TilewiseError:
    reason = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
    return TilewiseError(f"{path} cannot be written ({reason}): give a folder of your own.")
