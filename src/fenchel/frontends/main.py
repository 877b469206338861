"""The commands ``liblinear``, ``svmperf`` and ``install-frontends``: each imports what it needs, when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from fenchel.frontends.refusal import Refusal
from fenchel.frontends.writing import open_closed_streams
from fenchel.loading import no_collection

#: commands of ``fenchel`` whose arguments are passed on as they are, with a line of help each
COMMANDS = {
    "liblinear": "train or predict with the options, files and output of LIBLINEAR's programs",
    "svmperf": "learn or classify with the options, files and output of SVM-perf's programs",
    "install-frontends": "write executables with the names of those programs to a folder",
}
#: the programs of a command
PROGRAMS = {"liblinear": ("train", "predict"), "svmperf": ("learn", "classify")}
#: exit statuses: a call that names no program, a failure of the system, and Ctrl-C
_NO_PROGRAM, _FAILED, _INTERRUPTED = 2, 1, 130


def main(arguments: Sequence[str]) -> int:
    """Run a front end.

    Parameters
    ----------
    arguments : sequence of str
        The command, its program if it has some, and the arguments of the program.

    Returns
    -------
    int
        The exit status.
    """
    open_closed_streams()
    try:
        status = _program(arguments)()
        sys.stdout.flush()
    except Refusal as refusal:
        print(refusal.output, end="", flush=True)
        if refusal.error:
            print(refusal.error, file=sys.stderr)
        return refusal.status
    except BrokenPipeError:
        # the reader of the output has ended: flushing the buffer at exit must not raise again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except (ValueError, OSError, MemoryError) as error:
        print(f"ERROR: {str(error) or type(error).__name__}", file=sys.stderr)
        return _FAILED
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return _INTERRUPTED
    return status


def _program(arguments: Sequence[str]) -> Callable[[], int]:
    """The program that the first arguments name, with the others."""
    command, rest = (arguments[0] if arguments else ""), list(arguments[1:])
    if command == "install-frontends":
        from fenchel.frontends.install import install

        return lambda: install(rest)
    if command not in PROGRAMS:
        raise Refusal(_NO_PROGRAM, f"fenchel: choose one of {', '.join(COMMANDS)}; got {command!r}")
    name = rest.pop(0) if rest else ""
    programs = PROGRAMS[command]
    if name in ("-h", "--help"):
        raise Refusal(0, output=_usage(command))
    if name not in programs:
        raise Refusal(
            _NO_PROGRAM, f"fenchel {command}: choose {' or '.join(programs)} as the first argument; got {name!r}"
        )
    return {"train": _train, "predict": _predict, "learn": _learn, "classify": _classify}[name](rest)


def _train(arguments: Sequence[str]) -> Callable[[], int]:
    from fenchel.frontends.liblinear.options import train_options

    # wrong options are found before anything is imported that takes its time
    options = train_options(arguments)
    from fenchel.frontends.starting import load_scipy

    load_scipy()
    with no_collection():
        from fenchel.frontends.liblinear.training import train

    return lambda: train(options)


def _predict(arguments: Sequence[str]) -> Callable[[], int]:
    from fenchel.frontends.liblinear.options import predict_options
    from fenchel.frontends.liblinear.predicting import predict

    options = predict_options(arguments)
    return lambda: predict(options)


def _learn(arguments: Sequence[str]) -> Callable[[], int]:
    from fenchel.frontends.svmperf.options import learn_options

    options = learn_options(arguments)
    from fenchel.frontends.starting import load_scipy

    load_scipy()
    with no_collection():
        from fenchel.frontends.svmperf.learning import learn

    return lambda: learn(options)


def _classify(arguments: Sequence[str]) -> Callable[[], int]:
    from fenchel.frontends.svmperf.classifying import classify
    from fenchel.frontends.svmperf.options import classify_options

    options = classify_options(arguments)
    return lambda: classify(options)


def _usage(command: str) -> str:
    lines = [f"  fenchel {command} {program} ...   (without arguments: its options)" for program in PROGRAMS[command]]
    return "\n".join(("usage:", *lines, "See docs/front-ends.md.", ""))
