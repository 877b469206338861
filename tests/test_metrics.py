"""F1 of phrases; the measures of rankings are tested with the ranker."""

import pytest

from fenchel import FenchelError
from fenchel.metrics import phrase_f1_score


def test_phrases_of_labels():
    # NP, VP, VP, and an I-NP that continues nothing
    true = [["B-NP", "I-NP", "O", "B-VP", "B-VP", "I-NP"]]
    assert phrase_f1_score(true, true) == 1.0
    assert phrase_f1_score(true, [["B-NP", "I-NP", "O", "B-VP", "I-VP", "B-NP"]]) == 2 * 2 / (4 + 3)
    assert phrase_f1_score(true, [["O"] * 6]) == 0.0
    assert phrase_f1_score([["B-NP", "O"], ["B-VP"]], [["B-NP", "O"], ["B-NP"]]) == 0.5
    assert phrase_f1_score([["O"], []], [["O"], []]) == 0.0


def test_other_lengths_are_refused():
    with pytest.raises(FenchelError, match="1 sequences and y_pred 2"):
        phrase_f1_score([["O"]], [["O"], ["O"]])
    with pytest.raises(FenchelError, match="sequence 0 has 1 labels"):
        phrase_f1_score([["O"]], [["O", "O"]])
