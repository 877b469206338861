"""``-`` and pipes among the files of a command: their content is kept in a temporary file, and read from there."""

from __future__ import annotations

import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from fenchel.cli.output import DASH
from fenchel.errors import FenchelError
from fenchel.io.files import ARCHIVE
from fenchel.io.kinds import name_of

#: arguments that are files to read
_READ = ("model", "data", "test", "file")
#: bytes from which it is concluded what a file is
_HEAD = 1 << 16
#: what standard input is called in messages
STANDARD_INPUT = "standard input"


@contextmanager
def readable_files(options: Namespace) -> Iterator[dict[str, str]]:
    """Replace ``-`` and pipes in the options by files; yields what messages call these."""
    names: dict[str, str] = {}
    given = {name: getattr(options, name, None) for name in _READ}
    asked = [name for name, path in given.items() if path == DASH]
    if len(asked) > 1:
        raise FenchelError(f"{' and '.join(asked)} can't both be read from standard input; name a file for one of them")
    with ExitStack() as stack:
        for name, path in given.items():
            if path is None:
                continue
            if path == DASH:
                if sys.stdin is None:
                    raise FenchelError("the standard input is closed: name a file, or redirect one to it")
                source: IO[bytes] = sys.stdin.buffer
                called = STANDARD_INPUT
            elif path.exists() and not path.is_file() and not path.is_dir():
                source, called = stack.enter_context(path.open("rb")), str(path)
            else:
                continue
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fenchel-")))
            kept = _kept(source, folder, name, getattr(options, "format", None), called)
            setattr(options, name, kept)
            names[str(kept)] = called
        yield names


def _kept(source: IO[bytes], folder: Path, name: str, asked: str | None, called: str) -> Path:
    head = source.read(_HEAD)
    if not head:
        raise FenchelError(f"{called}: is empty")
    is_model = name == "model" or (name == "file" and head.startswith(ARCHIVE))
    path = folder / ("input" + (".npz" if is_model else name_of(head, asked)))
    with path.open("xb") as target:
        target.write(head)
        shutil.copyfileobj(source, target)
    return path
