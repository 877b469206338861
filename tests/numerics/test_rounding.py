"""The depth of ``tree_sum`` is counted, not derived."""

import numpy as np
import pytest

from fenchel.numerics.rounding import tree_depth, tree_sum


class Term:
    """A number that counts the additions on its way."""

    def __init__(self, depth=0):
        self.depth = depth

    def __add__(self, other):
        return Term(max(self.depth, other.depth) + 1)

    def __float__(self):
        return float(self.depth)


@pytest.mark.parametrize("counts", [range(2, 600), [1000, 4095, 4096, 4097, 10001]], ids=["small", "large"])
def test_no_term_takes_part_in_more_additions_than_the_depth(counts):
    for count in counts:
        terms = np.array([Term() for _ in range(count)], dtype=object)
        assert tree_sum(terms) <= tree_depth(count)


def test_few_terms_have_a_short_way():
    assert [tree_depth(count) for count in (0, 1, 2, 3, 8, 15)] == [0, 0, 1, 2, 3, 4]
