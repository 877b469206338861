"""Files that are replaced as a whole: an interrupted write leaves the former file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

#: characters of a file's name that its temporary name repeats: names of files are limited to 255 bytes
_LONGEST_NAME = 40


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file when the ``with`` block ends without an error.

    What the system refuses is an OSError with the name of the file.
    """
    given = path
    # a link stays, and the file that it leads to is replaced
    path = path.resolve()
    beside = path.with_name(unique_name(path.name[:_LONGEST_NAME], ".part"))
    try:
        # exclusive, with the permissions of any new file
        with naming(given, beside):
            with beside.open("xb") as stream:
                yield stream
            beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def naming(path: Path, beside: Path) -> Iterator[None]:
    """What the system refuses, about ``beside`` or without a name, is an OSError with the name of ``path``."""
    try:
        yield
    except OSError as error:
        if error.filename is None or str(error.filename).startswith(str(beside)):
            error.filename = str(path)
        raise


def unique_name(name: str, suffix: str) -> str:
    """A hidden name for what is written and not complete: two threads or processes never choose the same one."""
    return f".{name}.{os.urandom(8).hex()}{suffix}"
