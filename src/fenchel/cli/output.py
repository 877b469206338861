"""What the commands say, and where they write."""

from __future__ import annotations

import csv
import io
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fenchel.errors import FenchelError

if TYPE_CHECKING:
    from fenchel.io.model_file import ModelFile

#: exit statuses: the tolerance is proved; nothing was done; it is not proved, but the model is there; Ctrl-C
PROVED, REFUSED, NOT_PROVED, INTERRUPTED = 0, 2, 3, 130
#: standard input and output
DASH = Path("-")


def check_output(output: Path | None, force: bool, option: str = "output") -> None:
    """Raise unless the file can be written, before the work and not after it."""
    if output is None or output == DASH:
        return
    try:
        output.resolve()
    except (OSError, RuntimeError) as error:
        # Python 3.12 and older raise RuntimeError
        raise FenchelError(f"--{option}: {output} can't be followed to a file: {error}") from error
    if output.exists() and not output.is_file():
        raise FenchelError(f"--{option}: {output} is not a regular file, and only such a file is replaced")
    if output.exists() and not force:
        raise FenchelError(f"{output} exists: choose another --{option}, or --force to replace it")
    check_folder(output, option)


def check_folder(output: Path, option: str = "output") -> None:
    """Raise unless there is a folder for the file or store, and it can be written to."""
    folder = output.absolute().parent
    if not folder.is_dir():
        raise FenchelError(f"--{option}: there is no folder {output.parent}")
    # where a link leads is where its file is replaced
    if not os.access(output.resolve().parent, os.W_OK):
        raise FenchelError(f"--{option}: the folder {output.parent} can't be written to")


def check_apart(options: Namespace) -> None:
    """Raise if a file would be written over one that is read, which ``--force`` does not ask for."""
    given = {name: getattr(options, name, None) for name in ("model", "data", "test", "file", "output", "report")}
    files = {name: path for name, path in given.items() if path is not None and path.is_file()}
    for option in {"output", "report"} & set(files):
        target = files.pop(option)
        if any(target.samefile(one) for name, one in files.items() if name not in ("output", "report")):
            raise FenchelError(f"--{option}: {target} is read as well; name another file")


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
    """Print the lines, or write them to a file, which an interrupted write leaves as it was."""
    text = "\n".join(lines)
    if output is None or output == DASH:
        print(text)
        return
    from fenchel.replacing import replacing

    with replacing(output) as stream:
        stream.write((text + "\n").encode())


def save_model(model: ModelFile, output: Path) -> None:
    """Write a model file, or the model to standard output."""
    from fenchel.io import model_file

    if output == DASH:
        # an archive is written back and forth
        content = io.BytesIO()
        model_file.write(content, model)
        sys.stdout.buffer.write(content.getvalue())
        sys.stdout.buffer.flush()
    else:
        model_file.save(output, model)


def tell(message: object, output: Path | None) -> None:
    """Print a result; beside the standard output if that has the model."""
    print(message, file=sys.stderr if output == DASH else sys.stdout)


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table in columns, numbers to the right."""
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    right = [all(_is_figure(row[k]) for row in cells[1:]) for k in range(len(header))]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    ]


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table with commas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue().splitlines()


def _is_figure(text: str) -> bool:
    return not text or text[0] in "-+0123456789." or text in ("nan", "inf")


def say(message: str) -> None:
    """Print a message beside the output."""
    print(message, file=sys.stderr)
