"""Risks R(s), convex functions of all scores; ``MULTICLASS`` and ``MEASURES`` are the registries of names.

Most of them are imported on first use: a new risk is one line in ``_HOMES``, and its import for type checkers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fenchel.loading import on_first_use as _on_first_use
from fenchel.registry import ImportedOnFirstUse as _ImportedOnFirstUse
from fenchel.risks.base import Risk as Risk
from fenchel.risks.mean import MeanRisk as MeanRisk

if TYPE_CHECKING:
    from fenchel.risks.chains.base import ChainRisk as ChainRisk
    from fenchel.risks.chains.hinge import ChainHinge as ChainHinge
    from fenchel.risks.chains.logistic import ChainLogistic as ChainLogistic
    from fenchel.risks.checking import check_risk as check_risk
    from fenchel.risks.measures.break_even import BreakEven as BreakEven
    from fenchel.risks.measures.contingency import ContingencyRisk as ContingencyRisk
    from fenchel.risks.measures.custom import CustomMeasure as CustomMeasure
    from fenchel.risks.measures.error_rate import ErrorRate as ErrorRate
    from fenchel.risks.measures.f_beta import F1 as F1
    from fenchel.risks.measures.f_beta import FBeta as FBeta
    from fenchel.risks.measures.micro import MicroRisk as MicroRisk
    from fenchel.risks.measures.micro import micro as micro
    from fenchel.risks.measures.quantification import AbsoluteError as AbsoluteError
    from fenchel.risks.measures.quantification import KullbackLeibler as KullbackLeibler
    from fenchel.risks.measures.quantification import NormalizedKullbackLeibler as NormalizedKullbackLeibler
    from fenchel.risks.measures.quantification import QMeasure as QMeasure
    from fenchel.risks.measures.quantification import RelativeAbsoluteError as RelativeAbsoluteError
    from fenchel.risks.measures.roc_auc import RocAUC as RocAUC
    from fenchel.risks.measures.top_k import PrecisionAtK as PrecisionAtK
    from fenchel.risks.measures.top_k import RecallAtK as RecallAtK
    from fenchel.risks.multiclass.base import MulticlassRisk as MulticlassRisk
    from fenchel.risks.multiclass.hinges import CrammerSinger as CrammerSinger
    from fenchel.risks.multiclass.hinges import WestonWatkins as WestonWatkins
    from fenchel.risks.multiclass.multinomial import Multinomial as Multinomial
    from fenchel.risks.multilabel import MultilabelHinge as MultilabelHinge
    from fenchel.risks.ordinal import OrdinalHinge as OrdinalHinge
    from fenchel.risks.ranking.ndcg import NDCG as NDCG
    from fenchel.risks.ranking.pairwise_hinge import PairwiseHinge as PairwiseHinge
    from fenchel.risks.ranking.smooth_pairs import PairwiseLogistic as PairwiseLogistic
    from fenchel.risks.ranking.smooth_pairs import PairwiseSquaredHinge as PairwiseSquaredHinge

#: public name: module in this folder
_HOMES = {
    "ChainRisk": "chains.base",
    "ChainHinge": "chains.hinge",
    "ChainLogistic": "chains.logistic",
    "check_risk": "checking",
    "BreakEven": "measures.break_even",
    "ContingencyRisk": "measures.contingency",
    "CustomMeasure": "measures.custom",
    "ErrorRate": "measures.error_rate",
    "F1": "measures.f_beta",
    "FBeta": "measures.f_beta",
    "MicroRisk": "measures.micro",
    "micro": "measures.micro",
    "AbsoluteError": "measures.quantification",
    "KullbackLeibler": "measures.quantification",
    "NormalizedKullbackLeibler": "measures.quantification",
    "QMeasure": "measures.quantification",
    "RelativeAbsoluteError": "measures.quantification",
    "RocAUC": "measures.roc_auc",
    "PrecisionAtK": "measures.top_k",
    "RecallAtK": "measures.top_k",
    "MulticlassRisk": "multiclass.base",
    "CrammerSinger": "multiclass.hinges",
    "WestonWatkins": "multiclass.hinges",
    "Multinomial": "multiclass.multinomial",
    "MultilabelHinge": "multilabel",
    "OrdinalHinge": "ordinal",
    "NDCG": "ranking.ndcg",
    "PairwiseHinge": "ranking.pairwise_hinge",
    "PairwiseLogistic": "ranking.smooth_pairs",
    "PairwiseSquaredHinge": "ranking.smooth_pairs",
}


def _registry(**classes: str) -> Any:
    return _ImportedOnFirstUse(__name__, {name: (_HOMES[cls], cls) for name, cls in classes.items()})


#: the joint risks of several classes that users can name
MULTICLASS: _ImportedOnFirstUse[type[MulticlassRisk]] = _registry(
    crammer_singer="CrammerSinger", weston_watkins="WestonWatkins", multinomial="Multinomial"
)

#: the measures that users can name: called with labels, and beta or k where they have one
MEASURES: _ImportedOnFirstUse[Any] = _registry(
    prbep="BreakEven",
    accuracy="ErrorRate",
    f1="F1",
    fbeta="FBeta",
    ae="AbsoluteError",
    kld="KullbackLeibler",
    nkld="NormalizedKullbackLeibler",
    q="QMeasure",
    rae="RelativeAbsoluteError",
    roc_auc="RocAUC",
    precision_at_k="PrecisionAtK",
    recall_at_k="RecallAtK",
)

#: the risks of rankings that users can name: called with labels, queries and weights
RANKINGS: _ImportedOnFirstUse[Any] = _registry(
    pairwise_hinge="PairwiseHinge",
    pairwise_squared_hinge="PairwiseSquaredHinge",
    pairwise_logistic="PairwiseLogistic",
    ndcg="NDCG",
)

__all__ = [
    "F1",
    "MEASURES",
    "MULTICLASS",
    "NDCG",
    "RANKINGS",
    "AbsoluteError",
    "BreakEven",
    "ChainHinge",
    "ChainLogistic",
    "ChainRisk",
    "ContingencyRisk",
    "CrammerSinger",
    "CustomMeasure",
    "ErrorRate",
    "FBeta",
    "KullbackLeibler",
    "MeanRisk",
    "MicroRisk",
    "MulticlassRisk",
    "MultilabelHinge",
    "Multinomial",
    "NormalizedKullbackLeibler",
    "OrdinalHinge",
    "PairwiseHinge",
    "PairwiseLogistic",
    "PairwiseSquaredHinge",
    "PrecisionAtK",
    "QMeasure",
    "RecallAtK",
    "RelativeAbsoluteError",
    "Risk",
    "RocAUC",
    "WestonWatkins",
    "check_risk",
    "micro",
]

if not TYPE_CHECKING:
    # hidden from type checkers, for which it would make every name valid
    __getattr__ = _on_first_use(globals(), {name: f"{__name__}.{module}" for name, module in _HOMES.items()})


def __dir__() -> list[str]:
    return sorted(__all__)
