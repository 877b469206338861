"""Seeded faults: each must be caught by the campaign of problems, kernels or fits within 10,000 cases.

A fault replaces one function of the library in this process: a lost factor, a dropped error term, a flipped rounding, a
wrong sign.  It counts as caught when a case has a wrong certificate, not merely an exception.
"""

import math
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from unittest import mock

import numpy as np

from campaign.cases import clear_data
from campaign.loops import use_plain_loops
from campaign.problems import RUNNERS
from fenchel.certificate.rounding import Spread
from fenchel.numerics.rounding import UNIT

#: cases within which a fault must be caught
MOST_CASES = 10_000


@dataclass(frozen=True)
class Fault:
    """A function of the library, ``module:name`` or ``module:Class.name``, and what replaces it."""

    name: str
    place: str
    #: from the original function to the faulty one
    make: object
    is_property: bool = False
    #: the part of the campaign that catches it
    part: str = "problems"

    def patch(self):
        """A context manager in which the fault is in the library."""
        module, _, path = self.place.partition(":")
        owner = import_module(module)
        *outer, name = path.split(".")
        for part in outer:
            owner = getattr(owner, part)
        original = vars(owner)[name]
        if self.is_property:
            return mock.patch.object(owner, name, property(self.make(original)))
        return mock.patch.object(owner, name, self.make(original))


def times(factor):
    """The result with a lost or added factor."""
    return lambda original: lambda *args, **kwargs: factor * original(*args, **kwargs)


def always(value):
    """A term that is dropped."""
    return lambda original: lambda *args, **kwargs: value


def _lost_intercept(original):
    def scores_of(problem, weights):
        scores = original(problem, weights)
        return scores if not problem.intercept else scores + 1e-9

    return scores_of


def _unprojected(original):
    return lambda self, theta: np.array(theta, dtype=np.float64)


def _outwards(original):
    """The domain of a mean, a few roundings outwards instead of inwards."""

    def project(self, theta):
        low, high = self.loss.domain(self.labels)
        ends = [np.where(self._shares > 0, -end, 0.0) * self._shares * (1.0 + 16 * UNIT) for end in (high, low)]
        return np.clip(np.asarray(theta, dtype=np.float64), *ends)

    return project


def _unbalanced(original):
    return lambda self, theta, **_: (theta, np.zeros(1 if theta.ndim == 1 else theta.shape[1]))


def _largest_scale(factor, keep_error):
    def make(original):
        def largest_scale(self, v, error=0.0):
            largest = float(np.max(np.abs(v), initial=0.0)) + (error if keep_error else 0.0)
            return factor / largest if largest > 0.0 else math.inf

        return largest_scale

    return make


def _in_float32(original):
    def scores(self, weights):
        found = original(self, weights)
        return found if self._values.dtype != np.float32 else found.astype(np.float32).astype(np.float64)

    return scores


def _unweighted(original):
    return lambda self: np.full(self.examples, 1.0 / self.examples)


def _no_last_term(original):
    return lambda values: original(np.ravel(values)[:-1]) if np.size(values) > 6 else original(values)


def _with_digits(count):
    """The result rounded to ``count`` significant digits."""
    return lambda original: lambda *args, **kwargs: float(f"{original(*args, **kwargs):.{count}g}")


def _without_errors(original):
    """Second moments as if they were exact."""

    def moments(*given):
        found = original(*given)
        return None if found is None else found._replace(relative_error=0.0)

    return moments


def _flipped(original):
    return lambda self: self.primal - self.primal_error


def _flipped_lower(original):
    return lambda self: self.dual + self.dual_error


def _without_classes(original):
    return lambda class_weight, y, labels: np.ones(len(y)) if labels.weights is None else labels.weights


def _first_alone(original):
    return lambda self, other: self


def _narrow(original):
    """Intervals of scores a thousandth as wide."""

    def score_intervals(self, design, distances=None):
        lower, upper = original(self, design, distances)
        middle, half = 0.5 * (lower + upper), 5e-4 * (upper - lower)
        return middle - half, middle + half

    return score_intervals


def _doubled_flow(original):
    """The flows of each bit as they are given, twice as large."""
    return lambda self, x: 2.0 * np.maximum(x, 0.0)


def _twice_as_far(original):
    """Mixtures of labellings with twice the bound."""

    def mixture_form(risk, stored):
        form = original(risk, stored)
        form._conjugate *= 2.0
        return form

    return mixture_form


def _as_given(original):
    return lambda self, values: np.asarray(values)


def _not_moved(original):
    return lambda self, lam: original(self, self.problem.lam)


CERTIFICATE, RISKS, LOSSES, REGULARIZERS, ESTIMATORS = (
    f"fenchel.{room}" for room in ("certificate", "risks", "losses", "regularizers", "estimators")
)
RANKING, CHAINS = f"{RISKS}.ranking", f"{RISKS}.chains"
FAULTS = (
    # lost factors
    Fault("ridge halved", f"{REGULARIZERS}.l2:L2.value", times(0.5)),
    Fault("conjugate of ridge halved", f"{REGULARIZERS}.l2:L2.conjugate", times(0.5)),
    Fault("conjugate of the elastic net halved", f"{REGULARIZERS}.elastic_net:ElasticNet.conjugate", times(0.5)),
    Fault("q-norm off by 1e-12", f"{REGULARIZERS}.q_norm:QNorm.value", times(1.0 - 1e-12)),
    Fault("q-norms off by 1e-11", f"{REGULARIZERS}.q_norm:_norms", times(1.0 - 1e-11)),
    Fault("entropy off by 1e-12", f"{REGULARIZERS}.entropy:Entropy.value", times(1.0 - 1e-12)),
    Fault("losses of residuals off by 1e-13", f"{LOSSES}.residual:ResidualLoss.value", times(1.0 - 1e-13)),
    Fault("objective with 14 digits", f"{RISKS}.mean:MeanRisk.value", _with_digits(14)),
    Fault(
        "X^T theta not divided by lam", f"{CERTIFICATE}.dual:v_of", lambda _: lambda p, theta: p.design.adjoint(theta)
    ),
    Fault("weights ignored", f"{RISKS}.base:Risk.shares", _unweighted, is_property=True),
    # wrong signs and domains
    Fault("conjugate of the logistic loss twice", f"{LOSSES}.logistic:Logistic.conjugate", times(2.0)),
    Fault("conjugate of margins twice", f"{LOSSES}.margin:MarginLoss.conjugate", times(2.0)),
    Fault("conjugate of the exponential loss twice", f"{LOSSES}.exponential:Exponential.conjugate", times(2.0)),
    Fault("conjugate of the Poisson loss dropped", f"{LOSSES}.exponential:Poisson.conjugate", times(0.0)),
    Fault("theta outside the domain", f"{RISKS}.mean:MeanRisk.project", _unprojected),
    Fault("theta of classes outside the domain", f"{RISKS}.multiclass.base:MulticlassRisk._into", times(1.001)),
    Fault("sum of theta not balanced", f"{RISKS}.mean:MeanRisk.balance", _unbalanced),
    # dropped error terms
    Fault("rounding of the scores dropped", f"{CERTIFICATE}.rounding:risk_error", always(0.0)),
    Fault("rounding of X^T theta dropped", f"{CERTIFICATE}.rounding:adjoint_spread", always(Spread())),
    Fault("rounding of the conjugate dropped", f"{CERTIFICATE}.rounding:_dual_errors", always((0.0, 0.0))),
    Fault("rounding of second moments dropped", f"{CERTIFICATE}.moments:_moments", _without_errors),
    Fault("error of v dropped for the lasso", f"{REGULARIZERS}.l1:L1.largest_scale", _largest_scale(1.0, False)),
    Fault("unit roundings divided by 1,000", f"{CERTIFICATE}.rounding:gamma", times(1e-3)),
    Fault("scores shifted by 1e-9 with an intercept", f"{CERTIFICATE}.primal:scores_of", _lost_intercept),
    Fault("scores of float32 in float32", "fenchel.designs.dense:DenseDesign.scores", _in_float32),
    Fault("last term of a sum dropped", f"{RISKS}.mean:tree_sum", _no_last_term),
    # flipped roundings
    Fault("upper bound rounded down", f"{CERTIFICATE}.certificate:Certificate.upper", _flipped, is_property=True),
    Fault("lower bound rounded up", f"{CERTIFICATE}.certificate:Certificate.lower", _flipped_lower, is_property=True),
    Fault("domain of a mean rounded outwards", f"{RISKS}.mean:MeanRisk.project", _outwards),
    Fault(
        "domain of classes rounded outwards",
        f"{RISKS}.multiclass.base:inwards",
        lambda _: lambda c, n: c * (1 + 16 * UNIT),
    ),
    Fault("certificate of another lam not moved", f"{CERTIFICATE}.other_lambdas:PathCertificate.moved", _not_moved),
    # rankings, several labels and chains
    Fault("squared hinges of pairs halved", f"{RANKING}.smooth_pairs:PairwiseSquaredHinge.loss", times(0.5)),
    Fault(
        "flows of logistic pairs a thousandth too small", f"{RANKING}.smooth_pairs:PairwiseLogistic.flow", times(0.999)
    ),
    Fault("flows of hinges of pairs not made feasible", "fenchel.projections.flows:Sides.net_flows", _doubled_flow),
    Fault("theta outside the permutahedra", f"{RANKING}.ndcg:NDCG.project", _unprojected),
    Fault("objective of an NDCG with 11 digits", f"{RANKING}.ndcg:NDCG.value", _with_digits(11)),
    Fault("scores of features of pairs off by 1e-9", f"{CHAINS}.edges:EdgeFeatures.of_labels", times(1.0 + 1e-9)),
    Fault("counts of tokens lost", "fenchel.kernels.chain_gram:ChainGram._multiplied", _as_given, part="kernels"),
    Fault("weights of labellings add up to 1.1", f"{CHAINS}.labellings:normalized", times(1.1)),
    Fault("worst labelling off by 1e-9", f"{CHAINS}.hinge:ChainHinge._value", times(1.0 - 1e-9)),
    Fault("log Z off by 1e-9", f"{CHAINS}.logistic:log_partitions", times(1.0 - 1e-9)),
    Fault("distances of labellings twice", f"{CHAINS}.hinge:mixture_form", _twice_as_far),
    Fault("masses of labels outside the domain", f"{RISKS}.multilabel:MultilabelHinge.project", _unprojected),
    Fault("objective of several labels with 12 digits", f"{RISKS}.multilabel:MultilabelHinge.value", _with_digits(12)),
    # kernels and estimators
    Fault("norm of a Gram matrix halved", "fenchel.kernels.gram_norm:GramNorm.value", times(0.5), part="kernels"),
    Fault(
        "rounding of a Gram norm dropped", "fenchel.kernels.gram_norm:GramNorm.value_error", always(0.0), part="kernels"
    ),
    Fault("C twice as large", f"{ESTIMATORS}.base:lam_of", times(0.5), part="estimators"),
    Fault("C of a ranking twice as large", f"{ESTIMATORS}.ranker:lam_of", times(0.5), part="estimators"),
    Fault("C of chains twice as large", f"{ESTIMATORS}.sequences:lam_of", times(0.5), part="estimators"),
    Fault("class weights ignored", f"{ESTIMATORS}.labels:_class_weights", _without_classes, part="estimators"),
    Fault("always converged", f"{ESTIMATORS}.stored_fit:StoredFit._has_converged", always(True), part="estimators"),
    Fault("intervals too narrow", f"{CERTIFICATE}.optimum:OptimumBall.score_intervals", _narrow, part="estimators"),
    Fault("certificates not summed", f"{CERTIFICATE}.certificate:Certificate.__add__", _first_alone, part="estimators"),
)


def caught_after(fault, seed, most=MOST_CASES, deadline=math.inf):
    """The number of cases until the fault is caught; None if it is not."""
    with fault.patch():
        # cached numbers of a risk belong to the fault
        clear_data()
        for index in range(most):
            if time.monotonic() > deadline:
                break
            if RUNNERS[fault.part](seed, index).wrong:
                clear_data()
                return index + 1
    clear_data()
    return None


def run(seed, budget):
    """Every fault, until the budget is spent."""
    use_plain_loops()
    deadline = time.monotonic() + budget
    found = {}
    for fault in FAULTS:
        if time.monotonic() > deadline:
            break
        found[fault.name] = caught_after(fault, seed, deadline=deadline)
        print(f"{fault.name}: caught after {found[fault.name]} cases", file=sys.stderr)
    missed = [name for name, after in found.items() if after is None]
    return {
        "faults": len(FAULTS),
        "tried": len(found),
        "caught after": found,
        "defects": [f"not caught: {name}" for name in missed],
    }
