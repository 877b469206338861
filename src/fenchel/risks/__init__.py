"""Risks R(s), convex functions of all scores; ``MULTICLASS`` and ``MEASURES`` are the registries of names."""

from __future__ import annotations

from typing import Any

from fenchel.registry import named, public
from fenchel.risks.base import Risk as Risk
from fenchel.risks.chains.base import ChainRisk as ChainRisk
from fenchel.risks.chains.hinge import ChainHinge as ChainHinge
from fenchel.risks.chains.logistic import ChainLogistic as ChainLogistic
from fenchel.risks.checking import check_risk as check_risk
from fenchel.risks.mean import MeanRisk as MeanRisk
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

#: the joint risks of several classes that users can name
MULTICLASS: dict[str, type[MulticlassRisk]] = named(globals(), MulticlassRisk)

#: the measures that users can name: called with labels, and beta or k where they have one
MEASURES: dict[str, Any] = {name: risk for name, risk in named(globals(), Risk).items() if risk.is_measure}

#: the risks of rankings that users can name: called with labels, queries and weights
RANKINGS: dict[str, Any] = {kind.name: kind for kind in (PairwiseHinge, PairwiseSquaredHinge, PairwiseLogistic, NDCG)}

__all__ = public(globals())
