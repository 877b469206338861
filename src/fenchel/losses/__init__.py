"""Losses f(s, y), convex functions of one score.  ``NAMED`` is the registry of names: one import adds a loss."""

from __future__ import annotations

from fenchel.errors import FenchelError
from fenchel.losses.base import Loss as Loss
from fenchel.losses.checking import check_loss as check_loss
from fenchel.losses.constraint import HardMargin as HardMargin
from fenchel.losses.constraint import Interpolation as Interpolation
from fenchel.losses.constraint import NegativeLog as NegativeLog
from fenchel.losses.custom import CustomLoss as CustomLoss
from fenchel.losses.epsilon_insensitive import EpsilonInsensitive as EpsilonInsensitive
from fenchel.losses.epsilon_insensitive import SquaredEpsilonInsensitive as SquaredEpsilonInsensitive
from fenchel.losses.exponential import Exponential as Exponential
from fenchel.losses.exponential import Poisson as Poisson
from fenchel.losses.logistic import Logistic as Logistic
from fenchel.losses.margin import Hinge as Hinge
from fenchel.losses.margin import HuberHinge as HuberHinge
from fenchel.losses.margin import SquaredHinge as SquaredHinge
from fenchel.losses.quantile import Absolute as Absolute
from fenchel.losses.quantile import Quantile as Quantile
from fenchel.losses.residual import Huber as Huber
from fenchel.losses.residual import Squared as Squared
from fenchel.registry import named, public
from fenchel.validation import described, did_you_mean

_IMPORTED = named(globals(), Loss)
#: losses that grow no faster than a power of the score
LOSSES: dict[str, type[Loss]] = {name: loss for name, loss in _IMPORTED.items() if not loss.overflows}
#: losses that are infinite for some scores
INFINITE: dict[str, type[Loss]] = {name: loss for name, loss in _IMPORTED.items() if loss.infinite}
#: losses that grow exponentially, and overflow at moderate scores
EXPONENTIAL = {name: loss for name, loss in _IMPORTED.items() if loss.overflows and not loss.infinite}
#: every loss that is imported above, by name
NAMED: dict[str, type[Loss]] = {**LOSSES, **EXPONENTIAL, **INFINITE}


def as_loss(loss: str | Loss, task: str | None = None) -> Loss:
    """Return the loss with a name, or the loss itself, checked against a task.

    Parameters
    ----------
    loss : str or Loss
        The name of a loss, or a loss.
    task : {"classification", "regression"}, default=None
        The task that the loss must have; None allows both.

    Returns
    -------
    Loss
        The loss.

    See Also
    --------
    fenchel.risks.MeanRisk : The weighted mean of a loss.

    Examples
    --------
    >>> from fenchel.losses import as_loss
    >>> as_loss("huber")
    Huber(width=1.35)
    """
    if isinstance(loss, str):
        if loss not in NAMED:
            raise FenchelError(
                f"loss={loss!r} is unknown{did_you_mean(loss, NAMED)}; choose one of {_names(task)} or pass a Loss"
            )
        loss = NAMED[loss]()
    if not isinstance(loss, Loss):
        raise FenchelError(f"loss must be a name ({_names(task)}) or a Loss object, got {described(loss)}")
    if task is not None and loss.task != task:
        raise FenchelError(f"loss={loss.name!r} is for {loss.task}, not {task}; choose one of {_names(task)}")
    return loss


def _names(task: str | None) -> str:
    return ", ".join(repr(name) for name, loss in NAMED.items() if task in (None, loss.task))


__all__ = public(globals())
