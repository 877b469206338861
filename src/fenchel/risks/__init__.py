"""Risks: convex functions of all scores."""

from __future__ import annotations

from typing import Any

from fenchel.risks.break_even import BreakEven
from fenchel.risks.contingency import ContingencyRisk
from fenchel.risks.error_rate import ErrorRate
from fenchel.risks.fbeta import F1, FBeta
from fenchel.risks.joint import MulticlassRisk
from fenchel.risks.mean import MeanRisk
from fenchel.risks.micro import MicroRisk, micro
from fenchel.risks.multiclass import CrammerSinger, WestonWatkins
from fenchel.risks.multilabel import MultilabelHinge
from fenchel.risks.multinomial import Multinomial
from fenchel.risks.ordinal import OrdinalHinge
from fenchel.risks.own_measure import OwnMeasure
from fenchel.risks.roc_area import RocArea
from fenchel.risks.top_k import PrecisionAtK, RecallAtK

#: the joint risks of several classes that users can name
MULTICLASS: dict[str, type[MulticlassRisk]] = {risk.name: risk for risk in (WestonWatkins, CrammerSinger, Multinomial)}

#: the measures that users can name: called with labels, and beta or k where they have one
MEASURES: dict[str, Any] = {
    risk.name: risk for risk in (RocArea, BreakEven, F1, FBeta, PrecisionAtK, RecallAtK, ErrorRate)
}

__all__ = [
    "F1",
    "MEASURES",
    "MULTICLASS",
    "BreakEven",
    "ContingencyRisk",
    "CrammerSinger",
    "ErrorRate",
    "FBeta",
    "MeanRisk",
    "MicroRisk",
    "MulticlassRisk",
    "MultilabelHinge",
    "Multinomial",
    "OrdinalHinge",
    "OwnMeasure",
    "PrecisionAtK",
    "RecallAtK",
    "RocArea",
    "WestonWatkins",
    "micro",
]
