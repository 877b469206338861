"""The errors and warnings that users of Fenchel can catch."""

from sklearn.exceptions import ConvergenceWarning


class FenchelError(ValueError):
    """Something the caller handed in can't be used; the message names it and says what to do."""


class GapWarning(ConvergenceWarning):
    """A fit stopped before the duality gap reached ``tol``; the message states the gap it proved."""


class CacheWarning(UserWarning):
    """Compiled loops can't be kept on disk, so each process compiles them anew."""
