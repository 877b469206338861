"""The one place where a duality gap is computed: from the data, a model and a dual point, in float64."""

from fenchel.certificate.certificate import Certificate
from fenchel.certificate.gap import Verdict, best_of, judge, judge_moved
from fenchel.certificate.optimum import OptimumBall, optimum_ball
from fenchel.certificate.other_lambdas import PathCertificate
from fenchel.certificate.predictions import CertifiedPredictions, certified_predictions
from fenchel.certificate.primal import scores_of
from fenchel.certificate.rigorous import enclosures, rigorous_certificate

__all__ = [
    "Certificate",
    "CertifiedPredictions",
    "OptimumBall",
    "PathCertificate",
    "Verdict",
    "best_of",
    "certified_predictions",
    "enclosures",
    "judge",
    "judge_moved",
    "optimum_ball",
    "rigorous_certificate",
    "scores_of",
]
