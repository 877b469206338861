"""Files that may be compressed, by the suffix of their names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from fenchel.errors import FenchelError

#: what a compressed file is opened with, by its suffix
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
#: what reading a damaged or truncated file raises
_DAMAGES = (OSError, EOFError, zlib.error, lzma.LZMAError)
#: bytes of a file that are asked of the system at a time, if somebody watches
_BUFFER = 1 << 18
#: the first bytes of a model file, and the file that makes a folder a store
ARCHIVE, HEADER = b"PK\x03\x04", "header.json"

#: told the path, the bytes of the file that were read and the bytes that it has, if somebody watches
watcher: ContextVar[Callable[[Path, int, int], None] | None] = ContextVar("watcher", default=None)


class NoRowsError(FenchelError):
    """A file that was read to its end and has no rows."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: holds no rows")


def bare_name(path: Path) -> Path:
    """The name of a file without its folder and without the suffix of a compressed one."""
    name = Path(path.name)
    return name.with_suffix("") if name.suffix in _OPENERS else name


def suffix_of(path: Path) -> str:
    """The suffix of a file's name in small letters, without that of a compressed one."""
    return bare_name(path).suffix.lower()


def check_exists(path: Path) -> None:
    """Raise unless there is such a file."""
    if path.is_dir():
        raise FenchelError(f"{path}: is a folder, and a file is needed here")
    if not path.is_file():
        raise FenchelError(f"{path}: {'is not a regular file' if path.exists() else 'there is no such file'}")


def check_data(path: Path) -> None:
    """Raise unless there is such a file, or a folder with the header of a store."""
    if not path.is_dir():
        check_exists(path)
    elif not (path / HEADER).is_file():
        raise FenchelError(f"{path}: is a folder and no store, since it has no {HEADER}; name a file, or a store")


def check_model(path: Path) -> None:
    """Raise unless there is such a file, and it begins as model files do."""
    check_exists(path)
    with path.open("rb") as stream:
        if stream.read(len(ARCHIVE)) == ARCHIVE:
            return
    raise FenchelError(
        f"{path}: is not a model that `fenchel train` wrote, nor one of save_model: it is not an archive of arrays; "
        "name the model before the data, as in `fenchel predict MODEL DATA`"
    )


class _Watched(io.FileIO):
    """A file whose watcher is told how far it was read."""

    def __init__(self, path: Path, told: Callable[[Path, int, int], None]) -> None:
        super().__init__(path)
        self._path, self._told, self._size = path, told, path.stat().st_size

    def readinto(self, buffer: Any) -> int | None:
        found = super().readinto(buffer)
        self._told(self._path, self.tell(), self._size)
        return found


@contextmanager
def opened(path: Path, mode: str) -> Iterator[IO[Any]]:
    """The file, unpacked; damage that reading it finds is an error that names the file."""
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8-sig", "newline": ""}
    told = watcher.get()
    try:
        with ExitStack() as stack:
            if told is None:
                yield stack.enter_context(_OPENERS.get(path.suffix, open)(path, mode, **text))
                return
            source = stack.enter_context(io.BufferedReader(_Watched(path, told), _BUFFER))
            if path.suffix in _OPENERS:
                yield stack.enter_context(_OPENERS[path.suffix](source, mode, **text))
            else:
                yield stack.enter_context(io.TextIOWrapper(source, **text)) if text else source
    except _DAMAGES as error:
        raise FenchelError(f"{path}: can't be read, it may be damaged or cut off: {error}") from error
