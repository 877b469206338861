"""The one place where a duality gap is computed: from the data, a model and a dual point, in float64."""

from fenchel.certificate.by_groups import rows_in_groups
from fenchel.certificate.certificate import Certificate
from fenchel.certificate.confinement import optimum_ball
from fenchel.certificate.gap import Verdict, best_of, gathered, judge, judge_moved
from fenchel.certificate.held_witness import HeldWitness
from fenchel.certificate.moments import (
    Moments,
    ResidualWitness,
    forget_changed_moments,
    gram_of,
    moments_of,
)
from fenchel.certificate.optimum import OptimumBall
from fenchel.certificate.optimum_of_fit import OptimumOfFit
from fenchel.certificate.optimum_sketch import OptimumSketch
from fenchel.certificate.other_lambdas import PathCertificate
from fenchel.certificate.outputs import judge_all, judge_outputs
from fenchel.certificate.predictions import CertifiedPredictions, certified_predictions
from fenchel.certificate.primal import scores_of
from fenchel.certificate.proved_share import ProvedShare, ProvedShareWatch
from fenchel.certificate.rigorous import enclosures, rigorous_certificate
from fenchel.certificate.screening import Screened, screened

__all__ = [
    "Certificate",
    "CertifiedPredictions",
    "HeldWitness",
    "Moments",
    "OptimumBall",
    "OptimumOfFit",
    "OptimumSketch",
    "PathCertificate",
    "ProvedShare",
    "ProvedShareWatch",
    "ResidualWitness",
    "Screened",
    "Verdict",
    "best_of",
    "certified_predictions",
    "enclosures",
    "forget_changed_moments",
    "gathered",
    "gram_of",
    "judge",
    "judge_all",
    "judge_moved",
    "judge_outputs",
    "moments_of",
    "optimum_ball",
    "rigorous_certificate",
    "rows_in_groups",
    "scores_of",
    "screened",
]

for _stored in (OptimumBall, OptimumOfFit, OptimumSketch):
    # pickles of models name the package, not the file that a class is in today
    _stored.__module__ = __name__
