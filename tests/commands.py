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
