"""Risks: convex functions of all scores."""

from fenchel.risks.mean import MeanRisk
from fenchel.risks.multiclass import CrammerSinger, MulticlassRisk, WestonWatkins
from fenchel.risks.multinomial import Multinomial

#: the joint risks of several classes that users can name
MULTICLASS: dict[str, type[MulticlassRisk]] = {risk.name: risk for risk in (WestonWatkins, CrammerSinger, Multinomial)}

__all__ = ["MULTICLASS", "CrammerSinger", "MeanRisk", "MulticlassRisk", "Multinomial", "WestonWatkins"]
