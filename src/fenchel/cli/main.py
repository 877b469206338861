"""The command ``fenchel``: linear models from the shell, each with a proof of how good it is."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from importlib import import_module

from fenchel.cli.options import parser
from fenchel.cli.output import INTERRUPTED, NOT_PROVED, PROVED, REFUSED, check_apart, say
from fenchel.cli.standard_input import readable_files
from fenchel.errors import FenchelError
from fenchel.frontends.main import COMMANDS as FRONT_ENDS
from fenchel.frontends.main import main as front_end
from fenchel.frontends.writing import open_closed_streams
from fenchel.loading import no_collection

__all__ = ["INTERRUPTED", "NOT_PROVED", "PROVED", "REFUSED", "main"]

#: the module of each command, whose function has the command's name
_MODULES = {
    **dict.fromkeys(("train", "cv"), "training"),
    **dict.fromkeys(("predict", "evaluate", "certify", "report"), "judging"),
    **dict.fromkeys(("path", "compare"), "tables"),
    **dict.fromkeys(("convert", "info"), "files"),
}
#: the exit status of a command whose reader went away, as of other programs that SIGPIPE ends
_BROKEN_PIPE = 141


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] in FRONT_ENDS:
        return front_end(given)
    if open_closed_streams():
        say("fenchel: the standard output is closed: lead it to a file, or to /dev/null")
        return REFUSED
    options = parser().parsed(arguments)
    names: dict[str, str] = {}
    try:
        with readable_files(options) as names:
            options.names = names
            check_apart(options)
            return _run(options)
    except BrokenPipeError:
        # whatever Python writes when it ends has nowhere to go
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except (FenchelError, ValueError, OSError, MemoryError) as error:
        message = " ".join((_of_system(error) or str(error) or type(error).__name__).split())
        for path, name in names.items():
            message = message.replace(path, name)
        say(f"fenchel: {message}")
        return REFUSED
    except KeyboardInterrupt:
        say("interrupted: nothing was written")
        return INTERRUPTED


def _of_system(error: Exception) -> str:
    """What the system refused, without the number of the error, and for which file."""
    if not isinstance(error, OSError) or error.strerror is None:
        return ""
    return f"{error.filename or 'the system refused to read or write'}: {error.strerror}"


def _run(options: Namespace) -> int:
    with no_collection():
        module = import_module(f"fenchel.cli.{_MODULES[options.command]}")
    status: int = vars(module)[options.command](options)
    # a reader that went away is found here, and not when Python ends
    sys.stdout.flush()
    return status
