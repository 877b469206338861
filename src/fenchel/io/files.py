"""Files that may be compressed, by the suffix of their names."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from fenchel.errors import FenchelError

#: what a compressed file is opened with, by its suffix
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: what reading a damaged or truncated file raises
_DAMAGES = (OSError, EOFError, zlib.error, lzma.LZMAError)


def bare_name(path: Path) -> Path:
    """The name of a file without its folder and without the suffix of a compressed one."""
    name = Path(path.name)
    return name.with_suffix("") if name.suffix in _OPENERS else name


def check_exists(path: Path) -> None:
    """Raise unless there is such a file."""
    if not path.is_file():
        raise FenchelError(f"{path}: there is no such file")


@contextmanager
def opened(path: Path, mode: str) -> Iterator[IO[Any]]:
    """The file, unpacked; damage that reading it finds is an error that names the file."""
    text = {} if "b" in mode else {"encoding": "utf-8-sig", "newline": ""}
    try:
        with _OPENERS.get(path.suffix, open)(path, mode, **text) as stream:
            yield stream
    except _DAMAGES as error:
        raise FenchelError(f"{path}: can't be read, it may be damaged or cut off: {error}") from error
