"""Losses f(s, y), convex functions of one score.  ``NAMED`` is the registry of names."""

from __future__ import annotations

from fenchel.errors import FenchelError
from fenchel.losses.base import Loss
from fenchel.losses.constraint import HardMargin, Interpolation, NegativeLog
from fenchel.losses.custom import CustomLoss
from fenchel.losses.exponential import Exponential, Poisson
from fenchel.losses.logistic import Logistic
from fenchel.losses.margin import Hinge, HuberHinge, SquaredHinge
from fenchel.losses.residual import Absolute, EpsilonInsensitive, Huber, Quantile, Squared, SquaredEpsilonInsensitive
from fenchel.validation import did_you_mean

#: names of losses that grow no faster than a power of the score
LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        Hinge,
        SquaredHinge,
        HuberHinge,
        Logistic,
        Squared,
        Absolute,
        EpsilonInsensitive,
        SquaredEpsilonInsensitive,
        Huber,
        Quantile,
    )
}
#: names of losses that grow exponentially, and overflow at moderate scores
EXPONENTIAL: dict[str, type[Loss]] = {loss.name: loss for loss in (Poisson, Exponential)}
#: names of losses that are infinite for some scores
INFINITE: dict[str, type[Loss]] = {loss.name: loss for loss in (HardMargin, Interpolation, NegativeLog)}
#: the names of all losses
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
        raise FenchelError(f"loss must be a name ({_names(task)}) or a Loss object, got {type(loss).__name__}")
    if task is not None and loss.task != task:
        raise FenchelError(f"loss={loss.name!r} is for {loss.task}, not {task}; choose one of {_names(task)}")
    return loss


def _names(task: str | None) -> str:
    return ", ".join(repr(name) for name, loss in NAMED.items() if task in (None, loss.task))


__all__ = [
    "EXPONENTIAL",
    "INFINITE",
    "LOSSES",
    "NAMED",
    "Absolute",
    "CustomLoss",
    "EpsilonInsensitive",
    "Exponential",
    "HardMargin",
    "Hinge",
    "Huber",
    "HuberHinge",
    "Interpolation",
    "Logistic",
    "Loss",
    "NegativeLog",
    "Poisson",
    "Quantile",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "as_loss",
]
