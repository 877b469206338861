"""``fenchel install-frontends DIR``: executables with the original names, for software that calls them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from fenchel.frontends.refusal import Refusal
from fenchel.replacing import replacing

#: the executables, and what each one calls
EXECUTABLES = {
    "train": ("liblinear", "train"),
    "predict": ("liblinear", "predict"),
    "svm_perf_learn": ("svmperf", "learn"),
    "svm_perf_classify": ("svmperf", "classify"),
}
#: the second line of each of them, by which they are known
_MARK = "# written by `fenchel install-frontends`"
_CALL = "import sys; from fenchel.frontends.main import main; sys.exit(main(sys.argv[1:]))"
_USAGE = """\
usage: fenchel install-frontends [--force] DIR

Writes the executables train, predict, svm_perf_learn and svm_perf_classify to the folder DIR. They call this
interpreter. Files of these names that Fenchel has not written are kept, unless --force is given.
"""
#: the exit status for bad arguments, and for files that are in the way
_REFUSED = 2


def install(arguments: Sequence[str]) -> int:
    """Run ``install-frontends``; the exit status."""
    force = "--force" in arguments
    rest = [one for one in arguments if one != "--force"]
    if any(one in ("-h", "--help") for one in rest):
        raise Refusal(0, output=_USAGE)
    if len(rest) != 1 or rest[0].startswith("-"):
        raise Refusal(_REFUSED, f"fenchel: install-frontends takes one folder, got {' '.join(rest) or 'none'}", _USAGE)
    if os.name != "posix":
        raise Refusal(_REFUSED, "fenchel: install-frontends writes scripts of sh, which this system does not run")
    folder = Path(rest[0])
    if folder.exists() and not folder.is_dir():
        raise Refusal(_REFUSED, f"fenchel: {folder} is not a folder")
    targets = [folder / name for name in EXECUTABLES]
    kept = [target for target in targets if _is_foreign(target, force)]
    if kept:
        names = ", ".join(map(str, kept))
        raise Refusal(_REFUSED, f"fenchel: {names} exist and are not Fenchel's: choose another folder, or --force")
    folder.mkdir(parents=True, exist_ok=True)
    for target, program in zip(targets, EXECUTABLES.values(), strict=True):
        with replacing(target) as stream:
            stream.write(script(program).encode())
            os.fchmod(stream.fileno(), 0o755)
        print(f"written: {target}")
    if str(folder.resolve()) in map(os.path.realpath, os.environ.get("PATH", "").split(os.pathsep)):
        print(f"note: {folder} is in PATH, where train and predict are common names", file=sys.stderr)
    return 0


def script(program: Sequence[str]) -> str:
    """The text of an executable; -P keeps the modules of the present folder out, and -c starts faster than -m."""
    call = shlex.join([sys.executable, "-P", "-c", _CALL, *program])
    return f'#!/bin/sh\n{_MARK}\nexec {call} "$@"\n'


def _is_foreign(target: Path, force: bool) -> bool:
    """Whether a target must be kept: another program's file, or anything but a regular file."""
    if not target.exists() and not target.is_symlink():
        return False
    if not target.is_file() or target.is_symlink():
        return True
    with target.open("rb") as stream:
        return not force and _MARK.encode() not in stream.read(200)
