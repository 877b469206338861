"""Where compiled loops are kept on disk, and when they are stale.

numba keeps compiled code beside a function's source and checks only that one file for changes.  A loop here is
specialized for losses, regularizers and storages that live in other files, so that is not enough; and numba unpickles
the whole index of a function before it looks whether it is stale, so one renamed class would break every loss.  Hence
the cache folder of a loop is named by a hash of the sources that its compiled code depends on: its own file, the loop
files that it imports, ``compile/``, and the losses, regularizers and rows that it may be specialized for.  An edit of
any of these starts a new folder; an edit of anything else does not.  A folder that can't be read or written means no
cache, with one warning.

The folder is in ``$FENCHEL_CACHE_DIR``, else in ``fenchel`` under ``$XDG_CACHE_HOME`` (default ``~/.cache``).
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import re
import shutil
import time
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache, _CacheLocator
from numba.core.runtime import rtsys

from fenchel.compile.stopwatch import stopwatch
from fenchel.errors import CacheWarning
from fenchel.loading import no_collection

_PACKAGE = Path(__file__).resolve().parent.parent
#: what every loop may be specialized for, or is compiled by
_SHARED = ("compile/*.py", "losses/*.py", "regularizers/*.py", "designs/*rows.py")
#: how loop files import one another
_IMPORT = re.compile(r"^from fenchel\.((?:compile\.primitives|solvers)\.[\w.]+) import", re.MULTILINE)
#: cache folders of other versions are removed when they have not been used for this many days
_KEEP_DAYS = 30


@functools.cache
def _shared() -> frozenset[Path]:
    return frozenset(file for pattern in _SHARED for file in _PACKAGE.glob(pattern))


@functools.cache
def _content(file: Path) -> bytes:
    """Of a source file, which several loops depend on."""
    return file.read_bytes()


def sources(path: Path) -> set[Path]:
    """The files that code compiled from the loops in ``path`` depends on."""
    found = set(_shared())
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            names = _IMPORT.findall(_content(file).decode())
            waiting += [_PACKAGE / (name.replace(".", "/") + ".py") for name in names]
    return found


@functools.cache
def source_hash(path: Path) -> str:
    """A hash of ``sources(path)``."""
    digest = hashlib.sha256()
    for file in sorted(sources(path)):
        digest.update(os.path.relpath(file, _PACKAGE).encode() + b"\0" + _content(file))
    return digest.hexdigest()[:16]


@functools.cache
def cache_root() -> Path:
    """The folder of all compiled loops, without the folders that have not been used for long; or an OSError."""
    base = os.environ.get("FENCHEL_CACHE_DIR")
    root = Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fenchel"
    root.mkdir(parents=True, exist_ok=True)
    for other in root.iterdir():
        mark = other / "used"
        if mark.exists() and time.time() - mark.stat().st_mtime > _KEEP_DAYS * 86400:
            shutil.rmtree(other, ignore_errors=True)
    return root


@functools.cache
def cache_folder(path: Path) -> str | None:
    """The folder for the compiled loops of a source file, or None (with a warning) if it can't be written."""
    try:
        folder = cache_root() / source_hash(path)
        folder.mkdir(exist_ok=True)
        (folder / "used").touch()
    except OSError as error:
        _warn_no_cache(error)
        return None
    return str(folder)


@functools.cache
def _warn_no_cache_once(reason: str) -> None:
    warnings.warn(
        f"compiled loops can't be kept on disk ({reason}), so each process compiles them again; "
        "set FENCHEL_CACHE_DIR to a folder that can be written",
        CacheWarning,
        stacklevel=2,
    )


def _warn_no_cache(error: Exception) -> None:
    _warn_no_cache_once(f"{type(error).__name__}: {error}")


class _Locator(_CacheLocator):
    """Tells numba where this package's compiled code lies."""

    def __init__(self, function: Callable[..., Any], folder: str) -> None:
        self._function, self._folder = function, folder

    @classmethod
    def from_function(cls, function: Callable[..., Any], source_file: str) -> _Locator | None:
        folder = cache_folder(source_file_of(function))
        return None if folder is None else cls(function, folder)

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return source_hash(source_file_of(self._function))

    def get_disambiguator(self) -> str:
        return str(self._function.__code__.co_firstlineno)


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 (numba wants a list)


class _CacheFile(IndexDataCacheFile):
    """numba's index and data files, with a name for each data file that no other process can choose.

    numba numbers the data files by what its index holds.  Two processes that compile at the same time would both take
    the same next number, and the index could send one signature to the machine code of another.  With names of their
    own the worst of such a race is an entry lost from the index, which is compiled again.
    """

    def _data_name(self, number: int) -> str:
        return self._index_name.removesuffix("nbi") + f"{uuid.uuid4().hex[:16]}.nbc"


class _Cache(FunctionCache):
    """numba's cache that survives a broken folder and says when compiling takes long."""

    _impl_class = _CacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _CacheFile(locator.get_cache_path(), self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            with no_collection():
                found = self._loaded(signature, context)
        except Exception as error:  # whatever a damaged cache throws, compiling still works
            _warn_no_cache(error)
            found = None
        if found is None:
            stopwatch.start()
        return found

    def _loaded(self, signature: Any, context: Any) -> Any:
        """The method of the base class without ``context.refresh()``.

        That fills the tables of types and functions, which takes longer than many fits: only the compiler reads them,
        and refreshes them itself.  Machine code needs the symbols of numba's runtime.
        """
        rtsys.initialize(context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, context)

    def save_overload(self, signature: Any, data: Any) -> None:
        stopwatch.stop()
        try:
            super().save_overload(signature, data)
        except Exception as error:  # a full disk or a lost folder must not lose the fit
            _warn_no_cache(error)


class _NoCache(NullCache):
    """No cache on disk, but long compiling is announced all the same."""

    def load_overload(self, signature: Any, context: Any) -> None:
        stopwatch.start()

    def save_overload(self, signature: Any, data: Any) -> None:
        stopwatch.stop()


def source_file_of(function: Callable[..., Any]) -> Path:
    """The file that a loop is defined in."""
    return Path(inspect.getfile(function)).resolve()


def cache_for(function: Callable[..., Any], *, on_disk: bool) -> _Cache | _NoCache:
    """The cache of a loop; in memory only if it is specialized for a user's class, or without a folder to write to."""
    return _Cache(function) if on_disk and cache_folder(source_file_of(function)) is not None else _NoCache()
