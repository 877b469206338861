"""The one decorator behind which loops are compiled, and the rules of their cache on disk.

numba keeps compiled code beside a function's source and checks only that one file for changes.  Our loops are
specialised for losses and storages that live in other files, so that is not enough; and numba unpickles the whole
index of a function before it looks whether it is stale, so one renamed class would break every loss.  Hence:

- the cache folder is named by a hash of all sources of the package: any edit starts a new folder;
- a loop called with a loss from outside the package runs in an uncached twin, so that neither an edited nor a
  missing user module can ever meet a stored entry; there is one for each class, since numba's dispatchers take two
  classes of the same name (a module that was edited and reloaded) for one;
- a folder that can't be read or written means no cache, with one warning.

The folder is ``$FENCHEL_CACHE_DIR``, else ``fenchel`` under ``$XDG_CACHE_HOME`` (default ``~/.cache``).
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import shutil
import threading
import time
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, NullCache, _CacheLocator
from numba.core.errors import NumbaError
from numba.extending import register_jitable

from fenchel.errors import CacheWarning, FenchelError

_PACKAGE = Path(__file__).resolve().parent.parent
_log = logging.getLogger("fenchel")
#: cache folders of other versions are removed when they have not been used for so many days
_KEEP_DAYS = 30
#: tell the user what the machine is doing when compiling takes longer than this
_PATIENCE_SECONDS = 2.0


@functools.cache
def source_hash() -> str:
    """A hash of every source file of the package."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(_PACKAGE)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def cache_folder() -> str | None:
    """The folder for this version's compiled loops, or None (with a warning) if it can't be written."""
    base = os.environ.get("FENCHEL_CACHE_DIR")
    root = Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fenchel"
    folder = root / source_hash()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "used").touch()
        for other in root.iterdir():
            mark = other / "used"
            if mark.exists() and time.time() - mark.stat().st_mtime > _KEEP_DAYS * 86400:
                shutil.rmtree(other, ignore_errors=True)
    except OSError as error:
        _warn_no_cache(error)
        return None
    return str(folder)


@functools.cache
def _warn_no_cache_once(reason: str) -> None:
    warnings.warn(
        f"compiled loops can't be kept on disk ({reason}), so each process compiles them anew; "
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
        folder = cache_folder()
        return None if folder is None else cls(function, folder)

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> str:
        return source_hash()

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
            found = super().load_overload(signature, context)
        except Exception as error:  # whatever a damaged cache throws, compiling still works
            _warn_no_cache(error)
            found = None
        if found is None:
            _stopwatch.start()
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        _stopwatch.stop()
        try:
            super().save_overload(signature, data)
        except Exception as error:  # a full disk or a lost folder must not lose the fit
            _warn_no_cache(error)


class _NoCache(NullCache):
    """No cache on disk, but long compiling is announced all the same."""

    def load_overload(self, signature: Any, context: Any) -> None:
        _stopwatch.start()

    def save_overload(self, signature: Any, data: Any) -> None:
        _stopwatch.stop()


class _Stopwatch:
    """Adds up how long this process has compiled and says so once when that becomes long."""

    def __init__(self) -> None:
        self._spent, self._begin = 0.0, 0.0
        self._timer: threading.Timer | None = None

    def start(self) -> None:
        # numba compiles one function at a time, so one watch is enough
        self._begin = time.perf_counter()
        self._timer = threading.Timer(max(0.0, _PATIENCE_SECONDS - self._spent), _announce)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._spent += time.perf_counter() - self._begin


_stopwatch = _Stopwatch()


@functools.cache
def _announce() -> None:
    _log.warning(
        "fenchel: compiling loops for this kind of data; this happens once on a machine (once in a process for losses "
        "of your own, or if the cache folder can't be written)"
    )


class Kernel:
    """A compiled loop: cached on disk for what the package defines, compiled per process for what users define."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._inside: Callable[..., Any] | None = None
        #: by the users' classes among the arguments: numba itself takes classes of the same name for one
        self._outside: dict[tuple[type, ...], Callable[..., Any]] = {}
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        theirs = tuple(type(argument) for argument in arguments if not _is_ours(argument))
        if not theirs:
            if self._inside is None:
                with self._lock:
                    self._inside = self._inside or _compiled(self._function, cached=True)
            return _watched(self._inside, arguments)
        if theirs not in self._outside:
            with self._lock:
                if theirs not in self._outside:
                    self._outside[theirs] = _compiled(self._function, cached=False)
        try:
            return _watched(self._outside[theirs], arguments)
        except NumbaError as error:
            raise FenchelError(_culprit([one for one in arguments if not _is_ours(one)], error)) from error


def _watched(dispatcher: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        return dispatcher(*arguments)
    except Exception:
        _stopwatch.stop()  # compiling may have failed
        raise


def _culprit(theirs: list[Any], error: NumbaError) -> str:
    """Which method of a user's tuple can't be compiled, found by compiling each by itself."""
    for owner in theirs:
        cls = type(owner)
        methods = {
            name: one for name, one in vars(cls).items() if hasattr(one, "__code__") and not name.startswith("_")
        }
        if not {"slope", "dual_step"} & set(methods):
            return f"{cls.__name__} needs the method slope(self, label, score), which compiled loops call"
        for name, method in methods.items():
            numbers = (numba.float64,) * (method.__code__.co_argcount - 1)
            try:
                numba.njit(error_model="numpy")(method).compile((numba.typeof(owner), *numbers))
            except NumbaError as found:
                why = next((line for line in str(found).splitlines()[1:] if line.strip()), str(found))
                return (
                    f"the method {name} of {cls.__name__} can't be compiled: it may use floats, its own fields and the "
                    f"module math only, no NumPy or SciPy functions of arrays ({why.strip()})"
                )
    return f"a loop can't be compiled for {', '.join(type(owner).__name__ for owner in theirs)}: {error}"


def _compiled(function: Callable[..., Any], *, cached: bool) -> Callable[..., Any]:
    # nogil lets threads run loops side by side
    dispatcher = numba.njit(nogil=True, error_model="numpy")(function)
    if not numba.config.DISABLE_JIT:
        dispatcher._cache = _Cache(function) if cached and cache_folder() is not None else _NoCache()
    return dispatcher


def _is_ours(argument: Any) -> bool:
    return not isinstance(argument, tuple) or type(argument).__module__.partition(".")[0] == "fenchel"


def kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a module-level function over arrays on its first call."""
    return Kernel(function)


#: for a function that kernels call: compiled as a part of them, plain Python otherwise
helper = register_jitable
#: the same, with sums that may be reordered, so that they vectorize; nothing else is relaxed
summing_helper = register_jitable(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")
