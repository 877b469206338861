"""Files that are replaced as a whole: an interrupted write leaves the former file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose content becomes the file when the ``with`` block ends without an error."""
    # a link stays, and the file that it leads to is replaced
    path = path.resolve()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as stream:
            yield stream
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
