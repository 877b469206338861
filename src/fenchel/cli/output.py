"""What the commands say, and where they write."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from fenchel.errors import FenchelError

#: exit statuses: the tolerance is proved; it is not, but the model is there; nothing was done; Ctrl-C
PROVED, NOT_PROVED, REFUSED, INTERRUPTED = 0, 1, 2, 130


def check_output(output: Path, force: bool) -> None:
    """Raise unless the file can be written, before the work and not after it."""
    try:
        output.resolve()
    except (OSError, RuntimeError) as error:
        # Python 3.12 and older raise RuntimeError
        raise FenchelError(f"--output: {output} can't be followed to a file: {error}") from error
    if output.exists() and not output.is_file():
        raise FenchelError(f"--output: {output} is no regular file, and only such a file is replaced")
    if output.exists() and not force:
        raise FenchelError(f"{output} exists: choose another --output, or --force to replace it")
    if not output.absolute().parent.is_dir():
        raise FenchelError(f"--output: there is no folder {output.parent}")


def check_checkpoint(path: Path | None, *, resume: bool) -> None:
    """Raise for a checkpoint that would be used without being asked for."""
    if path is None:
        if resume:
            raise FenchelError("--resume goes on from a file: name it with --checkpoint FILE")
        return
    # several problems have a file each, with a number
    found = [file for file in (path, path.with_name(f"{path.stem}.0{path.suffix}")) if file.exists()]
    if found and not resume:
        raise FenchelError(f"--checkpoint: {found[0]} exists; add --resume to go on from it, or remove it")


def write(lines: Iterable[str], output: Path | None) -> None:
    """Print the lines, or write them to a file."""
    text = "\n".join(lines)
    if output is None:
        print(text)
    else:
        output.write_text(text + "\n", encoding="utf-8")


def say(message: str) -> None:
    """Print a message beside the output."""
    print(message, file=sys.stderr)
