"""What ``multi_class`` may be."""

from __future__ import annotations

from typing import Any

from fenchel.errors import FenchelError
from fenchel.losses import Hinge, Logistic, Loss
from fenchel.risks import MULTICLASS, MulticlassRisk

#: forms that are several problems of two classes
SEVERAL = ("ovr", "ovo")


def joint_risk(multi_class: Any, loss: Loss) -> type[MulticlassRisk] | None:
    """The joint risk of more than two classes of that name; None for forms of several problems."""
    forms = (*SEVERAL, *MULTICLASS)
    if not isinstance(multi_class, str) or multi_class not in forms:
        raise FenchelError(f"multi_class must be one of {', '.join(map(repr, forms))}, got {multi_class!r}")
    risk = MULTICLASS.get(multi_class)
    if risk is not None and loss != (Logistic() if risk.smooth else Hinge()):
        needed = "is the softmax: use loss='logistic'" if risk.smooth else "is a risk of hinges: leave loss='hinge'"
        raise FenchelError(f"multi_class={multi_class!r} {needed}, or use multi_class='ovr'")
    return risk
