"""The name of a store that is written: where it is until it is whole, and what it may replace."""

from __future__ import annotations

import re
import shutil
import threading
import time
from pathlib import Path

from fenchel.errors import FenchelError
from fenchel.io.store import is_whole_store
from fenchel.replacing import unique_name

#: of the folder that a store is written in, and of the former store while it is replaced
_PART, _FORMER = ".part", ".former"
#: seconds without a write after which such a folder is one of a process that was killed
_ABANDONED = 24 * 3600.0
#: threads replace a store one after the other
_RENAMING = threading.Lock()


def working_folder(path: Path) -> Path:
    """The folder beside the store that its writer, and no other, writes to."""
    return path.with_name(unique_name(path.name, _PART))


def put_in_place(folder: Path, path: Path, force: bool) -> None:
    """Give a whole store its name."""
    # a folder can't replace another one in one step: the former store keeps its files until the new one is there
    former = folder.with_suffix(_FORMER)
    with _RENAMING:
        check_target(path, force)
        if path.exists():
            path.rename(former)
        try:
            folder.rename(path)
        except OSError:
            # unless another process has written the store in the meantime
            if former.exists() and not path.exists():
                former.rename(path)
            raise
        finally:
            if path.exists():
                shutil.rmtree(former, ignore_errors=True)


def check_target(path: Path, force: bool) -> None:
    """Raise unless a store may be written to this name."""
    if path.is_symlink() and not path.exists():
        raise FenchelError(f"{path}: is a broken link")
    if path.exists() and not is_whole_store(path):
        raise FenchelError(f"{path}: exists and is not an intact store, and only a store is replaced")
    if path.exists() and not force:
        raise FenchelError(f"{path} exists: choose another name, or force=True (--force) to replace it")
    if not path.absolute().parent.is_dir():
        raise FenchelError(f"{path}: there is no folder {path.parent}")


def remove_abandoned(path: Path) -> None:
    """Remove what writers of the same store left that were killed: a live one writes more often than once a day."""
    own = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}{re.escape(_PART)}")
    for folder in path.parent.iterdir():
        if own.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
            try:
                last = max(one.stat().st_mtime for one in (folder, *folder.iterdir()))
            except FileNotFoundError:
                # its writer is just ending
                continue
            if time.time() - last > _ABANDONED:
                shutil.rmtree(folder, ignore_errors=True)
