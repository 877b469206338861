"""Scripts of the project run in this process, as from the command line: no second start, nothing compiled twice."""

import contextlib
import io
import runpy
import sys
import warnings
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[1]


def run_script(path, *arguments):
    """What ``python path arguments`` prints, from the project root."""
    script = str(ROOT / path)
    return _printed(lambda: runpy.run_path(script, run_name="__main__"), [script, *arguments])


def run_module(name, *arguments):
    """What ``python -m name arguments`` prints, from the project root."""
    return _printed(lambda: runpy.run_module(name, run_name="__main__"), [name, *arguments])


def _printed(run, argv):
    printed = io.StringIO()
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.object(sys, "path", [str(ROOT), *sys.path]),
        contextlib.chdir(ROOT),
        contextlib.redirect_stdout(printed),
        warnings.catch_warnings(),
    ):
        # a warning does not end a script
        warnings.simplefilter("ignore")
        run()
    return printed.getvalue()


def refused(capsys, *arguments):
    """What ``fenchel`` says; it must be one line, and end with status 2 before anything is printed."""
    # the scripts above need no package
    from fenchel.cli.main import main

    try:
        status = main(list(arguments))
    except SystemExit as ended:
        status = ended.code
    said = capsys.readouterr()
    assert (status, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith("fenchel: ")
    return said.err
