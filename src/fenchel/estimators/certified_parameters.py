"""Setting parameters: a certificate belongs to those of its fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Self

from fenchel.errors import FenchelError
from fenchel.estimators.sklearn_bases import BaseEstimator
from fenchel.losses import NAMED, Loss
from fenchel.validation import did_you_mean


class CertifiedParameters(BaseEstimator):
    """``set_params`` of estimators with a certificate."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters.  ``loss__quantile=0.5`` replaces the loss object by one with that parameter.

        A certificate belongs to the parameters of its fit: it is dropped, unless only ``verbose`` or ``n_jobs`` is set.
        """
        present, name = self.get_params(deep=False), type(self).__name__
        plain = {key: value for key, value in params.items() if "__" not in key}
        for key in plain.keys() - present:
            # raises before anything has changed
            raise _invalid(key, name, present)
        nested: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for key in params.keys() - plain:
            owner, _, part = key.partition("__")
            if owner not in present:
                raise _invalid(owner, name, present)
            nested[owner][part] = params[key]
        of_parts = {key: _changed(name, key, {**present, **plain}.get(key), own) for key, own in nested.items()}
        if set(params) - {"verbose", "n_jobs"}:
            for proof in ("certificate_", "certificates_", "converged_", "_optimum"):
                vars(self).pop(proof, None)
        return super().set_params(**{**plain, **of_parts})


def _invalid(key: str, estimator: str, known: Iterable[str]) -> FenchelError:
    """The error for a parameter that an estimator does not have, in scikit-learn's words, with a suggestion."""
    near = did_you_mean(key, known)
    return FenchelError(
        f"Invalid parameter {key!r} for estimator {estimator}{near}. Valid parameters are: {sorted(known)!r}."
    )


def _changed(estimator: str, name: str, value: Any, changed: dict[str, Any]) -> Any:
    """A loss like this one but for some parameters; losses themselves never change."""
    if name == "loss" and isinstance(value, str) and value in NAMED:
        value = NAMED[value]()
    if not isinstance(value, Loss):
        raise FenchelError(
            f"Invalid parameter {name}__{min(changed)} for {estimator}: {name}={value!r} has no parameters; "
            "give a Loss object, such as Quantile(0.9)"
        )
    known = value.get_params()
    for key in changed:
        if key not in known:
            raise FenchelError(f"Invalid parameter {key!r} for loss {value!r}. Valid parameters are: {sorted(known)!r}")
    return type(value)(**{**known, **changed})
