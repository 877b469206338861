"""Transcripts in pages: blocks of commands with what they print, run in one folder a page.

``python tests/transcripts.py docs/cli/*.md`` writes what the commands print now into the pages.
"""

import contextlib
import io
import math
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[+-]?\d+)?%?")
#: what is proved depends on the last digits of a fit, and the passes too
_VARIES = re.compile(r"\d+(\.\d+)? passes|within \S+ \([^)]*\)|\b\d\.\de-\d\d\b")
#: relative difference of other numbers
_CLOSE = 2e-3


def commands(block):
    """The commands of a block, each with its lines of input, and what is printed after it."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif line.startswith("> ") or line == ">":
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    return [("\n".join(lines), "\n".join(printed)) for lines, printed in found]


def run(command, main):
    """What a command prints on both streams; ``fenchel`` and ``python -c`` run in this process."""
    if "\n" in command:
        # a file that the page writes
        subprocess.run(["bash", "-c", command], check=True)
        return ""
    command, _, target = command.partition(" > ")
    given = b""
    *before, last = command.split(" | ")
    for one in before:
        given = _printed(one, given, main)[0]
    out, err = _printed(last, given, main)
    if target:
        Path(target).write_bytes(out)
        out = b""
    # a notice that only the first fit of a kind on a machine has
    lines = (out + err).decode().splitlines(keepends=True)
    return "".join(line for line in lines if "compiling loops" not in line)


def _printed(command, given, main):
    arguments = shlex.split(command)
    if arguments[0] == "python":
        exec(arguments[2], {})
        return b"", b""
    if arguments[0] != "fenchel":
        done = subprocess.run(["bash", "-c", command], input=given, capture_output=True, check=True)
        return done.stdout, done.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(given))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), mock.patch.object(sys, "stdin", given):
        try:
            status = main(arguments[1:])
        except SystemExit as ended:
            status = ended.code
        if status:
            print(f"[status {status}]")
    return out.buffer.getvalue(), err.buffer.getvalue()


def differs(expected, found, *, seconds=False):
    """Whether two transcripts differ in more than seconds, gaps, and the last digits of numbers."""
    one, two = (
        _VARIES.sub("*", "\n".join(line.rstrip() for line in text.strip().splitlines())) for text in (expected, found)
    )
    if seconds:
        one, two = (re.sub(r"\b\d+\.\d{3}\b", "0.000", text) for text in (one, two))
    words = [re.sub(r" +", " ", _NUMBER.sub("#", text)) for text in (one, two)]
    numbers = [[float(number.replace(",", "").rstrip("%")) for number in _NUMBER.findall(text)] for text in (one, two)]
    return words[0] != words[1] or not all(
        math.isclose(a, b, rel_tol=_CLOSE, abs_tol=1e-9) for a, b in zip(*numbers, strict=True)
    )


def rewritten(page, main):
    """The page with what its commands print now; the present folder gets their files."""

    def block(match):
        lines = []
        for command, _ in commands(match[1]):
            first, *more = command.split("\n")
            printed = run(command, main).strip("\n")
            lines += [f"$ {first}", *(f"> {line}".rstrip() for line in more), *([printed] if printed else [])]
        return "```console\n" + "\n".join(lines) + "\n```"

    return _BLOCK.sub(block, page)


def transcript(page):
    """All commands of a page, with what they print."""
    return [one for block in _BLOCK.findall(page) for one in commands(block)]


if __name__ == "__main__":
    from fenchel.cli.main import main

    for name in sys.argv[1:]:
        path = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = rewritten(path.read_text(encoding="utf-8"), main)
        path.write_text(text, encoding="utf-8")
