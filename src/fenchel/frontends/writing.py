"""Where the programs write: regular files are replaced as a whole, devices and pipes are written to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fenchel.replacing import replacing


@contextmanager
def writing(path: str) -> Iterator[IO[bytes]]:
    """A stream for the content of a file; if the ``with`` block fails, a regular file stays as it was."""
    target = Path(path)
    if _is_standard_output(path):
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif target.exists() and not target.is_file():
        with target.open("wb") as stream:
            yield stream
    else:
        with replacing(target) as stream:
            yield stream


def open_closed_streams() -> bool:
    """Replace standard streams that are closed by ones that lead nowhere; whether the output was closed.

    Else the next file that is opened takes their place, and ``print`` takes the output for a missing error stream.
    """
    closed = sys.stdout is None
    # in the order of their numbers: a new file has the least one that is free
    if closed:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 (open to the end)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    return closed


def check_target(path: str, *read: str) -> None:
    """Raise OSError unless the file can be written and is none that is read, before the work and not after it."""
    target = Path(path)
    if target.is_file() and any(Path(one).is_file() and target.samefile(one) for one in read):
        raise FileExistsError(f"{path} is read as well; name another file")
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    folder = target.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}")
    if not os.access(target if target.exists() else folder, os.W_OK):
        raise PermissionError(f"{path} can't be written")


def _is_standard_output(path: str) -> bool:
    """Whether this is /dev/stdout or another name of it: another stream to the same file would overwrite it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(1))
    except OSError:
        return False
