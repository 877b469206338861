"""The one place where a duality gap is computed: from the data, a model and a dual point, in float64."""

from fenchel.certificate.along import Span
from fenchel.certificate.judging import Verdict, best_of, judge, judge_moved, scores_of
from fenchel.certificate.statement import Certificate

__all__ = ["Certificate", "Span", "Verdict", "best_of", "judge", "judge_moved", "scores_of"]
