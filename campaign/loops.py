"""Compiled loops, or the same loops in plain Python: for problems of eight rows compiling takes longer than running."""

from fenchel.compile.loop import Loop

_COMPILED = Loop.__call__


def _plain(self, *arguments):
    return self._function(*arguments)


def use_plain_loops():
    """Run the loops of solvers in plain Python."""
    Loop.__call__ = _plain


def use_compiled_loops():
    """Run them compiled, as users do."""
    Loop.__call__ = _COMPILED


def compiled_loops():
    """Whether they are compiled."""
    return Loop.__call__ is _COMPILED
