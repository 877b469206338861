"""Risks R(s), convex functions of all scores; ``MULTICLASS`` and ``MEASURES`` are the registries of names."""

from __future__ import annotations

from typing import Any

from fenchel.risks.base import Risk
from fenchel.risks.mean import MeanRisk
from fenchel.risks.measures.break_even import BreakEven
from fenchel.risks.measures.contingency import ContingencyRisk
from fenchel.risks.measures.custom import CustomMeasure
from fenchel.risks.measures.error_rate import ErrorRate
from fenchel.risks.measures.f_beta import F1, FBeta
from fenchel.risks.measures.micro import MicroRisk, micro
from fenchel.risks.measures.roc_auc import RocAUC
from fenchel.risks.measures.top_k import PrecisionAtK, RecallAtK
from fenchel.risks.multiclass.base import MulticlassRisk
from fenchel.risks.multiclass.hinges import CrammerSinger, WestonWatkins
from fenchel.risks.multiclass.multinomial import Multinomial
from fenchel.risks.multilabel import MultilabelHinge
from fenchel.risks.ordinal import OrdinalHinge

#: the joint risks of several classes that users can name
MULTICLASS: dict[str, type[MulticlassRisk]] = {risk.name: risk for risk in (WestonWatkins, CrammerSinger, Multinomial)}

#: the measures that users can name: called with labels, and beta or k where they have one
MEASURES: dict[str, Any] = {
    risk.name: risk for risk in (RocAUC, BreakEven, F1, FBeta, PrecisionAtK, RecallAtK, ErrorRate)
}

__all__ = [
    "F1",
    "MEASURES",
    "MULTICLASS",
    "BreakEven",
    "ContingencyRisk",
    "CrammerSinger",
    "CustomMeasure",
    "ErrorRate",
    "FBeta",
    "MeanRisk",
    "MicroRisk",
    "MulticlassRisk",
    "MultilabelHinge",
    "Multinomial",
    "OrdinalHinge",
    "PrecisionAtK",
    "RecallAtK",
    "Risk",
    "RocAUC",
    "WestonWatkins",
    "micro",
]
