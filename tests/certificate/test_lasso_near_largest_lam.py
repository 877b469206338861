"""Near the largest lam with nonzero weights, a multiple of theta a few roundings below 1 proves the zero model."""

import numpy as np
import pytest

from fenchel import Model, Problem, Witness
from fenchel.certificate import judge
from fenchel.designs import ChainDesign
from fenchel.regularizers import L1
from fenchel.risks import (
    F1,
    NDCG,
    ChainHinge,
    ChainLogistic,
    CrammerSinger,
    MeanRisk,
    MultilabelHinge,
    OrdinalHinge,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquaredHinge,
    RocAUC,
)

RNG = np.random.default_rng(0)
N = 40
X, GRADES, QUERIES = RNG.standard_normal((N, 6)), RNG.integers(0, 4, N), np.repeat(np.arange(4), N // 4)
SIGNS = np.where(GRADES > 1, 1.0, -1.0)
RISKS = {
    "pairwise_hinge": PairwiseHinge(GRADES, QUERIES),
    "pairwise_squared_hinge": PairwiseSquaredHinge(GRADES, QUERIES),
    "pairwise_logistic": PairwiseLogistic(GRADES, QUERIES),
    "ndcg": NDCG(GRADES, QUERIES),
    "ordinal_hinge": OrdinalHinge(GRADES),
    "chain_hinge": ChainHinge(GRADES, [4] * 10),
    "chain_logistic": ChainLogistic(GRADES, [4] * 10),
    "f1": F1(SIGNS),
    "rocarea": RocAUC(SIGNS),
    "hinge": MeanRisk("hinge", SIGNS),
    "crammer_singer": CrammerSinger(GRADES, 4),
    "multilabel_hinge": MultilabelHinge(np.stack([GRADES > 0, GRADES == 2, GRADES < 2], axis=1)),
}


@pytest.mark.parametrize("risk", RISKS.values(), ids=RISKS)
def test_the_zero_model_is_proved_at_any_distance_from_the_largest_lam(risk):
    design = X if risk.chains() is None else ChainDesign(X, 4)
    zero = Problem(design, risk, 1.0, L1())
    scores = np.zeros(zero.theta_shape)
    subgradient = risk.subgradient(scores)
    parts = risk.decomposable()
    decomposition = None if parts is None else parts.decompose(scores, subgradient)
    largest = float(np.max(np.abs(zero.design.adjoint(subgradient))))
    model = Model(np.zeros(zero.weights_shape), np.zeros(zero.weights_shape[:-1]))
    for distance in (1e-3, 1e-8, 1e-10, *10.0 ** -np.arange(11.0, 17.0), 0.0, -1e-15, -1e-13):
        problem = Problem(design, risk, (1.0 - distance) * largest, L1())
        found = judge(problem, model, Witness(-subgradient, None, decomposition))
        assert found.certificate.relative_gap <= 2.0 * max(distance, 0.0) + 1e-11, distance
        # the witness of a certificate, a multiple itself, proves as much
        again = judge(problem, model, found.witness)
        assert again.certificate.relative_gap <= 2.0 * max(distance, 0.0) + 1e-11, distance
