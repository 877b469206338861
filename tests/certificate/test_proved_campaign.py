"""A slice of the campaign of random problems with exact optima; ``proved_campaign`` runs 10,000 of them."""

import numpy as np
import pytest

from certificate.proved_campaign import LOSSES, examine, summary


@pytest.mark.filterwarnings("ignore")
def test_no_exact_optimum_contradicts_a_proved_prediction(portion):
    outcomes = [examine(number) for number in range(portion(400, 10))]
    known = [one for one in outcomes if one.known]
    assert len(known) >= 0.9 * len(outcomes)
    assert not [one.contradictions for one in known if one.contradictions]
    assert np.mean([one.share for one in known if one.share is not None]) >= 0.9


def test_the_campaign_counts_contradictions():
    outcomes = [examine(number) for number in range(len(LOSSES))]
    outcomes[0].contradictions.append({"tol": 1e-3, "row": 0, "score": 0.0})
    assert summary(outcomes, 0.0)["contradictions"] == 1
